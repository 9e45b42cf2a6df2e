// SPDX-License-Identifier: Apache-2.0
// Puts the page together.

function showSummary() {
  document.title = `${results.scenario} · weir`;
  element('title').textContent = results.scenario;
  const facts = [
    `${count(runs.length)} run${runs.length === 1 ? '' : 's'}`, `platform ${results.platform}`,
    `${plain.format(results.cpu_hz / 1e6)} MHz`, `seed ${results.seed}`, `weir ${results.weir}`,
  ];
  element('facts').replaceChildren(...facts.map((fact) => make('span', '', escapeHtml(fact))));
  element('verdicts').replaceChildren(...page.verdicts.map((verdict) => {
    const card = make('div', `card verdict ${verdict.keeps && !verdict.unanswered ? 'keeps' : 'misses'}`);
    const badge = !verdict.keeps ? '✕ misses deadlines' : verdict.unanswered ? '✕ leaves peers unanswered' : '✓ keeps deadlines';
    card.innerHTML = `<header><h3>${escapeHtml(verdict.title)}</h3><span class="badge">${badge}</span></header>`;
    const list = make('ul');
    list.append(...verdict.sentences.map((sentence) => make('li', '', escapeHtml(sentence.replace(/ (?=[µ%])/g, '\u00a0')))));
    card.append(list);
    return card;
  }));
  const { holds, sentence } = page.conservation;
  element('conservation').className = `conservation${holds ? '' : ' broken'}`;
  element('conservation').innerHTML = `<b>${runs.length ? (holds ? '✓' : '✕') : ''}</b> ${escapeHtml(sentence)}`;
}

/** The symbol that stands for a variant in the charts. */
function symbolOf(variant) {
  const { color: name, symbol } = variantStyle(variant);
  const shapes = {
    circle: '<circle cx="10" cy="6" r="4.5"/>', rect: '<rect x="6" y="2" width="8" height="8"/>', triangle: '<path d="M10 1l5 9H5z"/>',
    diamond: '<path d="M10 0l5 6-5 6-5-6z"/>', roundRect: '<rect x="5.5" y="1.5" width="9" height="9" rx="3"/>', pin: '<path d="M10 12L6 5a4 4 0 118 0z"/>',
  };
  return `<svg width="20" height="12" style="fill:var(--${name});stroke:var(--${name})"><path d="M0 6h20" stroke-width="2"/>${shapes[symbol]}</svg>`;
}

function showControls() {
  const bar = element('controls');
  bar.replaceChildren();
  if (variants.length > 1 && runs.length > 1) bar.append(variantChips());
  if (sweep.others.length) bar.append(axisChoice());
  for (const key of sweep.others) {
    const values = [...new Set(runs.map((run) => run.loads[key]).filter((value) => value !== undefined))].sort((a, b) => a - b);
    [chosen.fixed[key]] = values;
    const options = values.map((value) => [String(value), `${loadValue(value)} ${unitOf(key)}`]);
    bar.append(selector(key, options, (value) => { chosen.fixed[key] = Number(value); drawCharts(); }));
  }
}

/** A labelled list to choose from. */
function selector(name, options, choose) {
  const select = make('select');
  select.append(...options.map(([value, text]) => new Option(text, value)));
  select.onchange = () => choose(select.value);
  const label = make('label', '', `${escapeHtml(name)} `);
  label.append(select);
  return label;
}

/** Which of the swept keys is the x axis; the others become lists of their values. */
function axisChoice() {
  const keys = [sweep.axis, ...sweep.others];
  return selector('x axis', keys.map((key) => [key, key]), (key) => {
    sweep.others = keys.filter((other) => other !== key);
    sweep.axis = key;
    chosen.fixed = {};
    showControls();
    drawCharts();
  });
}

function variantChips() {
  const chips = make('div', 'chips');
  chips.append(...variants.map((variant) => {
    const chip = make('button', 'chip', `${symbolOf(variant)}${escapeHtml(variant)}`);
    chip.setAttribute('aria-pressed', String(chosen.variants.has(variant)));
    chip.onclick = () => {
      const on = chosen.variants.has(variant);
      if (on && chosen.variants.size === 1) return;
      if (on) chosen.variants.delete(variant); else chosen.variants.add(variant);
      chip.setAttribute('aria-pressed', String(!on));
      drawCharts();
    };
    return chip;
  }));
  return chips;
}

const legend = (entries) => entries.map(([name, text]) => `<span><i style="--swatch:var(--${name})"></i>${escapeHtml(text)}</span>`).join('');

function showLegends() {
  element('cpu-legend').innerHTML = legend(CPU_SHARES.map(([key, name]) => [CPU_COLORS[key], name]));
  const seen = FATES.filter(([key]) => runs.some((run) => run.flows.some((flow) => (flow[key] ?? flow.dropped[key]) > 0)));
  element('fate-legend').innerHTML = legend(seen);
  element('starved-legend').innerHTML = variants.map((variant) => `<b style="color:var(--${variantStyle(variant).color})">✕</b>`).join(' ');
}

/** The height that shows whole rows only, and a word where columns are out of sight. */
function fitTable(scroll) {
  const rows = scroll.querySelectorAll('tbody tr');
  const [head, row] = [scroll.querySelector('thead'), rows[0]];
  if (!row) return;
  const room = Math.max(6, Math.floor((560 - head.offsetHeight) / row.offsetHeight));
  const wide = scroll.scrollWidth > scroll.clientWidth + 1, high = rows.length > room;
  const bar = scroll.offsetHeight - scroll.clientHeight;
  // Rows have fractions of pixels: their sum is measured, not counted.
  const shown = high ? rows[room - 1].getBoundingClientRect().bottom - rows[0].getBoundingClientRect().top : 0;
  scroll.style.maxHeight = high ? `${head.getBoundingClientRect().height + shown + bar}px` : '';
  const more = [wide ? 'more columns to the right' : '', high ? `${count(rows.length)} rows in all` : ''].filter(Boolean).join(', ');
  const note = scroll.nextElementSibling?.matches('.more') ? scroll.nextElementSibling : make('p', 'more');
  note.textContent = more ? `Scroll the table: ${more}.` : '';
  note.hidden = !more;
  if (note.parentElement !== scroll.parentElement) scroll.after(note);
}

const fitTables = () => document.querySelectorAll('.scroll').forEach(fitTable);

function showNavigation() {
  const sections = [...document.querySelectorAll('section[data-nav]')].filter((section) => !section.hidden);
  element('nav').replaceChildren(...sections.map((section) => {
    const link = make('a', '', section.dataset.nav);
    link.href = `#${section.id}`;
    return link;
  }));
}

function start() {
  showSummary();
  if (!runs.length) {
    document.querySelectorAll('main > section:not(#summary)').forEach((section) => { section.hidden = true; });
    return;
  }
  showPeers();
  showControls();
  showLegends();
  segmented(element('quantiles'), QUANTILES, chosen.quantile, (key) => { chosen.quantile = key; drawCharts('response'); });
  drawCharts();
  showNumbers();
  fitTables();
  // The choice of a table puts a new one in place of the old.
  element('tables').addEventListener('click', fitTables);
  const timeline = page.timelines.length ? showTimeline() : null;
  showNavigation();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { drawCharts(); timeline?.restyle(); });
  let pause;
  addEventListener('resize', () => {
    clearTimeout(pause);
    pause = setTimeout(() => { live.forEach((chart) => chart.resize()); fitTables(); }, 60);
  });
}

start();
