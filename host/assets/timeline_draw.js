// SPDX-License-Identifier: Apache-2.0
// Draws a timeline on a canvas: who had the CPU, jobs with their deadlines, packets with their stages.

const STAGES = ['in RAM', 'taken by driver', 'IP stack', 'in socket', 'taken by task', 'freed', 'in flow queue'];
/** How strong a packet's bar is from each stage on; the first is the way to RAM. */
const STAGE_ALPHA = [0.35, 0.45, 0.8, 1, 0.6, 1, 0.3, 0.6];

/** A canvas with the view's scale and the theme's colours. */
class Painter {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.model = model;
    this.restyle();
  }

  restyle() {
    const names = ['card', 'wash', 'line', 'ink', 'soft', 'faint', 'bad', 'accent', 'isr', 'net', 'task', 'idle', ...FATES.map(([key]) => key)];
    this.paint = Object.fromEntries(names.map((name) => [name, color(name)]));
    this.font = getComputedStyle(document.body).fontFamily;
    this.overview = null;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.parentElement.clientWidth;
    this.canvas.style.height = `${this.model.height}px`;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.model.height * ratio);
    this.context = this.canvas.getContext('2d');
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.overview = null;
  }

  x(cycle) { return GUTTER + ((cycle - this.view[0]) * (this.width - GUTTER)) / (this.view[1] - this.view[0]); }
  cycle(x) { return this.view[0] + ((x - GUTTER) * (this.view[1] - this.view[0])) / (this.width - GUTTER); }

  draw(view, hover) {
    this.view = view;
    const { context, model } = this;
    context.globalAlpha = 1;
    context.fillStyle = this.paint.card;
    context.fillRect(0, 0, this.width, model.height);
    this.drawGrid();
    context.save();
    context.beginPath();
    context.rect(GUTTER, MINIMAP, this.width - GUTTER, model.height);
    context.clip();
    for (const lane of model.lanes) { this.drawSpans(lane); this.drawJobs(lane); }
    for (const flow of model.flows) this.drawPackets(flow);
    if (hover) this.drawHover(hover);
    context.restore();
    this.drawLabels();
    this.drawMinimap();
  }

  drawGrid() {
    const { context, model, paint } = this;
    model.rows.forEach((row, index) => {
      context.fillStyle = index % 2 ? paint.card : paint.wash;
      context.globalAlpha = 0.55;
      context.fillRect(GUTTER, row.top, this.width, row.height);
    });
    context.globalAlpha = 1;
    const { cpu_hz: hz, origin } = model.data, wanted = (((this.view[1] - this.view[0]) / hz) * 105) / (this.width - GUTTER);
    const power = 10 ** Math.floor(Math.log10(wanted));
    const seconds = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= wanted), step = seconds * hz;
    context.font = `11.5px ${this.font}`;
    context.textAlign = 'center';
    for (let tick = Math.ceil((this.view[0] + origin) / step); tick * step <= this.view[1] + origin; tick += 1) {
      const x = Math.round(this.x(tick * step - origin)) + 0.5;
      context.fillStyle = paint.line;
      context.fillRect(x, MINIMAP + RULER - 5, 1, model.height);
      context.fillStyle = paint.soft;
      if (x > GUTTER + 30) context.fillText(moment(tick * step, hz, seconds), Math.min(x, this.width - 34), MINIMAP + 15);
    }
  }

  drawLabels() {
    const { context, paint } = this;
    context.textAlign = 'left';
    for (const row of this.model.rows) {
      context.fillStyle = paint.ink;
      context.font = `600 12.5px ${this.font}`;
      const detail = rowDetail(row), below = row.height > 36;
      context.font = `11px ${this.font}`;
      // Beside the name the detail keeps its width, and the name gives way.
      const taken = below || !detail ? 0 : context.measureText(detail).width + 10;
      context.font = `600 12.5px ${this.font}`;
      context.fillText(clip(context, row.name, GUTTER - 22 - taken), 12, row.top + 18);
      context.font = `11px ${this.font}`;
      context.fillStyle = paint.soft;
      if (below) { context.fillText(detail, 12, row.top + 34); continue; }
      context.textAlign = 'right';
      context.fillText(detail, GUTTER - 10, row.top + 18);
      context.textAlign = 'left';
    }
    context.fillStyle = paint.line;
    context.fillRect(GUTTER - 1, MINIMAP, 1, this.model.height);
  }

  /** Spans narrower than a pixel are added up per pixel: many short ones look as dense as they are. */
  drawSpans(lane) {
    const { context, view } = this;
    const tall = lane.jobs.length > 0, y = lane.top + (tall ? 24 : 6), height = lane.height - (tall ? 29 : 12);
    const scale = (this.width - GUTTER) / (view[1] - view[0]);
    const cover = new Float32Array(Math.ceil(this.width - GUTTER) + 1);
    context.fillStyle = this.paint[KIND_COLORS[lane.kind]];
    for (let i = firstIndex(lane.spans, (span) => span[1] < view[0]); i < lane.spans.length; i += 1) {
      const [begin, end] = lane.spans[i];
      if (begin > view[1]) break;
      const left = (Math.max(begin, view[0]) - view[0]) * scale, wide = (Math.min(end, view[1]) - Math.max(begin, view[0])) * scale;
      if (wide >= 1.5) context.fillRect(GUTTER + left, y, wide > 3 ? wide - 0.5 : wide, height);
      else cover[Math.floor(left)] += wide;
    }
    for (let pixel = 0; pixel < cover.length; pixel += 1) {
      if (!cover[pixel]) continue;
      context.globalAlpha = Math.min(1, 0.3 + cover[pixel]);
      context.fillRect(GUTTER + pixel, y, 1, height);
    }
    context.globalAlpha = 1;
  }

  drawJobs(lane) {
    const { context, view, paint, model } = this;
    const shown = lane.jobs.filter((job) => job.release <= view[1] && Math.max(job.end ?? model.data.length, job.deadline ?? 0) >= view[0]);
    const sparse = shown.length === 0 || (this.width - GUTTER) / shown.length > 9;
    const y = lane.top + 13;
    context.fillStyle = paint.faint;
    for (const job of sparse ? shown : []) {
      const left = this.x(job.release), end = Math.min(job.end ?? model.data.length, job.deadline ?? Infinity);
      context.fillRect(left, y - 1, Math.max(1, this.x(end) - left), 3);
      context.fillRect(left - 0.5, lane.top + 5, 1.5, lane.height - 10);
    }
    context.fillStyle = paint.bad;
    for (const job of shown) {
      if (!job.missed) continue;
      const deadline = this.x(job.deadline);
      context.fillRect(deadline, y - 2, Math.max(1.5, this.x(job.end ?? model.data.length) - deadline), 5);
    }
    for (const job of shown) {
      if (job.deadline !== null && (sparse || job.missed)) this.drawDeadline(this.x(job.deadline), lane, job.missed);
    }
  }

  /** A mark that points down; with a stem through the lane if the deadline was missed. */
  drawDeadline(x, lane, missed) {
    const { context, paint } = this;
    context.fillStyle = missed ? paint.bad : paint.soft;
    const size = missed ? 5.5 : 3.5;
    context.beginPath();
    context.moveTo(x - size, lane.top + 3);
    context.lineTo(x + size, lane.top + 3);
    context.lineTo(x, lane.top + 3 + size * 1.6);
    context.fill();
    if (missed) context.fillRect(x - 0.75, lane.top + 3, 1.5, lane.height - 7);
  }

  drawPackets(flow) {
    const { view } = this;
    for (const packet of flow.packets) {
      if (packet.arrival > view[1]) break;
      if (packet.end >= view[0]) this.drawPacket(packet);
    }
    this.context.globalAlpha = 1;
  }

  drawPacket(packet) {
    const { context, paint } = this;
    const y = packet.flow.top + 6 + packet.row * PACKET_ROW, height = PACKET_ROW - 1.5;
    const left = this.x(packet.arrival), right = this.x(packet.end);
    context.fillStyle = paint[packet.fate ?? 'in_flight'];
    if (right - left < 4) {
      context.globalAlpha = 1;
      context.fillRect(left, y, Math.max(2, right - left), height);
      return;
    }
    let begin = left;
    for (let i = 0; i <= packet.steps.length; i += 2) {
      const next = i < packet.steps.length ? this.x(packet.steps[i]) : right;
      context.globalAlpha = STAGE_ALPHA[i === 0 ? 0 : packet.steps[i - 1] + 1];
      context.fillRect(begin, y, Math.max(0, next - begin), height);
      begin = next;
    }
  }

  /** The thing under the pointer: its moments as lines through all lanes. */
  drawHover(hover) {
    const { context, paint, model } = this;
    const lines = hover.packet ? [hover.packet.arrival, ...hover.packet.steps.filter((_, i) => i % 2 === 0)]
      : hover.job ? [hover.job.release, hover.job.deadline, hover.job.end].filter((time) => time !== null) : [];
    context.strokeStyle = paint.accent;
    context.setLineDash([3, 3]);
    context.beginPath();
    for (const time of lines) {
      context.moveTo(this.x(time), MINIMAP + RULER);
      context.lineTo(this.x(time), model.height);
    }
    context.stroke();
    context.setLineDash([]);
    if (hover.packet) {
      const { packet } = hover, y = packet.flow.top + 5 + packet.row * PACKET_ROW;
      context.strokeStyle = paint.ink;
      context.strokeRect(this.x(packet.arrival) - 1, y, Math.max(4, this.x(packet.end) - this.x(packet.arrival) + 2), PACKET_ROW + 0.5);
    }
  }

  /** The whole timeline in small: share of network work per pixel, misses in red, the view as a window. */
  drawMinimap() {
    const { context, model, paint } = this;
    this.overview ??= overviewOf(model, Math.max(1, Math.floor(this.width - GUTTER)));
    context.fillStyle = paint.wash;
    context.fillRect(0, 0, this.width, MINIMAP);
    for (const [kind, base] of [['task', 'net'], ['net', 'isr'], ['isr', null]]) {
      context.fillStyle = paint[KIND_COLORS[kind]];
      this.overview.forEach((shares, pixel) => {
        const below = base === 'net' ? shares.net + shares.isr : base === 'isr' ? shares.isr : 0;
        const height = Math.min(1, shares[kind]) * (MINIMAP - 8);
        context.fillRect(GUTTER + pixel, MINIMAP - 2 - Math.min(1, below) * (MINIMAP - 8) - height, 1, height);
      });
    }
    const scale = (this.width - GUTTER) / Math.max(1, model.data.length);
    context.fillStyle = paint.bad;
    for (const job of model.misses) context.fillRect(GUTTER + job.deadline * scale - 0.75, 0, 1.5, 5);
    const [left, right] = this.view.map((cycle) => GUTTER + cycle * scale);
    context.fillStyle = paint.card;
    context.globalAlpha = 0.62;
    context.fillRect(GUTTER, 0, left - GUTTER, MINIMAP);
    context.fillRect(right, 0, this.width - right, MINIMAP);
    context.globalAlpha = 1;
    context.strokeStyle = paint.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left, 1, Math.max(3, right - left - 1), MINIMAP - 2);
    context.lineWidth = 1;
    context.fillStyle = paint.soft;
    context.font = `11.5px ${this.font}`;
    context.fillText('CPU load', 12, 21);
  }
}

/** What stands below a row's name. */
function rowDetail(row) {
  if (row.kind === 'flow') return `${count(row.packets.length)} packet${row.packets.length === 1 ? '' : 's'}`;
  return row.kind === 'task' || row.kind === 'net' ? `priority ${row.priority || 'inherited'}` : '';
}

/** `text`, shortened to `width` pixels. */
function clip(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let short = text;
  while (short.length > 1 && context.measureText(`${short}…`).width > width) short = short.slice(0, -1);
  return `${short}…`;
}
