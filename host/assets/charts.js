// SPDX-License-Identifier: Apache-2.0
// What the charts are made of: panels, axes, lines over load, stacked bars.

const chosen = { variants: new Set(variants), fixed: {}, quantile: 'max' };
const QUANTILES = [['p50', 'median'], ['p99', 'p99'], ['p999', 'p99.9'], ['max', 'max']];
const live = new Map();
/** An axis from 0 to 100 %. */
const WHOLE = { max: 100, interval: 25 };

/** The runs to show: chosen variants, chosen values of the keys that are not the axis; in order of the axis. */
function shownRuns(variant) {
  const x = (run) => run.loads[sweep.axis] ?? 0;
  return runs
    .filter((run) => run.variant === variant && sweep.others.every((key) => run.loads[key] === chosen.fixed[key]))
    .sort((a, b) => x(a) - x(b));
}

const shownVariants = () => variants.filter((variant) => chosen.variants.has(variant));
const taskIn = (run, name) => run.tasks.find((task) => task.name === name);
const flowIn = (run, name) => run.flows.find((flow) => flow.name === name);

/** Puts a panel with a title into `box`, and returns where its chart goes. */
function panel(box, title, note, className, low) {
  const card = make('div', 'card panel');
  const header = make('header', '', `<h3>${title}</h3>`);
  header.append(make('span', `note ${className || ''}`, escapeHtml(note || '')));
  const place = make('div', low ? 'chart low' : 'chart');
  if (!sweep.axis) place.style.height = `${barsHeight(shownVariants().length)}px`;
  card.append(...(title || note ? [header] : []), place);
  box.append(card);
  return place;
}

/** Charts are drawn when all panels stand: only then is their width known. */
const waiting = [];
const draw = (place, option) => waiting.push([place, option]);

function drawWaiting() {
  for (const [place, option] of waiting.splice(0)) {
    const chart = echarts.init(place, null, { renderer: 'canvas' });
    chart.setOption(option);
    live.set(place, chart);
  }
}

/** Removes the charts in `box`. */
function clear(box) {
  for (const [place, chart] of live) {
    if (box.contains(place)) { chart.dispose(); live.delete(place); }
  }
  box.replaceChildren();
}

const textStyle = () => ({ color: color('soft'), fontSize: 12, fontFamily: getComputedStyle(document.body).fontFamily });

/** What all charts share: no decoration, quiet axes. */
function baseOption() {
  return {
    animation: false,
    textStyle: textStyle(),
    grid: { left: 8, right: 30, top: 22, bottom: 6, containLabel: true },
    tooltip: {
      trigger: 'axis', confine: true, backgroundColor: color('card'), borderColor: color('faint'), padding: [8, 12],
      textStyle: { color: color('ink'), fontSize: 13 }, axisPointer: { lineStyle: { color: color('faint') }, shadowStyle: { color: 'rgba(128,140,150,.12)' } },
    },
  };
}

const axisLook = () => ({
  axisLabel: textStyle(), axisLine: { lineStyle: { color: color('faint') } }, axisTick: { show: false },
  splitLine: { show: false }, nameTextStyle: textStyle(),
});

const valueAxis = (formatter, more) => ({
  ...axisLook(), type: 'value', min: 0, axisLine: { show: false }, splitLine: { lineStyle: { color: color('line') } },
  splitNumber: 4, axisLabel: { ...textStyle(), formatter, hideOverlap: true }, ...more,
});

/** The swept value as x axis, with its name below. */
function loadAxis() {
  const values = runs.map((run) => run.loads[sweep.axis]).filter((value) => value !== undefined);
  return {
    ...axisLook(), type: 'value', min: Math.min(...values), max: Math.max(...values), splitNumber: 5, name: keyLabel(sweep.axis),
    nameLocation: 'middle', nameGap: 26, axisLabel: { ...textStyle(), formatter: short, hideOverlap: true },
  };
}

const categoryAxis = (data, name) => ({
  ...axisLook(), type: 'category', data, name, nameLocation: 'middle', nameGap: 26, axisLabel: { ...textStyle(), hideOverlap: true },
});

const dot = (paint) => `<span style="display:inline-block;width:10px;height:10px;border-radius:3px;margin-right:7px;background:${paint}"></span>`;
const tipRow = (paint, name, value) =>
  `<div style="display:flex;justify-content:space-between;gap:20px"><span>${paint ? dot(paint) : ''}${escapeHtml(name)}</span><b>${value}</b></div>`;
const tipTitle = (text) => `<div style="margin-bottom:3px;opacity:.75">${escapeHtml(text)}</div>`;

/** Without a sweep the variants are bars below each other. Room for them. */
const barsHeight = (bars) => 44 + 34 * bars;

/**
 * One measure over load, a line per variant; or a bar per variant without a sweep.
 * `measure(run)` gives the value, null if there is none; `describe(run)` the text of the tooltip;
 * `mark` is a value to draw a line at; `label(run)` stands at the end of a bar.
 */
function measureOption(measure, describe, axis, mark, label = describe) {
  const shown = shownVariants(), option = sweep.axis ? linesOption(measure, axis) : barsOption(measure, label, axis);
  option.tooltip.formatter = (points) => {
    const [first] = [points].flat();
    if (!first) return '';
    const x = sweep.axis ? first.value[0] : null;
    const rows = shown.flatMap((variant) => shownRuns(variant)
      .filter((run) => (sweep.axis ? run.loads[sweep.axis] === x : variant === first.name))
      .map((run) => tipRow(color(variantStyle(variant).color), variant, describe(run))));
    return tipTitle(sweep.axis ? keyValue(sweep.axis, x) : '') + rows.join('');
  };
  if (mark !== undefined && option.series.length) {
    option.series[0].markLine = {
      silent: true, symbol: 'none', label: { show: false }, lineStyle: { color: color('bad'), type: 'dashed', width: 1.6 },
      data: [sweep.axis ? { yAxis: mark } : { xAxis: mark }],
    };
  }
  return option;
}

function linesOption(measure, yAxis) {
  const option = { ...baseOption(), xAxis: loadAxis(), yAxis };
  option.grid.bottom = 24;
  option.series = shownVariants().map((variant) => lineSeries(variant, measure));
  return option;
}

function barsOption(measure, label, xAxis) {
  const shown = shownVariants();
  const option = { ...baseOption(), xAxis: { ...xAxis, axisLine: { show: false } }, yAxis: { ...categoryAxis(shown), inverse: true } };
  option.tooltip.axisPointer.type = 'shadow';
  option.grid.right = 96;
  option.series = [{ type: 'bar', barWidth: 18, data: shown.map((variant) => {
    const [run] = shownRuns(variant);
    return {
      value: run ? measure(run) ?? 0 : 0, itemStyle: { color: color(variantStyle(variant).color), borderRadius: [0, 3, 3, 0] },
      label: { show: true, position: 'right', color: color('ink'), backgroundColor: color('card'), padding: [1, 3], fontSize: 12.5, formatter: run ? label(run) : '' },
    };
  }) }];
  return option;
}

function lineSeries(variant, measure) {
  const style = variantStyle(variant), paint = color(style.color);
  return {
    type: 'line', name: variant, symbol: style.symbol, symbolSize: 8, itemStyle: { color: paint }, clip: false,
    lineStyle: { color: paint, width: 2.2, type: style.dash }, connectNulls: false,
    data: shownRuns(variant).map((run) => [run.loads[sweep.axis], measure(run)]),
  };
}

/** 1, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten. */
function niceCeiling(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value);
}

/** Stacked shares, a bar per run. `parts(run)` gives the key, name, colour and amount of each share. */
function stackedOption(list, parts, unit) {
  const option = baseOption();
  const stacks = list.map(parts);
  const totals = stacks.map((stack) => stack.reduce((sum, part) => sum + part.amount, 0));
  const keys = [...new Map(stacks.flat().map((part) => [part.key, part])).values()];
  const labels = list.map((run) => (sweep.axis ? short(run.loads[sweep.axis]) : run.variant));
  const category = categoryAxis(labels, sweep.axis ? keyLabel(sweep.axis) : undefined);
  const value = valueAxis((share) => `${share} %`, WHOLE);
  Object.assign(option, sweep.axis ? { xAxis: category, yAxis: value } : { xAxis: value, yAxis: { ...category, inverse: true } });
  if (sweep.axis) option.grid.bottom = 24; else option.grid.right = 30;
  option.tooltip.axisPointer.type = 'shadow';
  option.tooltip.formatter = (points) => {
    const index = points[0].dataIndex, stack = stacks[index].filter((part) => part.amount > 0);
    const rows = stack.map((part) => tipRow(color(part.color), part.name, unit(part.amount, totals[index])));
    return tipTitle(runName(list[index])) + (rows.join('') || 'no packets');
  };
  option.series = keys.map((part) => ({
    type: 'bar', stack: 'all', name: part.name, barWidth: sweep.axis ? '68%' : 20, barMaxWidth: 56, itemStyle: { color: color(part.color) },
    data: stacks.map((stack, index) => {
      const amount = stack.find((candidate) => candidate.key === part.key)?.amount || 0;
      return totals[index] ? (100 * amount) / totals[index] : 0;
    }),
  }));
  return option;
}

/** Panels of stacked bars: one per variant over load, or one for all variants. */
function stackedPanels(box, parts, unit, low) {
  const columns = sweep.axis ? shownVariants().map((variant) => [variant, shownRuns(variant)]) : [['', shownVariants().flatMap(shownRuns)]];
  for (const [name, list] of columns) {
    if (list.length) draw(panel(box, escapeHtml(name), '', '', low), stackedOption(list, parts, unit));
  }
}
