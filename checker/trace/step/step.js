/* Steps through launches of a kernel, forwards and backwards: its lines, what its names hold, what it touches.
 *
 * The data, all of it made by stepped.py:
 *   puzzle, title, outcome; first: the launch that is shown first; beside: the same for another puzzle, or null
 *   launches: [{
 *     kernel, case, stopped: why it ended early, or null; whole: whether all steps are there
 *     code: [[line, line as it is shown, text]], statements: { line: [text, names in it] }, loops: [[first line, last line]]
 *     tensors: [{ name, shape, type, bytes of an element }], programs: { number: name }
 *     values: [[type, shape, numbers or null, tensor that pointers point into, or -1]]
 *     steps: [[program, line, function, depth, [[name, value]], [[tensor, [[first, count]], whether stored, mask]]]]
 *     start: the step that is shown first; wrong: { tensor, element, name } that came out wrong, if one did
 *   }]
 * A step has ended: the values are those after its line. A mask is a value, or -1 where all lanes are active.
 */

const SKY = [86, 180, 233], BLUE = [0, 114, 178], ORANGE = [213, 94, 0]; // of Okabe and Ito
const PAUSE = 450; // milliseconds between steps that go by themselves
const WIDE = 256, HIGH = 176; // pixels that a block may have
const WRAP = 64; // numbers in a line of a long row

const paint = ([r, g, b], alpha) => `rgb(${r} ${g} ${b} / ${alpha})`;
const size = (shape) => shape.reduce((all, side) => all * side, 1);
const counted = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;

function made(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

function told(number) {
  if (typeof number === "string") return number.replace("-", "−").replace("inf", "∞").replace("nan", "NaN");
  return String(number).replace("-", "−");
}

/** A value in a few words; `numbers` may be those of a mask. */
function inWords([type, shape, numbers, tensor], tensors) {
  const kind = tensor >= 0 ? `pointer${shape.length ? "s" : ""} into ${tensors[tensor].name}` : type;
  const form = shape.length ? `${shape.join(" × ")} ${kind}` : kind;
  if (!numbers?.length) return numbers ? form : shape.length ? `${form}, too many to show` : form;
  if (type === "int1" || type === "bool") {
    const on = numbers.filter((one) => one).length;
    return shape.length ? `${form}, ${on} of ${numbers.length} true` : `${form}, ${on ? "true" : "false"}`;
  }
  if (!shape.length) return `${tensor >= 0 ? `${kind}, element` : form} ${told(numbers[0])}`;
  const finite = numbers.filter((one) => typeof one === "number");
  const odd = ["nan", "-inf", "inf"].filter((sign) => numbers.includes(sign)).map(told);
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity), high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const span = !finite.length ? [] : [low === high ? `all ${told(low)}` : `${told(low)} to ${told(high)}`];
  return `${form}: ${[...span, ...odd].join(", ")}`;
}

// Pictures of blocks and tensors

/** Lines and columns of a shape, as it is drawn: leading axes one below the other, a long row in several lines. */
function grid(shape) {
  const columns = shape.at(-1) ?? 1, rows = size(shape.slice(0, -1));
  if (rows === 1 && columns > WRAP) return { rows: Math.ceil(columns / WRAP), columns: WRAP };
  return { rows, columns };
}

/** A canvas for a shape, and a function that gives the rectangle of an element. */
function sheet(shape, about) {
  const { rows, columns } = grid(shape);
  const wide = Math.min(18, Math.max(2, Math.floor(WIDE / columns)));
  const high = Math.min(wide < 6 ? 12 : wide, Math.max(1, Math.floor(HIGH / rows)));
  const sharp = globalThis.devicePixelRatio || 1;
  const canvas = made("canvas", { width: wide * columns * sharp, height: high * rows * sharp, role: "img", "aria-label": about });
  canvas.style.width = `${wide * columns}px`;
  const pen = canvas.getContext("2d");
  pen.scale(sharp, sharp);
  const at = (n) => [(n % columns) * wide, Math.floor(n / columns) * high, wide, high];
  return { canvas, pen, at, columns, wide, high };
}

function hatch(pen, [x, y, w, h], colour) {
  pen.save();
  pen.beginPath();
  pen.rect(x, y, w, h);
  pen.clip();
  pen.strokeStyle = colour;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let d = -h; d < w; d += 4) {
    pen.moveTo(x + d, y + h);
    pen.lineTo(x + d + h, y);
  }
  pen.stroke();
  pen.restore();
}

/** The numbers of a block: orange above zero, blue below, and signs for what is no finite number. */
function heatMap(value, mask, ink, about) {
  const [type, shape, numbers, tensor] = value;
  const { canvas, pen, at, wide, high } = sheet(shape, about);
  const finite = numbers.filter((one) => typeof one === "number").map(Math.abs);
  const most = finite.reduce((a, b) => Math.max(a, b), 0) || 1;
  const gap = Math.min(wide, high) > 5 ? 1 : 0;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.font = `${Math.min(wide, high) - 3}px sans-serif`;
  numbers.forEach((one, n) => {
    const [x, y, w, h] = at(n);
    const cell = [x, y, w - gap, h - gap];
    if (mask && !mask[n]) return hatch(pen, cell, ink);
    if (typeof one === "string") {
      pen.fillStyle = one === "nan" ? paint(ORANGE, 1) : ink;
      if (Math.min(w, h) > 8) pen.fillText(one === "nan" ? "×" : told(one), x + w / 2, y + h / 2, w);
      else pen.fillRect(x + w / 4, y + h / 4, Math.max(1, w / 2), Math.max(1, h / 2));
      return;
    }
    const flag = type === "int1" || type === "bool";
    pen.fillStyle = flag ? ink : paint(one < 0 ? BLUE : tensor >= 0 ? SKY : ORANGE, 0.08 + (0.87 * Math.abs(one)) / most);
    if (!flag || one) pen.fillRect(...cell);
    else {
      pen.strokeStyle = ink;
      pen.lineWidth = 0.5;
      pen.strokeRect(x + 0.5, y + 0.5, w - gap - 1, h - gap - 1);
    }
  });
  return canvas;
}

/** A tensor: dark what this step loads, hatched what it stores, pale what was touched before. */
function touchMap(tensor, before, now, wrong, ink) {
  const elements = now.reduce((all, { runs }) => all + runs.reduce((sum, [, n]) => sum + n, 0), 0);
  const about = `${tensor.name}: ${elements ? `${counted(elements, "element")} touched now` : "not touched now"}`;
  const { canvas, pen, at, columns, wide, high } = sheet(tensor.shape, about);
  const fill = (runs, draw) => {
    for (let [first, left] of runs) {
      while (left > 0) { // one rectangle for each line
        const part = Math.min(left, columns - (first % columns)), [x, y, w, h] = at(first);
        draw([x, y, w * part, h]);
        first += part;
        left -= part;
      }
    }
  };
  pen.fillStyle = ink;
  pen.globalAlpha = 0.07;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.globalAlpha = 1;
  fill(before.loads, (cell) => (pen.fillStyle = paint(SKY, 0.35), pen.fillRect(...cell)));
  fill(before.stores, (cell) => (pen.fillStyle = paint(ORANGE, 0.3), pen.fillRect(...cell)));
  for (const { runs, store } of now) {
    fill(runs, (cell) => {
      pen.fillStyle = store ? paint(ORANGE, 0.45) : paint(BLUE, 1);
      pen.fillRect(...cell);
      if (store) hatch(pen, cell, ink);
    });
  }
  if (wrong !== undefined) {
    const [x, y, w, h] = at(wrong);
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    pen.strokeRect(x - 2, y - 2, Math.max(w, 6) + 4, Math.max(h, 6) + 4);
  }
  return canvas;
}

/** Runs of elements, joined where they meet: what was touched before grows to a few of them. */
function joined(runs) {
  const found = [];
  for (const [first, count] of runs.sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && first <= last[0] + last[1]) last[1] = Math.max(last[1], first + count - last[0]);
    else found.push([first, count]);
  }
  return found;
}

// One launch

class Launch {
  constructor(data) {
    Object.assign(this, data);
    this.all = this.steps.map(([program, line, name, depth, changed, accesses]) => ({
      program, line, name, depth, changed,
      accesses: accesses.map(([tensor, runs, store, mask]) => ({ tensor, runs, store, mask })),
    }));
    let [loaded, stored, tiles] = [0, 0, 0];
    this.all.forEach((step, n) => {
      for (const { tensor, runs, store } of step.accesses.filter((one) => one.tensor >= 0)) {
        const bytes = runs.reduce((sum, [, count]) => sum + count, 0) * this.tensors[tensor].bytes;
        if (store) stored += bytes;
        else loaded += bytes;
      }
      step.enters = this.#entersLoop(n);
      tiles += step.enters && this.#isInnermost(step.line);
      step.begins = this.statements[step.line]?.[0].startsWith("def ");
      Object.assign(step, { loaded, stored, tiles, stores: step.accesses.some((one) => one.store) });
    });
  }

  /** Whether a step is the head of a loop that goes on into its body. */
  #entersLoop(n) {
    const step = this.all[n], next = this.all.slice(n + 1).find((one) => one.depth <= step.depth);
    const loop = this.loops.find(([first]) => first === step.line);
    return !!loop && next?.program === step.program && next.line > loop[0] && next.line <= loop[1];
  }

  #isInnermost(line) {
    const [first, last] = this.loops.find(([begin]) => begin === line);
    return !this.loops.some(([inner]) => inner > first && inner <= last);
  }

  /** First and last step of a program. */
  range(program) {
    return [this.all.findIndex((one) => one.program === program), this.all.findLastIndex((one) => one.program === program)];
  }

  /** What each name of the function holds after a step, as { value, mask, fresh }, by name. */
  names(n) {
    const { program, depth, name } = this.all[n], found = new Map();
    let begin = n;
    while (begin > 0 && this.all[begin - 1].program === program && this.all[begin - 1].depth >= depth) begin--;
    for (let at = begin; at <= n; at++) {
      const step = this.all[at];
      if (step.depth !== depth || step.name !== name) continue;
      for (const [one, place] of step.changed) {
        const value = this.values[place];
        const load = step.accesses.find(({ store, mask }) => !store && mask >= 0 && String(this.values[mask][1]) === String(value[1]));
        found.set(one, { value, mask: load && this.values[load.mask][2], fresh: at === n });
      }
    }
    return found;
  }

  /** For each tensor what was touched from a step on, until before another. */
  touched(from, until) {
    const found = this.tensors.map(() => ({ loads: [], stores: [] }));
    for (const { accesses } of this.all.slice(from, until)) {
      for (const { tensor, runs, store } of accesses) {
        if (tensor >= 0) found[tensor][store ? "stores" : "loads"].push(...runs.map((run) => [...run]));
      }
    }
    return found.map(({ loads, stores }) => ({ loads: joined(loads), stores: joined(stores) }));
  }

  /** A step as a sentence or two. */
  said(n) {
    const step = this.all[n], [text] = this.statements[step.line] ?? [""];
    const [, shown] = this.code.find(([line]) => line === step.line) ?? [0, step.line];
    const accesses = step.accesses.map(({ tensor, runs, store }) => {
      const elements = runs.reduce((sum, [, count]) => sum + count, 0);
      const did = store ? "stores" : "loads";
      return tensor < 0 ? `${did} nothing, as all lanes are masked` : `${did} ${counted(elements, "element")} of ${this.tensors[tensor].name}`;
    });
    const names = step.changed.map(([name, place]) => `${name} is ${inWords(this.values[place], this.tensors)}`);
    const last = this.stopped && n === this.range(step.program)[1] ? ` It ${this.stopped}.` : "";
    const came = [...accesses, ...(step.begins ? ["it begins"] : names)].join("; ");
    return `Line ${shown}: ${text}${came && ` → ${came}`}.${last}`;
  }
}

/** A launch as it is drawn: its lines, its names and its tensors. */
class Pane {
  #unfolded = new Set(); // names whose numbers are shown
  #lines = new Map();

  constructor(launch, goTo) {
    this.launch = launch;
    this.code = made("pre", { className: "step-code", tabIndex: 0, ariaLabel: `The lines of ${launch.kernel}` });
    for (const [line, shown, text] of launch.code) {
      const one = made("span", { className: "step-line" }, made("span", { className: "step-number" }, String(shown)), text || " ");
      one.addEventListener("click", () => goTo(line));
      this.#lines.set(line, one);
      this.code.append(one);
    }
    this.bytes = made("p", { className: "step-bytes" });
    this.names = made("div", { className: "step-names" });
    this.tensors = made("div", { className: "step-tensors" });
    const about = made("p", { className: "step-about" }, made("b", {}, launch.kernel), ` with ${launch.case}`);
    const left = made("div", {}, this.code);
    if (launch.all.some(({ accesses }) => accesses.length)) left.append(this.bytes, this.tensors); // of PyTorch nothing is known
    this.element = made("section", { className: "step-pane", ariaLabel: launch.kernel }, about, left, this.names);
  }

  show(n, from) {
    const { launch } = this, step = launch.all[n], ink = getComputedStyle(this.code).color;
    for (const [line, one] of this.#lines) {
      one.classList.toggle("step-now", line === step.line);
      if (line === step.line) one.setAttribute("aria-current", "step");
      else one.removeAttribute("aria-current");
    }
    const now = this.#lines.get(step.line);
    if (now) {
      const top = now.offsetTop, view = this.code.clientHeight;
      if (top < this.code.scrollTop || top > this.code.scrollTop + view - 40) this.code.scrollTop = top - view / 3;
    }
    const start = from > 0 ? launch.all[from - 1] : { loaded: 0, stored: 0 };
    this.bytes.textContent = `So far ${(step.loaded - start.loaded).toLocaleString("en")} bytes loaded, ${(step.stored - start.stored).toLocaleString("en")} stored.`;
    const [, used] = launch.statements[step.line] ?? ["", []], names = [...launch.names(n)];
    const cards = (these) => made("div", { className: "step-cards" }, ...these.map(([name, held]) => this.#card(name, held, ink)));
    const here = names.filter(([name, { fresh }]) => used.includes(name) || (fresh && !step.begins));
    here.sort(([, one], [, other]) => other.fresh - one.fresh);
    const others = names.filter((one) => !here.includes(one)).reverse(); // what came last comes first
    this.names.replaceChildren(cards(here), ...(others.length && here.length ? [made("p", { className: "step-rest" }, "Not in this line")] : []), cards(others));
    const before = launch.touched(from, n);
    this.tensors.replaceChildren(...launch.tensors.map((tensor, t) => {
      const own = step.accesses.filter((one) => one.tensor === t);
      const wrong = launch.wrong?.tensor === t ? launch.wrong.element : undefined;
      const words = own.length ? (own.some((one) => one.store) ? " ◂ stored" : " ◂ loaded") : "";
      const form = `${tensor.shape.join(" × ")} ${tensor.type}`;
      return made("figure", {}, made("figcaption", {}, made("b", {}, tensor.name + words), ` ${form}`), touchMap(tensor, before[t], own, wrong, ink));
    }));
  }

  #card(name, { value, mask, fresh }, ink) {
    const [, shape, numbers] = value, words = inWords(value, this.launch.tensors);
    const card = made("div", { className: `step-card${fresh ? " step-fresh" : ""}` });
    card.append(made("div", {}, made("b", {}, `${fresh ? "● " : ""}${name}`), ` ${words}`));
    if (!shape.length || !numbers?.length) return card;
    card.append(heatMap(value, mask, ink, `${name}: ${words}`));
    const rows = made("details", { open: this.#unfolded.has(name) }, made("summary", {}, "numbers"));
    const fill = () => rows.open && rows.children.length < 2 && rows.append(table(value, mask));
    rows.addEventListener("toggle", () => {
      this.#unfolded[rows.open ? "add" : "delete"](name);
      fill();
    });
    fill();
    card.append(rows);
    return card;
  }
}

function table([, shape, numbers], mask) {
  const columns = grid(shape).columns, lines = [];
  for (let at = 0; at < numbers.length; at += columns) {
    const cells = numbers.slice(at, at + columns).map((one, n) => made("td", {}, mask && !mask[at + n] ? `(${told(one)})` : told(one)));
    lines.push(made("tr", {}, ...cells));
  }
  return made("div", { className: "step-scroll", tabIndex: 0 }, made("table", {}, made("tbody", {}, ...lines)));
}

// The page

const READ = `
<p>A step is a line that has been executed. ● marks the names that it has changed, ▶ the line.</p>
<p>In a block, orange is above zero and blue below; the deeper, the larger. Hatched lanes were masked, and their numbers
stand in brackets; ∞, −∞ and × (not a number) are signs of their own. Of true and false, true is filled.</p>
<p>In a tensor, blue is loaded by this line and orange hatching is stored; what is pale was touched before.
A frame is the element that came out wrong.</p>
<p>Keys: → and ← step, Shift with them goes to the next iteration or the last one, S to the next store, Home and End.
A click on a line goes to its next turn.</p>`;

class Stepper {
  #at = 0;
  #timer = 0;

  constructor(root, data) {
    this.data = data;
    this.launches = data.launches.map((one) => new Launch(one));
    this.other = data.beside && new Launch(data.beside.launches[0]);
    const button = (name, act, title) => made("button", { type: "button", title, onclick: act }, name);
    this.launch = made("select", { ariaLabel: "Kernel", onchange: () => this.#open(Number(this.launch.value)) });
    this.launch.append(...this.launches.map((one, n) => made("option", { value: n }, one.kernel)));
    this.program = made("select", { ariaLabel: "Program", onchange: () => this.#choose(Number(this.program.value)) });
    this.both = made("input", { type: "checkbox", onchange: () => this.#open(0) });
    this.slider = made("input", { type: "range", min: 1, ariaLabel: "Step", oninput: () => this.#show(this.first + Number(this.slider.value) - 1) });
    this.count = made("span", { className: "step-count" });
    this.play = button("Play", () => this.#toggle(), "Step by itself");
    this.said = made("p", { className: "step-said", role: "status" });
    this.panes = made("div", { className: "step-panes" });
    const choices = made("div", { className: "step-choices" });
    if (this.launches.length > 1) choices.append(this.launch);
    if (data.launches.some((one) => Object.keys(one.programs).length > 1)) choices.append(this.program);
    if (this.other) choices.append(made("label", {}, this.both, ` beside ${data.beside.puzzle}`));
    const bar = made("div", { className: "step-bar" },
      button("◀", () => this.#move(-1), "Back (←)"), button("Step ▶", () => this.#move(1), "Step (→)"),
      button("Next iteration", () => this.#seek(1, (one) => one.enters), "Next iteration (Shift →)"),
      button("Next store", () => this.#seek(1, (one) => one.stores), "Next store (S)"), this.play, this.slider, this.count);
    const help = made("details", { className: "step-help" }, made("summary", {}, "How to read this"));
    help.insertAdjacentHTML("beforeend", READ);
    const head = made("p", { className: "step-head" }, made("b", {}, `${data.puzzle}: ${data.title}`), ` ${data.outcome}`);
    this.root = made("div", { className: "step", tabIndex: 0, role: "application", ariaLabel: `Stepping through ${data.puzzle}` }, head, choices, bar, this.said, this.panes, help);
    this.root.addEventListener("keydown", (event) => this.#key(event));
    root.replaceChildren(this.root);
    this.#open(data.first);
    const again = () => this.#show(this.#at); // what is drawn has the colour of the text
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
    new MutationObserver(again).observe(document.body, { attributeFilter: ["data-theme"] });
  }

  get #one() {
    return this.launches[Number(this.launch.value) || 0];
  }

  /** Another launch, or two beside one another. */
  #open(number) {
    this.launch.value = number;
    const launch = this.#one, both = this.both.checked;
    const turn = (line) => this.#seek(1, (one) => one.line === line) || this.#seek(1, (one) => one.line === line, this.first - 1);
    this.shown = [launch, ...(both ? [this.other] : [])].map((one) => new Pane(one, one === launch ? turn : () => {}));
    this.panes.replaceChildren(...this.shown.map((pane) => pane.element));
    this.root.classList.toggle("step-both", both);
    this.program.replaceChildren(...Object.entries(launch.programs).map(([n, name]) => made("option", { value: n }, name)));
    this.program.disabled = both;
    if (both) this.#between(0, launch.all.length - 1, 0);
    else this.#choose(launch.all[launch.start].program, launch.start);
  }

  #choose(program, at) {
    this.program.value = program;
    const [first, last] = this.#one.range(program);
    this.#between(first, last, at ?? first);
  }

  #between(first, last, at) {
    this.first = first;
    this.last = last;
    this.slider.max = last - first + 1;
    this.#show(at);
  }

  #show(at) {
    this.#at = Math.min(this.last, Math.max(this.first, at));
    const launch = this.#one, step = launch.all[this.#at], words = launch.said(this.#at);
    this.slider.value = this.#at - this.first + 1;
    this.slider.setAttribute("aria-valuetext", words);
    this.count.textContent = `${this.#at - this.first + 1} of ${this.last - this.first + 1}${launch.whole ? "" : ", where the recording ends"}`;
    this.said.textContent = words;
    this.shown[0].show(this.#at, this.first);
    if (this.shown[1]) this.shown[1].show(this.#partner(step.tiles), 0);
  }

  /** The step of the other launch that is as many tiles on. */
  #partner(tiles) {
    const steps = this.other.all, after = steps.findIndex((one) => one.tiles > tiles);
    return after < 0 ? (tiles > steps.at(-1).tiles || this.#at === this.last ? steps.length - 1 : steps.findLastIndex((one) => one.tiles === tiles)) : Math.max(0, after - 1);
  }

  #move(by) {
    this.#show(this.#at + by);
  }

  /** Go to the next step, or the last one, of which something holds; whether there is one. */
  #seek(by, holds, from = this.#at) {
    for (let at = from + by; at >= this.first && at <= this.last; at += by) {
      if (holds(this.#one.all[at])) return this.#show(at), true;
    }
    return false;
  }

  #toggle() {
    clearInterval(this.#timer);
    const stops = this.#timer !== 0;
    this.#timer = stops ? 0 : setInterval(() => (this.#at < this.last ? this.#move(1) : this.#toggle()), PAUSE);
    this.play.textContent = stops ? "Play" : "Pause";
    if (!stops && this.#at === this.last) this.#show(this.first);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const iteration = (one) => one.enters;
    const acts = {
      ArrowRight: () => (event.shiftKey ? this.#seek(1, iteration) : this.#move(1)),
      ArrowLeft: () => (event.shiftKey ? this.#seek(-1, iteration) : this.#move(-1)),
      s: () => this.#seek(1, (one) => one.stores),
      Home: () => this.#show(this.first),
      End: () => this.#show(this.last),
    };
    const act = acts[event.key] ?? acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  }
}

/** Put a stepper into an element. */
export function stepper(root, data) {
  return new Stepper(root, data);
}
