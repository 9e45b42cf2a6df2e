// SPDX-License-Identifier: Apache-2.0
// A timeline as lanes from top to bottom, with what lies on each.

const GUTTER = 184, MINIMAP = 34, RULER = 26, PACKET_ROWS = 14, PACKET_ROW = 6;
const KIND_COLORS = { isr: 'isr', net: 'net', task: 'task', idle: 'idle' };

/** Turns the page's lists into lanes with their spans, jobs and packets, each with a place from top to bottom. */
function timelineModel(data) {
  const lanes = data.lanes.map((lane) => ({ ...lane, spans: [], jobs: [] }));
  for (let i = 0; i < data.spans.length; i += 3) {
    lanes[data.spans[i]].spans.push([data.spans[i + 1], data.spans[i + 1] + data.spans[i + 2]]);
  }
  data.jobs.forEach(([lane, release, deadline, begin, end], index) => {
    const missed = deadline !== null && (end ?? data.length) > deadline;
    lanes[lane].jobs.push({ index, lane: lanes[lane], release, deadline, begin, end, missed });
  });
  const flows = data.flows.map((name) => ({ name, kind: 'flow', packets: [] }));
  for (const [flow, bytes, arrival, fate, steps] of data.packets) {
    const last = steps.length ? steps[steps.length - 2] : arrival;
    flows[flow].packets.push({ flow: flows[flow], number: flows[flow].packets.length + 1, bytes, arrival, fate, steps, end: fate === null ? Math.max(last, data.length) : last });
  }
  flows.forEach(placePackets);
  const model = { data, lanes, flows, rows: [...lanes, ...flows], misses: lanes.flatMap((lane) => lane.jobs.filter((job) => job.missed)) };
  model.misses.sort((a, b) => a.deadline - b.deadline);
  let top = MINIMAP + RULER;
  for (const row of model.rows) {
    row.top = top;
    row.height = row.kind === 'flow' ? Math.max(26, row.depth * PACKET_ROW + 12) : row.jobs.length ? 50 : 28;
    top += row.height;
  }
  model.height = top + 4;
  return model;
}

/** Gives every packet of a flow a row where it overlaps no other; when the rows are used up, they overlap. */
function placePackets(flow) {
  const free = [];
  for (const packet of flow.packets) {
    let row = free.findIndex((end) => end <= packet.arrival);
    if (row < 0) row = free.length < PACKET_ROWS ? free.length : free.indexOf(Math.min(...free));
    free[row] = packet.end;
    packet.row = row;
  }
  flow.depth = Math.max(1, free.length);
}

/** The first index of `list` whose item is not below, for a sorted list. */
function firstIndex(list, below) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (below(list[middle])) low = middle + 1; else high = middle;
  }
  return low;
}

/** The share of each kind of work per pixel. */
function overviewOf(model, pixels) {
  const shares = Array.from({ length: pixels }, () => ({ isr: 0, net: 0, task: 0, idle: 0 }));
  const size = Math.max(1, model.data.length) / pixels;
  for (const lane of model.lanes) {
    for (const [begin, end] of lane.spans) {
      for (let pixel = Math.max(0, Math.floor(begin / size)); pixel < pixels && pixel * size < end; pixel += 1) {
        shares[pixel][lane.kind] += (Math.min(end, (pixel + 1) * size) - Math.max(begin, pixel * size)) / size;
      }
    }
  }
  return shares;
}
