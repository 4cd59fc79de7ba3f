// SPDX-License-Identifier: MIT OR Apache-2.0
// What there is at a step: hardware queues, the ring, the page walk, the MQD and the IH ring.

function stateView(view, state) {
  const panel = (name, title, note, inside) => make("section.panel", [
    make("h3", [title, note ? make("small", [note]) : null]), inside,
  ], { "data-panel": name, class: `panel${state.changed.has(name) ? " changed" : ""}` });
  const none = text => make("p.none", [text]);
  const { slots, ring, ih, walk, mqd } = state;
  return [
    panel("slots", "Hardware queues", `${slots.size} of ${view.slots.pipes * view.slots.queues} taken, ${[...state.queues.values()].filter(is => is !== "gone").length} made`, slotGrid(view, state)),
    panel("ring", "Ring", ring ? `${ring.queue}${ring.ring ? ` at ${ring.ring}` : ""}` : "", ring ? ringView(ring) : none("no queue is on the hardware yet")),
    panel("ih", "IH ring", ih ? `at ${ih.ring}, write pointer ${hex(ih.wptr)}` : "", ih ? ihView(ih) : none("no interrupt yet")),
    panel("walk", "Page walk", walk ? factOf(walk, "va") : "", walk ? walkChain(walk) : none("no walk of a process' tables yet")),
    panel("mqd", "MQD", mqd ? `at ${mqd.mqd}` : "", mqd ? mqdMap(mqd) : none("none is loaded yet")),
    panel("counts", "So far", "", make("dl.counts", Object.entries(state.counts).map(([name, count]) =>
      make("div", [make("dt", [name]), make("dd", [count.toLocaleString("en")], { "data-count": name })])))),
  ];
}

function slotGrid(view, state) {
  const rows = [];
  for (let pipe = 0; pipe < view.slots.pipes; pipe++) {
    const row = [make("span.label", [`pipe ${pipe}`])];
    for (let queue = 0; queue < view.slots.queues; queue++) {
      const slot = state.slots.get(`me1 pipe${pipe} queue${queue}`);
      row.push(make("span", [slot ? String(slot.doorbell) : ""], {
        class: `slot${slot ? " taken" : ""}${slot?.new ? " new" : ""}`,
        title: slot ? `doorbell ${slot.doorbell}, VMID ${slot.vmid}, PASID ${slot.pasid}` : "free",
      }));
    }
    rows.push(make("div.slots", row, { style: `--columns: ${view.slots.queues}` }));
  }
  const waiting = [...state.queues].filter(([doorbell, is]) => is !== "gone" && ![...state.slots.values()].some(s => String(s.doorbell) === doorbell));
  if (waiting.length) rows.push(make("p.note", [`${waiting.length} without a slot: `, waiting.map(([doorbell, is]) => make("span.chip", [doorbell], { title: is }))]));
  return rows;
}

function ringView(ring) {
  const first = Math.max(0, Math.max(ring.written, 1) - 6), cells = [];
  for (let index = first; index < first + 8; index++) {
    const packet = ring.packets.get(index);
    const is = packet ? (packet.done ? "done" : "running") : index < ring.written ? "written" : "invalid";
    const text = { done: "INVALID again", running: packet?.type.replace("_", " "), written: "written", invalid: "INVALID" }[is];
    cells.push(make("span", [make("b", [String(index)]), text], { class: `cell ${is}` }));
  }
  return [make("div.cells", cells), make("p.note", [`written: ${ring.written}, read: ${ring.packets.size ? Math.max(...ring.packets.keys()) + 1 : 0}`])];
}

function ihView(ih) {
  const cells = ih.entries.slice(-8).map(entry => {
    const words = bytesOf(entry.step), client = words[0] & 0xff, source = (words[0] >>> 8) & 0xff;
    return make("span", [make("b", [hex(entry.at, 3)]), `client ${client}`, make("br"), `source ${source}`, make("br"), `data ${hex(words[4])}`],
      { class: `cell${entry.new ? " running" : ""}` });
  });
  return make("div.cells", cells);
}

function walkChain(walk) {
  const at = factOf(walk, "at") ?? [], entries = factOf(walk, "entries") ?? [], fault = factOf(walk, "fault");
  const steps = [make("span.node", [make("b", ["base"]), factOf(walk, "base")])];
  entries.forEach((entry, level) => {
    const index = Number((BigInt(at[level]) & 0xfffn) >> 3n);
    steps.push(make("span.to", ["→"]), make("span", [make("b", [`[${index}]`]), entry], { class: `node${fault && level === entries.length - 1 ? " bad" : ""}` }));
  });
  steps.push(make("span.to", ["→"]));
  steps.push(fault
    ? make("span.node.bad", [make("b", ["fault"]), fault])
    : make("span.node.good", [make("b", [factOf(walk, "memory")]), factOf(walk, "place")]));
  return make("div.chain", steps);
}

function mqdMap({ step, words, before }) {
  const layout = layoutOf(step), names = new Map();
  for (const [name, bit, width] of layout.fields) for (let w = bit >> 5; w <= (bit + width - 1) >> 5; w++) names.set(w, name);
  const cells = [];
  for (let w = 0; w < 256; w++) {
    const value = words[w] ?? 0, changed = before && (before[w] ?? 0) !== value;
    cells.push(make("i", [], { title: `${w}: ${names.get(w) ?? "reserved"} = ${hex(value >>> 0)}`,
      class: `${value ? "full" : ""}${changed ? " changed" : ""}${w >= 128 && w < 184 ? " hqd" : ""}`.trim() || null }));
  }
  return [make("div.map", cells), make("p.note", [`words 0 to 255; framed: the registers of a hardware queue. ${words.filter(w => w).length} are not zero`])];
}
