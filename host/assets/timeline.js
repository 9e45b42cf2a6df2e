// SPDX-License-Identifier: Apache-2.0
// The timeline's controls: choice of run, zoom, pan, jumps between misses, details under the pointer.

const SMALLEST_VIEW_CYCLES = 200;

/** Shows the first timeline; returns what the page calls when the theme changes. */
function showTimeline() {
  element('timeline').hidden = false;
  element('timeline-legend').innerHTML = legend([['isr', 'interrupt handler'], ['net', 'network task'], ['task', 'task']])
    + '<span><i style="--swatch:var(--bad)"></i>time past a missed deadline</span>'
    + legend(FATES.filter(([key]) => page.timelines.some((timeline) => timeline.packets.some((packet) => (packet[3] ?? 'in_flight') === key)))
      .map(([key, name]) => [key, `packet ${name}`]));
  const box = new TimelineBox(element('timeline-canvas'), element('timeline-tip'));
  const misses = page.timelines.map((timeline) => timeline.jobs.some(([, , deadline, , end]) => deadline !== null && (end ?? timeline.length) > deadline));
  const first = Math.max(0, misses.indexOf(true));
  box.show(page.timelines[first]);
  timelineBar(box, first);
  return box;
}

function timelineBar(box, first) {
  const bar = element('timeline-bar'), select = make('select');
  select.append(...page.timelines.map((timeline, index) => new Option(runName(runs[timeline.run]), String(index))));
  select.value = String(first);
  select.onchange = () => { box.show(page.timelines[Number(select.value)]); status(); };
  const label = make('label', '', 'Run ');
  label.append(select);
  const button = (text, title, action) => {
    const made = make('button', '', text);
    made.title = title;
    made.onclick = action;
    return made;
  };
  const misses = make('span');
  const back = button('‹ miss', 'Previous missed deadline (P)', () => box.jump(-1));
  const next = button('miss ›', 'Next missed deadline (N)', () => box.jump(1));
  const status = () => {
    const seen = box.model.misses.length;
    misses.textContent = seen ? `${count(seen)} missed deadline${seen === 1 ? '' : 's'} in this excerpt` : 'no missed deadline in this excerpt';
    back.disabled = next.disabled = !seen;
  };
  const zoom = make('span', 'chips push');
  bar.replaceChildren(label, misses, back, next, zoom);
  zoom.append(button('+', 'Zoom in (W)', () => box.zoom(0.5)), button('−', 'Zoom out (S)', () => box.zoom(2)), button('All', 'Show all (0)', () => box.fit()));
  status();
}

class TimelineBox {
  constructor(canvas, tip) {
    Object.assign(this, { canvas, tip, drag: null, hover: null, waiting: false });
    canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
    canvas.addEventListener('pointerdown', (event) => this.press(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', () => this.release());
    canvas.addEventListener('pointercancel', () => this.release());
    canvas.addEventListener('pointerleave', () => this.setHover(null));
    canvas.addEventListener('keydown', (event) => this.key(event));
    new ResizeObserver(() => { if (this.painter) { this.painter.resize(); this.redraw(); } }).observe(canvas.parentElement);
  }

  show(data) {
    this.model = timelineModel(data);
    this.painter = new Painter(this.canvas, this.model);
    this.painter.resize();
    this.current = -1;
    this.setHover(null);
    this.view = [0, this.initialLength()];
    if (this.model.misses.length) this.center((this.model.misses[0].deadline + this.model.misses[0].release) / 2);
    this.paintNow();
  }

  /** So much that single jobs can be told apart. */
  initialLength() {
    const { length, cpu_hz: hz } = this.model.data;
    return Math.max(SMALLEST_VIEW_CYCLES, Math.min(length, hz * 0.008));
  }

  restyle() { this.painter.restyle(); this.redraw(); }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.paintNow());
  }

  paintNow() {
    this.waiting = false;
    this.painter.draw(this.view, this.hover);
  }

  setView(begin, length) {
    const whole = Math.max(SMALLEST_VIEW_CYCLES, this.model.data.length);
    const size = Math.min(whole, Math.max(SMALLEST_VIEW_CYCLES, length));
    const left = Math.min(Math.max(0, begin), whole - size);
    this.view = [left, left + size];
    this.redraw();
  }

  get length() { return this.view[1] - this.view[0]; }
  center(cycle) { this.setView(cycle - this.length / 2, this.length); }
  fit() { this.setView(0, Infinity); }

  zoom(factor, around = (this.view[0] + this.view[1]) / 2) {
    const share = (around - this.view[0]) / this.length, size = Math.min(this.length * factor, this.model.data.length);
    this.setView(around - share * Math.max(size, SMALLEST_VIEW_CYCLES), size);
  }

  jump(direction) {
    const { misses } = this.model;
    if (!misses.length) return;
    this.current = this.current < 0 && direction < 0 ? misses.length - 1 : (this.current + direction + misses.length) % misses.length;
    const job = misses[this.current], end = job.end ?? this.model.data.length;
    const size = Math.min(Math.max((end - job.release) * 1.4, SMALLEST_VIEW_CYCLES), this.model.data.cpu_hz * 0.02);
    this.setView(job.deadline - size * 0.6, size);
  }

  wheel(event) {
    const active = document.activeElement === this.canvas;
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!active && !event.ctrlKey && !event.metaKey && !sideways) return;
    event.preventDefault();
    const amount = event.deltaMode === 1 ? 30 : 1;
    if (sideways) {
      const delta = (event.deltaX || event.deltaY) * amount;
      this.setView(this.view[0] + (delta * this.length) / (this.painter.width - GUTTER), this.length);
    } else {
      this.zoom(1.0018 ** (event.deltaY * amount), this.painter.cycle(Math.max(GUTTER, event.offsetX)));
    }
  }

  press(event) {
    this.canvas.focus({ preventScroll: true });
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, view: this.view, map: event.offsetY < MINIMAP };
    this.canvas.classList.add('drag');
    if (this.drag.map) this.center(this.mapCycle(event.offsetX));
  }

  mapCycle(x) { return ((x - GUTTER) / (this.painter.width - GUTTER)) * this.model.data.length; }

  move(event) {
    if (!this.drag) {
      this.setHover(this.find(event.offsetX, event.offsetY), event);
    } else if (this.drag.map) {
      this.center(this.mapCycle(event.offsetX));
    } else {
      this.setHover(null);
      this.setView(this.drag.view[0] - ((event.offsetX - this.drag.x) * this.length) / (this.painter.width - GUTTER), this.length);
    }
  }

  release() {
    this.drag = null;
    this.canvas.classList.remove('drag');
  }

  key(event) {
    const step = this.length * 0.2;
    const actions = {
      a: () => this.setView(this.view[0] - step, this.length), d: () => this.setView(this.view[0] + step, this.length),
      w: () => this.zoom(0.6), s: () => this.zoom(1 / 0.6), n: () => this.jump(1), p: () => this.jump(-1), 0: () => this.fit(),
    };
    const also = { ArrowLeft: 'a', ArrowRight: 'd', ArrowUp: 'w', ArrowDown: 's', '+': 'w', '-': 's' };
    const action = actions[also[event.key] ?? event.key.toLowerCase()];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  }

  /** What is under the pointer: a packet, a job, or who has the CPU. */
  find(x, y) {
    const row = this.model.rows.find((candidate) => y >= candidate.top && y < candidate.top + candidate.height);
    if (!row || x < GUTTER) return null;
    const cycle = this.painter.cycle(x), slack = (4 * this.length) / this.painter.width;
    if (row.kind === 'flow') {
      const line = Math.floor((y - row.top - 5) / PACKET_ROW);
      const hits = row.packets.filter((packet) => packet.row === line && packet.arrival - slack <= cycle && packet.end + slack >= cycle);
      return hits.length ? { packet: hits[hits.length - 1] } : null;
    }
    const span = row.spans[firstIndex(row.spans, (candidate) => candidate[1] < cycle - slack)];
    const job = [...row.jobs].reverse().find((candidate) => candidate.release - slack <= cycle
      && Math.max(candidate.end ?? this.model.data.length, y < row.top + 22 ? candidate.deadline ?? 0 : 0) + slack >= cycle);
    if (job) return { job };
    return span && span[0] <= cycle + slack ? { span, row } : null;
  }

  setHover(hover, event) {
    const changed = hover || this.hover;
    this.hover = hover;
    this.tip.hidden = !hover;
    if (hover) {
      this.tip.innerHTML = this.describe(hover);
      const right = event.offsetX + 18 + this.tip.offsetWidth > this.painter.width;
      this.tip.style.left = `${Math.max(4, right ? event.offsetX - 14 - this.tip.offsetWidth : event.offsetX + 18)}px`;
      this.tip.style.top = `${Math.max(4, Math.min(event.offsetY + 14, this.model.height - this.tip.offsetHeight - 6))}px`;
    }
    if (changed) this.redraw();
  }

  describe(hover) {
    const hz = this.model.data.cpu_hz, time = (cycles) => duration(cycles, hz);
    const at = (cycle) => `at ${moment(cycle + this.model.data.origin, hz, 1e-7)}`;
    const table = (rows) => `<table>${rows.map(([name, value, bad]) => `<tr><td>${name}</td><td class="${bad ? 'bad' : ''}">${value}</td></tr>`).join('')}</table>`;
    if (hover.packet) {
      const { packet } = hover, rows = [['arrived', at(packet.arrival)]];
      for (let i = 0; i < packet.steps.length; i += 2) rows.push([STAGES[packet.steps[i + 1]], `+${time(packet.steps[i] - packet.arrival)}`]);
      const fate = FATES.find(([key]) => key === (packet.fate ?? 'in_flight'))[1];
      return `<b>${escapeHtml(packet.flow.name)}</b> packet, ${count(packet.bytes)} bytes<br>${fate}${table(rows)}`;
    }
    if (hover.job) {
      const { job } = hover, rows = [['released', at(job.release)]];
      rows.push(['started', job.begin === null ? 'not in this excerpt' : `+${time(job.begin - job.release)}`]);
      rows.push(['response time', job.end === null ? 'did not complete' : time(job.end - job.release), job.missed]);
      if (job.deadline !== null) {
        rows.push(['deadline', `+${time(job.deadline - job.release)}`]);
        if (job.end !== null) rows.push(['lateness', time(job.end - job.deadline), job.missed]);
      }
      return `<b>${escapeHtml(job.lane.name)}</b> job${job.missed ? ' <span class="bad">missed its deadline</span>' : ''}${table(rows)}`;
    }
    const [begin, end] = hover.span;
    return `<b>${escapeHtml(hover.row.name)}</b>${table([['from', at(begin).slice(3)], ['for', `${time(end - begin)}, ${count(end - begin)} cycles`]])}`;
  }
}
