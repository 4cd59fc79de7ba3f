// SPDX-License-Identifier: MIT OR Apache-2.0
// The bytes of a step: what they mean, and which lines define them.

const short = file => file.replace("drivers/gpu/drm/amd/", "amd/").replace("include/uapi/linux/", "uapi/linux/");
const lineOf = (file, line) => file && line ? make("code.line", [`${short(file)}:${line}`], { title: file }) : null;

/** All about a step. */
function stepView(view, group, nth, at) {
  const step = group.steps[nth], kind = DATA.kinds[step.k], side = step.k.split(".")[0];
  const parts = [
    make("div.step-head", [
      make(`span.side.${side}`, [side === "driver" ? "driver" : "GPU"]),
      make("h2", [step.title]),
      make("span.at", [time(step.t)], { title: "since the scene's begin" }),
    ]),
    make("p.why", [kind.why]),
    make("p.where", ["Here: ", lineOf(kind.file, kind.line), kind.linux ? [" · Linux: ", lineOf(kind.linux, kind.linux_line)] : null]),
  ];
  if (group.steps.length > 1) parts.push(eventsOf(view, group, nth));
  parts.push(factsOf(step));
  if (step.k === "device.page_walk") parts.push(walkView(step, view.scene.chip));
  let shown = step;
  if (step.k === "driver.mqd") {
    shown = view.scene.mqdAfter(factOf(step, "mqd"), at);
    if (shown) parts.push(make("p.note", ["The words that the device read at this address afterwards:"]));
  }
  if (shown) parts.push(bytesView(shown));
  return parts;
}

function eventsOf(view, group, nth) {
  const list = make("div.events", group.steps.map((step, i) => make("button", [
    make("span", [step.title]), make("small", [time(step.t - group.steps[0].t)]),
  ], { class: i === nth ? "on" : null, onclick: () => view.event(i) })));
  const more = group.count - group.steps.length;
  queueMicrotask(() => { list.scrollTop = (list.querySelector(".on")?.offsetTop ?? 0) - list.offsetTop - 60; });
  return make("details.several", [
    make("summary", [`${group.count} events in a row`, more ? `, of which ${group.steps.length} are here` : ""]), list,
  ], { open: "" });
}

function factsOf(step) {
  const facts = (step.facts ?? []).filter(([name]) => !["at", "entries"].includes(name) || step.k !== "device.page_walk");
  if (!facts.length) return null;
  const text = value => Array.isArray(value) ? value.join(" ") : String(value);
  return make("dl.facts", facts.map(([name, value]) =>
    make("div", [make("dt", [name]), make("dd", [text(value)], { "data-fact": name })])));
}

/** Raw words, and the fields in them. */
function bytesView(step) {
  const words = bytesOf(step), layout = layoutOf(step), before = beforeOf(step);
  if (!words) return null;
  const parts = [];
  if (layout) parts.push(make("p.layout", [
    make("b", [layout.c || layout.name]), ` ${layout.words * 4} bytes · `, lineOf(layout.file, layout.line),
    layout.header ? [" · ", lineOf(layout.header, layout.hline)] : null,
  ]));
  parts.push(dump(words, before));
  if (layout) parts.push(fieldTable(layout, words, before));
  return make("div.bytes", parts);
}

function dump(words, before) {
  const rows = [];
  let zeros = 0;
  for (let at = 0; at < words.length; at += 8) {
    const row = words.slice(at, at + 8);
    if (row.every(w => w === 0) && words.length > 64) { zeros++; continue; }
    if (zeros) rows.push(make("div.zeros", [`${zeros * 32} bytes of zeros`]));
    zeros = 0;
    rows.push(make("div", [
      make("span.offset", [hex(at * 4, 3).slice(2)]),
      row.map((w, i) => {
        const changed = before && (before[at + i] ?? 0) !== w;
        return make("span.word", [word(w)], { "data-word": at + i, class: `word${w ? "" : " zero"}${changed ? " changed" : ""}` });
      }),
    ]));
  }
  return make("div.dump", rows, { tabindex: 0, "aria-label": "The bytes, as words of 32 bits" });
}

function fieldTable(layout, words, before) {
  const rows = fieldsOf(layout, words, before).filter(f => (f.bit >> 5) < Math.max(words.length, 1));
  const zero = rows.filter(f => f.value === 0n && f.old === 0n).length;
  const table = make("table.fields", [
    make("thead", [make("tr", ["offset", "bits", "field", "value", "here", layout.header ? "header" : ""].map(t => make("th", [t])))]),
    make("tbody", rows.map(f => {
      const low = f.bit & 31, bits = f.width === 32 && low === 0 ? "" : f.width > 32 ? `${f.width} bits` : `${low + f.width - 1}:${low}`;
      const changed = f.old !== f.value;
      const value = [hex(f.value)];
      if (plain(f.value, f.width)) value.push(make("small", [plain(f.value, f.width)]));
      if (changed) value.unshift(make("del", [hex(f.old)]), " ");
      return make("tr", [
        make("td.offset", [hex((f.bit >> 5) * 4, 3).slice(2)]), make("td.bits", [bits]),
        make("td.field", [breakable(f.name), f.c && f.c !== f.name ? make("small", [breakable(f.c)]) : null]),
        make("td.value", value, { "data-field": f.name, "data-value": hex(f.value) }),
        make("td", [f.line ? make("code", [`:${f.line}`], { title: `${layout.file}:${f.line}` }) : ""]),
        make("td", [f.cLine ? make("code", [`:${f.cLine}`], { title: `${layout.header}:${f.cLine}` }) : ""]),
      ], { class: [f.value === 0n && !changed ? "zero" : "", changed ? "changed" : ""].join(" ").trim() || null,
        onmouseenter: event => light(event.currentTarget, f, true), onmouseleave: event => light(event.currentTarget, f, false) });
    })),
  ]);
  if (!zero) return table;
  const button = make("button.zeros", [`${zero} fields of zeros`], { "aria-pressed": "false" });
  button.addEventListener("click", () => {
    const on = table.classList.toggle("all");
    button.setAttribute("aria-pressed", String(on));
  });
  return [table, button];
}

/** A name that may go on in the next line behind each part. */
const breakable = name => name.split(/(?<=[_.+])/).flatMap(part => [part, make("wbr")]);

/** Marks the words of a field. */
function light(row, field, on) {
  const dump = row.closest(".bytes").querySelector(".dump");
  const last = (field.bit + field.width - 1) >> 5;
  for (let w = field.bit >> 5; w <= last; w++) dump.querySelector(`[data-word="${w}"]`)?.classList.toggle("lit", on);
}

/** A page walk: the address taken apart, and the entry of each level. */
function walkView(step, chip) {
  const va = BigInt(factOf(step, "va")), at = factOf(step, "at") ?? [], entries = factOf(step, "entries") ?? [];
  const generation = chip.gfx.startsWith("gfx9") ? "gfx9" : "gfx12";
  const bits = DATA.entry.bits.filter(bit => ["all", generation].includes(bit[6]));
  const index = level => Number((BigInt(at[level]) & 0xfffn) >> 3n);
  const row = (name, place, entry) => make("tr", [
    make("td", [name]), make("td", [make("code", [place])]), make("td.value", [entry], { "data-entry": entry }),
    make("td", [bits.filter(([, bit]) => (BigInt(entry) >> BigInt(bit)) & 1n).map(([flag, , , c, line, cLine]) =>
      make("span.flag", [flag], { title: `${c}: ${DATA.entry.file}:${line}, ${DATA.entry.header}:${cLine}` }))]),
  ]);
  return make("div.walk", [
    make("p.va", [make("b", [hex(va, 12)]), " = ", at.map((_, level) => [make("span.index", [String(index(level))]), " · "]), make("span.index", [hex(va & 0xfffn)])]),
    make("table.fields.all", [
      make("thead", [make("tr", ["", "entry at", "entry", "bits"].map(t => make("th", [t])))]),
      make("tbody", [row("base", "register", factOf(step, "base")), entries.map((entry, level) => row(`index ${index(level)}`, at[level], entry))]),
    ]),
  ]);
}
