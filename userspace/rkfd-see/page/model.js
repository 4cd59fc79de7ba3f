// SPDX-License-Identifier: MIT OR Apache-2.0
// What there is at a step: everything before it, added up.

const PHASES = {
  open: "Open", memory: "Memory", queue: "Queue", schedule: "Schedule", doorbell: "Doorbell", packet: "Packet",
  waves: "Waves", wait: "Wait", signal: "Signal", interrupt: "Interrupt", fault: "Fault", event: "Event", end: "End",
};
const SCENES = {
  dispatch: ["One dispatch", "A vector addition of 1,048,576 floats, from open to the result."],
  queues: ["More queues than slots", "Forty queues on hardware that has fewer: firmware takes turns."],
  fault: ["A page fault", "A kernel stores where nothing is mapped; the process learns it, another goes on."],
};

/** A scene of a chip. */
class Scene {
  constructor(chip, scene) {
    this.chip = chip;
    this.groups = scene.groups;
    this.name = scene.name;
    this.leftOut = scene.left_out;
    this.states = new Map();
  }

  /** Parts of the path in the order of time: which part, from which group on, how many groups. */
  parts() {
    const parts = [];
    this.groups.forEach((group, at) => {
      const last = parts[parts.length - 1];
      if (last?.phase === group.phase) last.count++;
      else parts.push({ phase: group.phase, at, count: 1 });
    });
    return parts;
  }

  /** The words of an MQD as the device reads them, at or after a group. */
  mqdAfter(mqd, at) {
    for (const group of this.groups.slice(at))
      for (const step of group.steps)
        if (step.k === "device.mqd_word" && factOf(step, "mqd") === mqd) return step;
    return null;
  }

  /** The state after a group. */
  stateAt(at) {
    const state = newState();
    for (let i = 0; i <= at; i++) {
      state.fresh = i === at;
      for (const step of this.groups[i].steps) take(state, step, this.groups[i].place);
    }
    return state;
  }
}

function newState() {
  return {
    slots: new Map(), vmids: new Map(), queues: new Map(), places: new Map(), mqd: null, ring: null, ih: null, walk: null,
    counts: { requests: 0, walks: 0, flushes: 0, packets: 0, interrupts: 0 }, changed: new Set(),
  };
}

/** Adds a step to the state. */
function take(state, step, place) {
  const fact = name => factOf(step, name);
  const changes = what => { if (state.fresh) state.changed.add(what); };
  state.places.set(place, step);
  switch (step.k) {
    case "driver.ioctl":
      state.counts.requests++;
      state.places.set("program", step);
      break;
    case "driver.tlb_flush": state.counts.flushes++; break;
    case "driver.queue": state.queues.set(fact("doorbell"), fact("state")); break;
    case "device.vmid_assign": state.vmids.set(fact("vmid"), fact("pasid")); changes("vmids"); break;
    case "device.vmid_release": state.vmids.delete(fact("vmid")); changes("vmids"); break;
    case "device.mqd_word": {
      const same = state.mqd?.mqd === fact("mqd");
      state.mqd = { mqd: fact("mqd"), step, words: bytesOf(step), before: same ? state.mqd.words : null };
      changes("mqd");
      break;
    }
    case "device.queue_connect":
      state.slots.set(fact("queue"), { doorbell: fact("doorbell"), pasid: fact("pasid"), vmid: fact("vmid"), new: state.fresh });
      state.ring = ringOf(state, fact("queue"), step);
      changes("slots");
      break;
    case "device.queue_disconnect": state.slots.delete(fact("queue")); changes("slots"); break;
    case "device.doorbell":
      if (fact("queue")?.startsWith("me1")) {
        state.ring = { ...ringOf(state, fact("queue")), written: Number(fact("value")) + 1 };
        changes("ring");
      }
      break;
    case "device.aql":
      state.counts.packets++;
      // The packet lies in the ring, where the program has stored it.
      state.places.set("ring", step);
      state.ring = ringOf(state, fact("queue"));
      state.ring.packets.set(fact("index"), { type: fact("type"), step, done: false });
      state.ring.written = Math.max(state.ring.written, fact("index") + 1);
      changes("ring");
      break;
    case "device.dispatch_end": {
      const packet = state.ring?.packets.get(fact("index"));
      if (packet) packet.done = true;
      changes("ring");
      break;
    }
    case "device.page_walk": state.walk = step; state.counts.walks++; changes("walk"); break;
    case "device.ih_write":
      state.counts.interrupts++;
      state.ih ??= { entries: [] };
      Object.assign(state.ih, { ring: fact("ring"), bytes: fact("bytes"), wptr: fact("wptr"), rptr: fact("rptr") });
      state.ih.entries.push({ at: fact("at"), step, new: state.fresh });
      changes("ih");
      break;
  }
}

/** The ring of a queue: rings live as long as the page looks at one scene. */
function ringOf(state, queue, connect) {
  state.rings ??= new Map();
  if (connect) {
    const known = { doorbell: factOf(connect, "doorbell"), ring: factOf(connect, "ring"), words: factOf(connect, "words") };
    const before = state.rings.get(queue);
    if (before?.doorbell !== known.doorbell)
      state.rings.set(queue, { ...known, queue, packets: new Map(), written: factOf(connect, "wptr") ?? 0 });
  }
  if (!state.rings.has(queue)) state.rings.set(queue, { queue, packets: new Map(), written: 0 });
  return state.rings.get(queue);
}

/** How many pipes, and queues of a pipe, a chip was seen with. */
function slotsOf(chip) {
  let pipes = 1, queues = 1;
  for (const scene of chip.scenes) for (const group of scene.groups) for (const step of group.steps) {
    if (step.k !== "device.queue_connect") continue;
    const found = /pipe(\d+) queue(\d+)/.exec(factOf(step, "queue"));
    if (found) [pipes, queues] = [Math.max(pipes, +found[1] + 1), Math.max(queues, +found[2] + 1)];
  }
  return { pipes, queues };
}
