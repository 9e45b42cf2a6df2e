// SPDX-License-Identifier: Apache-2.0
// The sections of charts: misses, response times, CPU, packets.

function drawMisses(box) {
  const tasks = namesOf(runs.map((run) => run.tasks.filter((task) => task.jobs > 0)));
  if (!tasks.length) box.append(make('div', 'empty', 'No task has deadlines.'));
  for (const name of tasks) {
    const seen = shownVariants().flatMap(shownRuns).map((run) => taskIn(run, name)).filter(Boolean);
    const worst = Math.max(0, ...seen.map((task) => (task.jobs ? task.missed / task.jobs : 0)));
    const idle = seen.filter(isIdle), clean = worst === 0;
    const [note, tone] = !clean ? [`up to ${percent(worst)}`, 'bad'] : idle.length ? ['no job came in some runs', 'bad'] : ['✓ no misses', 'good'];
    const place = panel(box, escapeHtml(name), note, tone);
    const share = (run) => { const t = taskIn(run, name); return t && t.jobs ? (100 * t.missed) / t.jobs : null; };
    const describe = (run) => {
      const t = taskIn(run, name);
      if (!t) return '–';
      return isIdle(t) ? 'no job came' : `${count(t.missed)} of ${count(t.jobs)}${t.response_us ? '' : ', starved'}`;
    };
    const top = worst > 0.5 ? WHOLE : {};
    const axis = valueAxis((value) => `${plain.format(value)} %`, clean ? { max: 10, interval: 5 } : top);
    const option = measureOption(share, describe, axis);
    const ceiling = clean ? 10 : worst > 0.5 ? 100 : niceCeiling(100 * worst);
    if (sweep.axis && idle.length) {
      if (!clean && worst <= 0.5) option.yAxis.max = ceiling;
      option.series.push(crosses(shownVariants().flatMap(shownRuns).filter((run) => isIdle(taskIn(run, name))), ceiling));
    }
    draw(place, option);
  }
}

/** Whether nothing came to a task in a run. */
const isIdle = (task) => Boolean(task) && task.jobs === 0;

function drawResponse(box) {
  const tasks = namesOf(runs.map((run) => run.tasks.filter((task) => task.jobs > 0)));
  if (!tasks.length) box.append(make('div', 'empty', 'No task has jobs.'));
  for (const name of tasks) drawResponseOf(box, name);
}

function drawResponseOf(box, name) {
  const deadline = deadlineOf(name);
  const all = shownVariants().flatMap(shownRuns);
  const responses = all.map((run) => taskIn(run, name)?.response_us).filter(Boolean);
  const values = responses.map((response) => response[chosen.quantile]).concat(deadline ?? []);
  const high = Math.max(...values, 1), low = Math.min(...values.filter((value) => value > 0), high);
  const log = high / low > 40;
  const ceiling = log ? 10 ** Math.ceil(Math.log10(high * 1.05)) : niceCeiling(high * 1.08);
  const starved = all.filter((run) => { const t = taskIn(run, name); return t && !t.response_us; });
  const place = panel(box, escapeHtml(name), deadline === null ? 'µs' : `deadline ${us(deadline)} µs`);
  const describe = (run) => {
    const t = taskIn(run, name);
    if (!t) return '–';
    if (!t.jobs) return 'no job came';
    if (!t.response_us) return 'starved';
    return `${us(t.response_us.p50)} / ${us(t.response_us.p99)} / ${us(t.response_us.max)} µs`;
  };
  const label = (run) => {
    const response = taskIn(run, name)?.response_us;
    return response ? `${us(response[chosen.quantile])} µs` : describe(run);
  };
  const axis = valueAxis(short, { max: ceiling, ...(log ? { type: 'log', min: 10 ** Math.floor(Math.log10(low)) } : {}) });
  const option = measureOption((run) => taskIn(run, name)?.response_us?.[chosen.quantile] ?? null, describe, axis, deadline ?? undefined, label);
  if (sweep.axis) option.series.push(crosses(starved, ceiling));
  const format = option.tooltip.formatter;
  option.tooltip.formatter = (points) => format(points) + '<div style="opacity:.6;margin-top:3px">median / p99 / max</div>';
  draw(place, option);
}

/** A cross above the chart at every load under which no job completed. */
function crosses(starved, ceiling) {
  const shape = 'path://M0 2L2 0L5 3L8 0L10 2L7 5L10 8L8 10L5 7L2 10L0 8L3 5Z';
  return {
    type: 'scatter', symbol: shape, symbolSize: 11, clip: false, z: 5,
    data: starved.map((run) => ({
      value: [run.loads[sweep.axis], ceiling], itemStyle: { color: color(variantStyle(run.variant).color) },
      symbolOffset: [5 * shownVariants().filter((other) => starved.some((r) => r.variant === other)).indexOf(run.variant), -7],
    })),
  };
}

function drawCpu(box) {
  const parts = (run) => CPU_SHARES.map(([key, name]) => ({ key, name, color: CPU_COLORS[key], amount: Math.max(0, run.cpu[key] || 0) }));
  stackedPanels(box, parts, (amount) => percent(amount));
  for (const name of namesOf(runs.map((run) => run.tasks.filter((task) => task.jobs === 0 && task.loops > 0)))) {
    const best = Math.max(...runs.map((run) => taskIn(run, name)?.loops || 0));
    const place = panel(box, `${escapeHtml(name)} <small>background task</small>`, 'loops, of its best run');
    const share = (run) => { const task = taskIn(run, name); return task ? (100 * task.loops) / best : null; };
    draw(place, measureOption(share, (run) => count(taskIn(run, name)?.loops || 0), valueAxis((value) => `${value} %`, WHOLE)));
  }
}

function drawPackets(box) {
  const offered = (name) => runs.some((run) => flowIn(run, name)?.offered > 0);
  for (const name of namesOf(runs.map((run) => run.flows)).filter(offered)) {
    const match = runs.map((run) => flowIn(run, name)?.match).find(Boolean) || '';
    box.append(make('h3', 'flow', `${escapeHtml(name)}<small>${match === name ? '' : escapeHtml(match)}</small>`));
    const grid = make('div', 'grid');
    box.append(grid);
    const parts = (run) => {
      const flow = flowIn(run, name);
      return flow ? FATES.map(([key, text]) => ({ key, name: text, color: key, amount: flow[key] ?? flow.dropped[key] ?? 0 })) : [];
    };
    stackedPanels(grid, parts, (amount, total) => `${count(amount)} <span style="opacity:.6">${percent(amount / total)}</span>`, true);
  }
}

const CHARTS = { misses: drawMisses, response: drawResponse, cpu: drawCpu, packets: drawPackets };

/** Draws the charts named, or all. */
function drawCharts(...names) {
  for (const box of document.querySelectorAll('[data-charts]')) {
    if (names.length && !names.includes(box.dataset.charts)) continue;
    clear(box);
    CHARTS[box.dataset.charts](box);
  }
  drawWaiting();
}
