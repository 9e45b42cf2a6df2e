// SPDX-License-Identifier: Apache-2.0
// What live peers experienced: how much was answered over load, and a table.

const peerNames = namesOf(runs.map((run) => run.peers));
const peerIn = (run, name) => run.peers.find((peer) => peer.name === name);

function drawPeers(box) {
  for (const name of peerNames) {
    const place = panel(box, escapeHtml(name), 'of what it sent', '', true);
    const share = (run) => { const peer = peerIn(run, name); return peer && peer.sent ? (100 * peer.answered) / peer.sent : null; };
    const describe = (run) => {
      const peer = peerIn(run, name);
      return peer ? `${count(peer.sent)} sent, ${count(peer.answered)} answered, ${count(peer.failed)} failed` : '–';
    };
    const label = (run) => { const peer = peerIn(run, name); return peer ? `${count(peer.answered)} answered` : '–'; };
    draw(place, measureOption(share, describe, valueAxis((value) => `${value} %`, WHOLE), undefined, label));
  }
}

function peerTable() {
  const heads = [...runHeads(), '<peer', 'sent', 'answered', 'failed', 'round trip median, µs', 'p90', 'p99', 'max'];
  const rows = runs.flatMap((run) => run.peers.map((peer) => [
    ...runCells(run), cell(peer.name), number(peer.sent), number(peer.answered, peer.sent > 0 && peer.answered === 0),
    number(peer.failed, peer.failed > 0), ...['p50', 'p90', 'p99', 'max'].map((key) => time(peer.round_trip_us?.[key])),
  ]));
  return buildTable(heads, rows);
}

/** Fills the section; without peers there is none. */
function showPeers() {
  element('peers').hidden = element('peer-numbers').hidden = !peerNames.length;
  if (!peerNames.length) return;
  CHARTS.peers = drawPeers;
  document.querySelector('#peers .grid').dataset.charts = 'peers';
  element('peer-table').replaceChildren(peerTable());
}
