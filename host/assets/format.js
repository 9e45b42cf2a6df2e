// SPDX-License-Identifier: Apache-2.0
// The data, and numbers and names as people read them.

const page = JSON.parse(document.getElementById('data').textContent);
const { results, sweep } = page;
const runs = results.runs;
const variants = [...new Set(runs.map((run) => run.variant))];

const FATES = [
  ['delivered', 'delivered'], ['nic_filter', 'filtered by the NIC'], ['nic_full', 'no room in NIC or ring'],
  ['flow_limit', "over the flow's contract"], ['recycled', 'recycled for more urgent ones'],
  ['overall_limit', 'over the overall limit'], ['stack', 'dropped by driver or IP stack'],
  ['socket', 'socket queue full'], ['in_flight', 'in flight at the end'],
];
const CPU_SHARES = [['isr', 'interrupts'], ['net', 'network tasks'], ['tasks', 'tasks'], ['idle', 'idle']];
const CPU_COLORS = { isr: 'isr', net: 'net', tasks: 'task', idle: 'idle' };

const element = (id) => document.getElementById(id);
const escapeHtml = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Makes an element with a class and HTML inside. */
function make(tag, className, html) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (html !== undefined) made.innerHTML = html;
  return made;
}

const integer = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const decimal = new Intl.NumberFormat('en-US', { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const plain = new Intl.NumberFormat('en-US', { maximumFractionDigits: 3 });

const count = (value) => integer.format(value);
const us = (value) => (Math.abs(value) < 99.95 ? decimal : integer).format(value === 0 ? 0 : value);
const loadValue = (value) => plain.format(value);

/** A share of 1 in per cent; never rounds to all or nothing. */
function percent(share) {
  const value = share * 100;
  if (!Number.isFinite(value)) return '–';
  if (value <= 0) return '0 %';
  if (value < 0.1) return '<0.1 %';
  if (value < 9.95 || (value >= 99.5 && value < 100)) return `${decimal.format(Math.min(value, value < 100 ? 99.9 : 100))} %`;
  return `${integer.format(value)} %`;
}

/** A tick of an axis. Thousands stay as they are: 9,000 beside 12k would be two units on one axis. */
function short(value) {
  const size = Math.abs(value);
  if (size >= 1e6) return `${plain.format(value / 1e6)}M`;
  return plain.format(value);
}

/** Cycles as a time with the unit that fits. */
function duration(cycles, cpuHz) {
  const seconds = cycles / cpuHz, size = Math.abs(seconds);
  if (size >= 1) return `${plain.format(seconds)} s`;
  if (size >= 1e-3) return `${plain.format(seconds * 1e3)} ms`;
  if (size >= 1e-6 || size === 0) return `${plain.format(Math.round(seconds * 1e8) / 100)} µs`;
  return `${integer.format(seconds * 1e9)} ns`;
}

/** A moment of the device's clock in ms, with the digits that a step of so many seconds needs. */
function moment(cycle, cpuHz, stepSeconds) {
  const digits = Math.min(6, Math.max(0, -Math.floor(Math.log10(stepSeconds * 1e3) + 1e-9)));
  const format = new Intl.NumberFormat('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${format.format((cycle / cpuHz) * 1e3)} ms`;
}

const unitOf = (key) => sweep.units[sweep.keys.indexOf(key)] || '';
const keyLabel = (key) => (unitOf(key) ? `${key}, ${unitOf(key)}` : key);
const keyValue = (key, value) => `${key} ${loadValue(value)}${unitOf(key) ? ` ${unitOf(key)}` : ''}`;

/** A run's name: variant and the values of all keys. */
function runName(run) {
  return [run.variant, ...Object.entries(run.loads).map(([key, value]) => keyValue(key, value))].join(', ');
}

/** Names in order of appearance. */
const namesOf = (lists) => [...new Set(lists.flat().map((item) => item.name))];

/** A variant's colour name, symbol and line style: no two of the first eight look alike without colour. */
function variantStyle(variant) {
  const index = variants.indexOf(variant);
  const symbols = ['circle', 'rect', 'triangle', 'diamond', 'roundRect', 'pin'];
  return { color: `v${index % 8}`, symbol: symbols[index % symbols.length], dash: index < 4 ? 'solid' : 'dashed' };
}

/** The deadline of a task in µs if the data shows it, else null. */
function deadlineOf(task) {
  for (const timeline of page.timelines) {
    const lane = timeline.lanes.findIndex((candidate) => candidate.name === task);
    const job = timeline.jobs.find((candidate) => candidate[0] === lane && candidate[2] !== null);
    if (job) return ((job[2] - job[1]) / timeline.cpu_hz) * 1e6;
  }
  // Where every job kept it, the slowest response and the largest lateness are of the same job.
  const seen = runs.flatMap((run) => run.tasks)
    .filter((t) => t.name === task && t.jobs > 0 && t.missed === 0 && t.response_us && t.lateness_us.max !== null)
    .map((t) => t.response_us.max - t.lateness_us.max);
  if (!seen.length) return null;
  const [low, high] = [Math.min(...seen), Math.max(...seen)];
  return high - low <= Math.max(1, high * 0.01) ? Math.round(high * 10) / 10 : null;
}
