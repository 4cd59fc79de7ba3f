// SPDX-License-Identifier: MIT OR Apache-2.0
// The diagram: both sides of the bus, the boxes of the path, and the step's arrow.

// A box: its name, which side it is on, its column and row where there is room, and where there is little.
const BOXES = {
  program: ["HIP · HSA · library", "program", 0, 0, 0, 0],
  ring: ["ring of packets", "program", 4, 0, 1, 0],
  signal: ["signal", "program", 5, 0, 2, 0],
  ioctl: ["ioctl", "driver", 0, 1, 0, 1],
  mqd: ["MQD", "driver", 1, 1, 1, 1],
  frame: [null, "driver", 2, 1, 2, 1],
  event: ["event", "driver", 5, 1, 1, 2],
  handler: ["interrupt handler", "driver", 6, 1, 2, 2],
  bell: ["doorbell", "bus", 2, 2, 0, 3],
  msi: ["MSI", "bus", 6, 2, 2, 3],
  sched: [null, "gpu", 2, 3, 0, 4],
  hqd: ["hardware queues", "gpu", 3, 3, 1, 4],
  cp: ["packet processor", "gpu", 4, 3, 2, 4],
  waves: ["waves", "gpu", 5, 3, 0, 5],
  ih: ["IH ring", "gpu", 6, 3, 2, 5],
  sdma: ["copy engine", "gpu", 1, 4, 0, 6],
  vmid: ["VMID", "gpu", 3, 4, 1, 6],
  walk: ["TLB, page walk", "gpu", 4, 4, 1, 5],
};
const LANES = {
  program: ["program", [0, 1], [0, 1]],
  driver: ["kernel: the driver", [1, 1], [1, 2]],
  bus: ["PCI Express", [2, 1], [3, 1]],
  gpu: ["GPU", [3, 2], [4, 3]],
};
const EDGES = [
  ["program", "ioctl"], ["ioctl", "mqd"], ["mqd", "frame"], ["frame", "bell"], ["bell", "sched"], ["sched", "hqd"], ["sched", "vmid"],
  ["program", "ring"], ["ring", "cp"], ["bell", "hqd"], ["hqd", "cp"], ["cp", "waves"], ["cp", "walk"], ["waves", "walk"], ["waves", "signal"],
  ["waves", "ih"], ["ih", "msi"], ["msi", "handler"], ["handler", "event"], ["event", "signal"], ["vmid", "walk"],
];

// Where what happens in a step comes from: by its kind, or else from where the step before was.
const CAUSES = {
  "driver.ioctl": "program", "driver.mqd": "ioctl", "driver.queue": "ioctl", "driver.run_list": "mqd", "driver.pm4": "mqd", "driver.mes": "mqd",
  "driver.doorbell": "frame", "device.doorbell": "program", "device.pm4": "bell", "device.mes": "bell", "device.mqd_word": "sched",
  "device.queue_connect": "sched", "device.vmid_assign": "sched", "device.aql": "ring", "device.page_walk": "cp", "device.dispatch_start": "cp",
  "device.signal": "waves", "device.ih_write": "waves", "device.msi": "ih", "driver.ih_entry": "msi", "driver.signal": "handler",
  "driver.fault": "handler", "driver.ioctl_exit": null,
};

/** The box that a group's arrow leaves. */
function causeOf(group, before) {
  const step = group.steps[0];
  if (step.title === "WAIT_EVENTS returns") return "event";
  if (step.k === "device.doorbell" && !factOf(step, "queue")?.startsWith("me1")) return "frame";
  if (step.k === "device.page_walk" && ["waves", "wait"].includes(group.phase)) return "waves";
  return step.k in CAUSES ? CAUSES[step.k] : before?.place ?? null;
}

class Diagram {
  constructor(chip, choose) {
    this.names = {
      frame: chip.scheduler === "MES" ? "MES frames" : "run list, PM4",
      sched: chip.scheduler === "MES" ? "MES firmware" : "CPSCH firmware",
    };
    this.choose = choose;
    this.root = make("div.diagram");
    this.small = matchMedia("(max-width: 760px)");
    this.small.addEventListener("change", () => this.draw());
    this.draw();
  }

  name(box) { return BOXES[box][0] ?? this.names[box]; }

  place(box) {
    const [, , column, row, smallColumn, smallRow] = BOXES[box];
    return this.small.matches
      ? { x: 12 + smallColumn * 134, y: 24 + smallRow * 80, w: 124, h: 50 }
      : { x: 18 + column * 168, y: 24 + row * 80, w: 150, h: 50 };
  }

  draw() {
    const small = this.small.matches, [width, height] = small ? [414, 570] : [1192, 408];
    const svg = make("svg", [], { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "The path of a dispatch" });
    for (const [side, [name, large, little]] of Object.entries(LANES)) {
      const [row, rows] = small ? little : large, pitch = 80;
      const top = 6 + row * pitch, tall = rows * pitch - 6;
      svg.append(make(`rect.lane.${side}`, [], { x: 4, y: top, width: width - 8, height: tall, rx: 10 }),
        make("text.lane-name", [name], { x: width - 14, y: top + 14, "text-anchor": "end" }));
    }
    this.edges = make("g.edges");
    for (const [from, to] of EDGES) this.edges.append(make("path.edge", [], { d: this.curve(from, to) }));
    svg.append(this.edges);
    this.arrow = make("path.arrow", [], { d: "" });
    this.boxes = {};
    for (const box of Object.keys(BOXES)) {
      const { x, y, w, h } = this.place(box), side = BOXES[box][1];
      const live = make("text.live", [""], { x: x + w / 2, y: y + 38, "text-anchor": "middle" });
      const g = make(`g.box.${side}`, [
        make("rect", [], { x, y, width: w, height: h, rx: 9 }),
        make("text.name", [this.name(box)], { x: x + w / 2, y: y + 20, "text-anchor": "middle" }), live,
      ], { tabindex: 0, role: "button", "data-box": box, "aria-label": this.name(box), onclick: () => this.choose(box),
        onkeydown: event => { if (event.key === "Enter") this.choose(box); } });
      this.boxes[box] = { g, live };
      svg.append(g);
    }
    svg.append(this.arrow);
    svg.prepend(make("defs", [make("marker", [make("path", [], { d: "M0,0 L8,4 L0,8 z", class: "tip" })],
      { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto-start-reverse" })]));
    this.root.replaceChildren(svg);
    if (this.last) this.show(...this.last);
  }

  /** A curve from one box to another, by the sides that face each other. */
  curve(from, to) {
    const a = this.place(from), b = this.place(to);
    const [ax, ay, bx, by] = [a.x + a.w / 2, a.y + a.h / 2, b.x + b.w / 2, b.y + b.h / 2];
    if (Math.abs(ay - by) < 10) {
      const right = bx > ax, [x1, x2] = right ? [a.x + a.w, b.x] : [a.x, b.x + b.w];
      return `M${x1},${ay} L${x2},${by}`;
    }
    const down = by > ay, [y1, y2] = down ? [a.y + a.h, b.y] : [a.y, b.y + b.h], middle = (y1 + y2) / 2;
    return `M${ax},${y1} C${ax},${middle} ${bx},${middle} ${bx},${y2}`;
  }

  /** Shows the state at a step, whose arrow leads from `from` to `active`. */
  show(active, from, state, pinned) {
    this.last = [active, from, state, pinned];
    for (const [box, { g, live }] of Object.entries(this.boxes)) {
      const step = state.places.get(box);
      g.classList.toggle("active", box === active);
      g.classList.toggle("pinned", box === pinned);
      g.classList.toggle("seen", Boolean(step));
      const text = step ? shorten(step.title, this.small.matches ? 18 : 22) : "";
      live.textContent = text;
      g.setAttribute("aria-label", `${this.name(box)}: ${step?.title ?? "nothing yet"}`);
    }
    const draws = from && from !== active && BOXES[from] && BOXES[active];
    this.arrow.setAttribute("d", draws ? this.curve(from, active) : "");
    this.arrow.setAttribute("marker-end", draws ? "url(#tip)" : "");
  }
}

const shorten = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text;
