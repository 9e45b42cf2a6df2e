// SPDX-License-Identifier: Apache-2.0
// Tables that sort by any column.

/** A cell: text, what to sort by, and a class. */
const cell = (text, sort, className) => ({ text, sort: sort ?? text, className });
const NONE = cell('–', -Infinity, 'none');
const number = (value, bad) => cell(count(value), value, bad ? 'bad' : '');
const time = (value, bad) => (value === null || value === undefined ? NONE : cell(us(value), value, bad ? 'bad' : ''));

/** Builds a table; heads that begin with `<` are of columns flush left. */
function buildTable(titles, rows) {
  const heads = titles.map((title) => title.replace(/^</, ''));
  const align = titles.map((title) => (title.startsWith('<') ? 'text ' : ''));
  const table = make('table');
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  const fill = () => body.replaceChildren(...rows.map((row) => {
    const line = document.createElement('tr');
    row.forEach((value, index) => {
      const made = make('td', align[index] + (value.className || ''));
      made.textContent = value.text;
      line.append(made);
    });
    return line;
  }));
  heads.forEach((title, index) => {
    const th = make('th', align[index]);
    th.textContent = title;
    th.onclick = () => {
      const down = th.getAttribute('aria-sort') === 'ascending';
      for (const other of head.cells) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      rows.sort((a, b) => (down ? -1 : 1) * compare(a[index].sort, b[index].sort));
      fill();
    };
    head.append(th);
  });
  fill();
  const scroll = make('div', 'scroll');
  scroll.append(table);
  return scroll;
}

const compare = (a, b) => (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)));

const runHeads = () => ['<variant', ...sweep.keys.map(keyLabel)];
const runCells = (run) => [cell(run.variant), ...sweep.keys.map((key) => (key in run.loads ? cell(loadValue(run.loads[key]), run.loads[key]) : NONE))];

function taskTable() {
  const quantiles = ['min', 'p50', 'p90', 'p99', 'p999', 'max'];
  const heads = [...runHeads(), '<task', 'jobs', 'missed', 'missed, %', 'min, µs', 'median', 'p90', 'p99', 'p99.9', 'max', 'worst lateness, µs', 'own cycles', 'loops', 'cycles lost to ISR', 'to network tasks'];
  const rows = runs.flatMap((run) => run.tasks.map((task) => {
    const starved = task.jobs > 0 && !task.response_us;
    const response = quantiles.map((key, index) => {
      if (task.response_us) return time(task.response_us[key]);
      return starved ? cell(index === 0 || key === 'max' ? 'starved' : '–', Infinity, 'bad') : NONE;
    });
    const late = task.lateness_us.max;
    return [
      ...runCells(run), cell(task.name), task.jobs ? number(task.jobs) : NONE, task.jobs ? number(task.missed, task.missed > 0) : NONE,
      task.jobs ? cell(percent(task.missed / task.jobs), task.missed / task.jobs, task.missed ? 'bad' : '') : NONE,
      ...response, starved ? cell('starved', Infinity, 'bad') : time(late, late > 0), number(task.cycles), task.loops ? number(task.loops) : NONE,
      number(task.preempted_cycles.isr), number(task.preempted_cycles.net),
    ];
  }));
  return buildTable(heads, rows);
}

function flowTable() {
  const reasons = FATES.filter(([key]) => key !== 'delivered' && key !== 'in_flight');
  const heads = [...runHeads(), '<flow', 'offered', 'delivered', ...reasons.map(([, name]) => name), 'in flight', 'latency p50, µs', 'p99', 'max'];
  const rows = runs.flatMap((run) => run.flows.map((flow) => [
    ...runCells(run), cell(flow.name), number(flow.offered), number(flow.delivered),
    ...reasons.map(([key]) => (flow.dropped[key] ? number(flow.dropped[key], flow.name !== 'background') : NONE)),
    flow.in_flight ? number(flow.in_flight) : NONE,
    ...['p50', 'p99', 'max'].map((key) => time(flow.latency_us?.[key])),
  ]));
  return buildTable(heads, rows);
}

function cpuTable() {
  const micros = (cycles) => cell(us((cycles / results.cpu_hz) * 1e6), cycles);
  const heads = [...runHeads(), 'interrupts', 'of NIC', 'ISR', 'network tasks', 'tasks', 'idle', 'longest handler, µs', 'longest interrupts off, µs', 'buffers free at end', 'of', 'leaked'];
  const rows = runs.map((run) => [
    ...runCells(run), number(run.interrupts.count), number(run.interrupts.nic),
    ...CPU_SHARES.map(([key]) => cell(percent(run.cpu[key]), run.cpu[key])),
    micros(run.interrupts.cycles_max), micros(run.interrupts.off_cycles_max),
    number(run.buffers.free_at_end), number(run.buffers.pool), number(run.buffers.leaked, run.buffers.leaked > 0),
  ]);
  return buildTable(heads, rows);
}

function pathTable() {
  const heads = [...runHeads(), '<stage', 'count', 'median, cycles', 'p99', 'max', 'max, µs'];
  const rows = runs.flatMap((run) => run.paths.map((path) => [
    ...runCells(run), cell(path.name), number(path.count), number(path.cycles.p50), number(path.cycles.p99), number(path.cycles.max),
    time((path.cycles.max / results.cpu_hz) * 1e6),
  ]));
  return rows.length ? buildTable(heads, rows) : null;
}

/** A row of buttons of which one is chosen. */
function segmented(box, choices, initial, choose) {
  const buttons = choices.map(([key, name]) => {
    const button = make('button');
    button.textContent = name;
    button.onclick = () => {
      buttons.forEach((other) => other.setAttribute('aria-pressed', String(other === button)));
      choose(key);
    };
    button.setAttribute('aria-pressed', String(key === initial));
    return button;
  });
  box.replaceChildren(...buttons);
}

function showNumbers() {
  const tables = { tasks: taskTable, flows: flowTable, cpu: cpuTable };
  const head = make('div', 'tables-head'), bar = make('div', 'segmented'), place = make('div');
  head.append(bar);
  element('tables').replaceChildren(head, place);
  const show = (key) => place.replaceChildren(tables[key]());
  segmented(bar, [['tasks', 'Tasks'], ['flows', 'Packets'], ['cpu', 'CPU, interrupts, buffers']], 'tasks', show);
  show('tasks');
  const paths = pathTable();
  if (paths) element('path-table').replaceChildren(paths); else element('paths').hidden = true;
}
