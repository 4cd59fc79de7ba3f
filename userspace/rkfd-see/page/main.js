// SPDX-License-Identifier: MIT OR Apache-2.0
// Moves in time, by buttons, keys and the bar.

/** A chip's part of the page. */
class View {
  constructor(chip) {
    this.chip = chip;
    this.slots = slotsOf(chip);
    this.diagram = new Diagram(chip, box => this.pin(box));
    this.step = make("section.step", [], { "aria-live": "polite" });
    this.state = make("section.state");
    this.root = make("article.view", [
      make("h2.chip-name", [make("b", [chip.title]), ` ${chip.gfx}, scheduled by ${chip.scheduler}`]),
      this.diagram.root, make("div.columns", [this.step, this.state]),
    ], { "data-chip": chip.name });
  }

  show(scene, at) {
    if (this.scene?.name !== scene.name || this.at !== at) [this.nth, this.pinned] = [0, null];
    [this.scene, this.at] = [scene, at];
    this.now = scene.stateAt(at);
    this.draw();
  }

  draw() {
    const group = this.scene.groups[this.at], before = this.scene.groups[this.at - 1];
    this.diagram.show(group.place, causeOf(group, before), this.now, this.pinned);
    let [shown, nth, at] = [group, this.nth, this.at];
    if (this.pinned) {
      const found = this.scene.groups.slice(0, this.at + 1).findLastIndex(g => g.place === this.pinned);
      if (found >= 0) [shown, at] = [this.scene.groups[found], found];
      nth = found === this.at ? this.nth : 0;
    }
    this.step.dataset.kind = shown.steps[nth].k;
    const empty = this.pinned && shown.place !== this.pinned;
    this.step.replaceChildren(...(empty ? [this.unseen()] : stepView(this, shown, nth, at)).filter(Boolean).flat());
    this.state.replaceChildren(...stateView(this, this.now));
  }

  unseen() {
    return make("p.none", [{
      program: "The program's own instructions make no event: no system call is among them. What it stored is in the packet that the GPU reads.",
      ring: "The packets in the ring are shown where the packet processor reads them.",
    }[this.pinned] ?? "Nothing has happened here so far."]);
  }

  pin(box) {
    this.pinned = this.pinned === box ? null : box;
    this.draw();
  }

  event(nth) {
    const most = this.scene.groups[this.at].steps.length;
    this.nth = Math.min(Math.max(nth, 0), most - 1);
    this.draw();
  }
}

const page = {
  scene: "dispatch", chip: DATA.chips[0].name, at: 0, both: false, playing: null,
  views: Object.fromEntries(DATA.chips.map(chip => [chip.name, new View(chip)])),
  scenes: Object.fromEntries(DATA.chips.map(chip => [chip.name, Object.fromEntries(chip.scenes.map(s => [s.name, new Scene(chip, s)]))])),
};
const $ = id => document.getElementById(id);
const sceneOf = chip => page.scenes[chip][page.scene] ?? Object.values(page.scenes[chip])[0];
const current = () => sceneOf(page.chip);

/** The step of another chip that is in the same part of the path, as far into it. */
function same(scene, other, at) {
  const parts = scene.parts(), others = other.parts();
  const mine = parts.findLastIndex(part => part.at <= at), { phase, at: begin, count } = parts[mine];
  const nth = parts.slice(0, mine + 1).filter(part => part.phase === phase).length;
  const alike = others.filter(part => part.phase === phase);
  const theirs = alike[Math.min(nth, alike.length) - 1];
  if (!theirs) return Math.round(at / Math.max(scene.groups.length - 1, 1) * (other.groups.length - 1));
  // The same kind of step is better than the same share of the part.
  const group = scene.groups[at], ordinal = scene.groups.slice(begin, at + 1).filter(g => g.place === group.place).length;
  let seen = 0;
  for (let i = theirs.at; i < theirs.at + theirs.count; i++)
    if (other.groups[i].place === group.place && ++seen === ordinal) return i;
  return theirs.at + Math.min(theirs.count - 1, Math.floor((at - begin) / count * theirs.count));
}

function show() {
  const scene = current();
  page.at = Math.min(Math.max(page.at, 0), scene.groups.length - 1);
  const chips = page.both ? [page.chip, ...Object.keys(page.views).filter(chip => chip !== page.chip)] : [page.chip];
  const views = $("views");
  views.classList.toggle("both", page.both);
  if ([...views.children].map(v => v.dataset.chip).join() !== chips.join()) views.replaceChildren(...chips.map(chip => page.views[chip].root));
  for (const chip of chips) {
    const other = sceneOf(chip);
    page.views[chip].show(other, chip === page.chip ? page.at : same(scene, other, page.at));
  }
  const group = scene.groups[page.at];
  $("time").max = scene.groups.length - 1;
  $("time").value = page.at;
  $("where").replaceChildren(make("b", [`${page.at + 1}`]), ` of ${scene.groups.length}`, make("span", [time(group.steps[0].t)]));
  document.body.dataset.step = page.at + 1;
  for (const button of $("phases").children) button.classList.toggle("on", Number(button.dataset.at) === partAt(scene, page.at)?.at);
  // Not at each step: browsers slow down who changes the address often.
  clearTimeout(page.keeping);
  page.keeping = setTimeout(keepAddress, 400);
}

/** The place becomes the page's address, for who wants to keep it. */
function keepAddress() {
  history.replaceState(null, "", `#${page.scene}/${page.chip}/${page.at + 1}${page.both ? "/both" : ""}`);
}

const partAt = (scene, at) => scene.parts().findLast(part => part.at <= at);

/** What depends on scene and chip only. */
function choose() {
  const scene = current();
  const pick = (id, choices, chosen, take) => $(id).replaceChildren(...choices.map(([name, text]) =>
    make("button", [text], { role: "tab", "aria-selected": String(chosen(name)), "data-name": name, onclick: () => take(name) })));
  pick("scenes", DATA.chips[0].scenes.map(s => [s.name, SCENES[s.name]?.[0] ?? s.name]), name => name === page.scene, name => go({ scene: name, at: 0 }));
  pick("chips", [...DATA.chips.map(chip => [chip.name, `${chip.title} · ${chip.scheduler}`]), ["both", "Side by side"]],
    name => name === "both" ? page.both : !page.both && name === page.chip,
    name => name === "both" ? go({ both: !page.both }) : go({ chip: name, both: false, at: same(scene, sceneOf(name), page.at) }));
  const left = scene.leftOut ? ` ${scene.leftOut.toLocaleString("en")} events about memory and flushes are left out.` : "";
  $("about").textContent = (SCENES[page.scene]?.[1] ?? "") + left;
  const parts = scene.parts(), many = parts.length > 24;
  const shown = many ? parts.filter((part, i) => parts.findIndex(p => p.phase === part.phase) === i) : parts;
  $("phases").replaceChildren(...shown.map(part => make(`button.phase.${part.phase}`, [PHASES[part.phase]], {
    "data-at": part.at, title: `${part.count} steps`, onclick: () => go({ at: part.at }),
    style: many ? null : `flex-grow: ${Math.max(Math.sqrt(part.count), 1)}`,
  })));
  ticks();
  show();
}

/** The steps as lines on the bar, in the colours of their parts. */
function ticks() {
  const canvas = $("ticks"), scene = current(), style = getComputedStyle(document.body);
  const box = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1;
  [canvas.width, canvas.height] = [box.width * scale, box.height * scale];
  const context = canvas.getContext("2d"), count = scene.groups.length, width = canvas.width / count;
  scene.groups.forEach((group, i) => {
    context.fillStyle = style.getPropertyValue(`--${group.phase}`) || "#888";
    context.fillRect(i * width, 0, Math.max(width - (width > 4 ? scale : 0), 1), canvas.height);
  });
}

function go(changes) {
  const before = [page.scene, page.chip, page.both].join();
  Object.assign(page, changes);
  if ([page.scene, page.chip, page.both].join() === before) show();
  else choose();
}

function part(by) {
  const parts = current().parts(), now = parts.findLastIndex(p => p.at <= page.at);
  const to = by < 0 && parts[now].at < page.at ? now : now + by;
  go({ at: parts[Math.min(Math.max(to, 0), parts.length - 1)].at });
}

function play() {
  clearInterval(page.playing);
  page.playing = page.playing ? null : setInterval(() => {
    if (page.at + 1 >= current().groups.length) return play();
    go({ at: page.at + 1 });
  }, 900);
  $("play").textContent = page.playing ? "❚❚" : "▶▶";
}

function theme() {
  const next = { "": "dark", dark: "light", light: "" }[document.documentElement.dataset.theme ?? ""];
  if (next) document.documentElement.dataset.theme = next;
  else delete document.documentElement.dataset.theme;
  ticks();
}

function otherChip() {
  const names = Object.keys(page.views), name = names[(names.indexOf(page.chip) + 1) % names.length];
  go({ chip: name, at: same(current(), sceneOf(name), page.at) });
}

const KEYS = {
  ArrowRight: () => go({ at: page.at + 1 }), ArrowLeft: () => go({ at: page.at - 1 }),
  PageDown: () => part(1), PageUp: () => part(-1), Home: () => go({ at: 0 }), End: () => go({ at: Infinity }),
  ArrowDown: () => page.views[page.chip].event(page.views[page.chip].nth + 1),
  ArrowUp: () => page.views[page.chip].event(page.views[page.chip].nth - 1),
  " ": play, c: otherChip, s: () => go({ both: !page.both }), t: theme, "?": () => $("keys").showModal(),
  1: () => go({ scene: "dispatch", at: 0 }), 2: () => go({ scene: "queues", at: 0 }), 3: () => go({ scene: "fault", at: 0 }),
};
addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  const inside = event.target.closest("button, [role=button]") && [" ", "Enter"].includes(event.key);
  const several = current().groups[page.at].steps.length > 1;
  const key = KEYS[event.key] ?? KEYS[event.key.toLowerCase()];
  if (!key || inside || (event.key.startsWith("Arrow") && "UpDown".includes(event.key.slice(5)) && !several)) return;
  event.preventDefault();
  key();
});
for (const [id, act] of Object.entries({ first: KEYS.Home, back: KEYS.ArrowLeft, next: KEYS.ArrowRight, last: KEYS.End, play, theme, help: KEYS["?"] }))
  $(id).addEventListener("click", act);
$("time").addEventListener("input", event => go({ at: Number(event.target.value) }));
addEventListener("resize", ticks);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", ticks);

/** The place in the address, which a reader may have kept. */
function fromAddress() {
  const [scene, chip, step, both] = location.hash.slice(1).split("/");
  if (SCENES[scene]) page.scene = scene;
  if (page.views[chip]) page.chip = chip;
  page.at = Math.max(Number(step) - 1 || 0, 0);
  page.both = both === "both";
}
addEventListener("hashchange", () => { fromAddress(); choose(); });
fromAddress();
choose();
