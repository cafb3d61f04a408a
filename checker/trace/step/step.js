/* Steps through launches of a kernel, forwards and backwards: its lines, what its names hold, what it touches.
 *
 * The data, all of it made by stepped.py:
 *   puzzle, title, outcome, example: a wrong element in words, or null; first: the launch that is shown first
 *   beside: the same for another puzzle, or null
 *   launches: [{
 *     kernel, case, stopped: why it ended early, or null; whole: whether all steps are there
 *     code: [[line, line as it is shown, text]], loops: [[first line, last line]]
 *     statements: { line: [text, names in it, first line of what it holds, or null] }
 *     tensors: [{ name, shape, type, bytes of an element }], programs: { number: name }, count: of all programs
 *     values: [[type, shape, numbers or null, tensor that pointers point into, or -1]]
 *     steps: [[program, line, function, depth, [[name, value]], [[tensor, [[first, count]], whether stored, mask, value]]]]
 *     start: the step that is shown first; wrong: { tensor, element, name } that came out wrong, if one did
 *   }]
 * A step has ended: the values are those after its line. A mask is a value, or -1 where all lanes are active; of a
 * store, the value is what is stored.
 */

const SKY = [86, 180, 233], BLUE = [0, 114, 178], ORANGE = [213, 94, 0]; // of Okabe and Ito
const PAUSE = 450; // milliseconds between steps that go by themselves
const WIDE = 256, HIGH = 176; // pixels that a block may have
const WRAP = 64; // numbers in a line of a long row
const TRAIL = 5; // earlier values of a number that are shown

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
  const times = (sign) => numbers.filter((one) => one === sign).length;
  const odd = ["nan", "-inf", "inf"].filter(times).map((sign) => (times(sign) === numbers.length ? `all ${told(sign)}` : `${times(sign)} ${told(sign)}`));
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity), high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const span = !finite.length ? [] : [low < high ? `${told(low)} to ${told(high)}` : odd.length ? told(low) : `all ${told(low)}`];
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
  const under = ({ offsetX, offsetY }) => Math.min(rows - 1, Math.floor(offsetY / high)) * columns + Math.min(columns - 1, Math.floor(offsetX / wide));
  return { canvas, pen, at, under, columns, wide, high };
}

/** The index of an element: [2, 7]. */
function indexed(n, shape) {
  const index = [];
  for (const side of [...shape].reverse()) {
    index.unshift(n % side);
    n = Math.floor(n / side);
  }
  return `[${index.join(", ")}]`;
}

/** A frame that is seen on any colour, and stays inside. */
function frame(pen, [x, y, w, h], ink) {
  const side = (own, least) => Math.max(own, least);
  for (const [colour, width] of [["white", 4], [ink === "rgb(255, 255, 255)" ? "black" : ink, 2]]) {
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.strokeRect(Math.max(2, x), Math.max(2, y), side(w, 7) - 2, side(h, 7) - 2);
  }
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
function heatMap(name, value, mask, ink, about) {
  const [type, shape, numbers, tensor] = value;
  const { canvas, pen, at, under, wide, high } = sheet(shape, about);
  canvas.onmousemove = (event) => {
    const n = under(event);
    canvas.title = n < numbers.length ? `${name}${indexed(n, shape)} = ${told(numbers[n])}${mask && !mask[n] ? ", masked" : ""}` : "";
  };
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
    pen.fillStyle = flag ? ink : !one ? paint([128, 128, 128], 0.25) : paint(one < 0 ? BLUE : tensor >= 0 ? SKY : ORANGE, 0.08 + (0.87 * Math.abs(one)) / most);
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
  const { canvas, pen, at, under, columns } = sheet(tensor.shape, about);
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
    frame(pen, at(wrong), ink);
  }
  canvas.onmousemove = (event) => (canvas.title = `${tensor.name}${indexed(under(event), tensor.shape)}`);
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
      accesses: accesses.map(([tensor, runs, store, mask, value]) => ({ tensor, runs, store, mask, value })),
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

  /** What each name of the function holds after a step, by name: { value, mask, fresh, old, trail }.
   *
   * `old`: it is of an iteration that is over. `trail`: of a number, what it was before. */
  names(n) {
    const { program, depth, name } = this.all[n], found = new Map();
    let begin = n;
    while (begin > 0 && this.all[begin - 1].program === program && this.all[begin - 1].depth >= depth) begin--;
    for (let at = begin; at <= n; at++) {
      const step = this.all[at];
      if (step.depth !== depth || step.name !== name) continue;
      const [first, last] = (step.enters && this.loops.find(([head]) => head === step.line)) || [0, 0];
      for (const held of found.values()) held.old ||= held.line > first && held.line <= last;
      for (const [one, place] of step.changed) {
        const value = this.values[place];
        const load = step.accesses.find(({ store, mask }) => !store && mask >= 0 && String(this.values[mask][1]) === String(value[1]));
        const trail = value[1].length ? [] : [...(found.get(one)?.trail ?? []), value[2]?.[0]];
        found.set(one, { value, mask: load && this.values[load.mask][2], fresh: at === n, old: false, line: step.line, trail });
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

  /** The first line of the function that a step is in. */
  begin(n) {
    return this.all.slice(0, n + 1).findLast((one) => one.begins && one.name === this.all[n].name)?.line;
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
    if (step.begins) return `Line ${shown}: ${step.name} begins.${last}`;
    const came = [...accesses, ...names, ...this.#turn(n)].join("; ");
    return `Line ${shown}: ${text}${came && ` → ${came}.`}${last}`;
  }

  /** What became of the head of an `if` or of a loop. */
  #turn(n) {
    const step = this.all[n], [text, , inner] = this.statements[step.line] ?? [""];
    const next = this.all.slice(n + 1).find((one) => one.depth <= step.depth);
    if (/^(for|while)\b/.test(text)) return step.enters ? [] : ["the loop ends"];
    return inner ? [`this is ${next?.line === inner}`] : [];
  }
}

/** A launch as it is drawn: its lines, its names and its tensors. */
class Pane {
  #unfolded = new Set(); // names whose numbers are shown
  #lines = new Map();

  constructor(launch, goTo) {
    this.launch = launch;
    this.code = made("pre", { className: "step-code", tabIndex: 0, ariaLabel: `The lines of ${launch.kernel}` });
    const ran = new Set(launch.all.map((one) => one.line));
    for (const [line, shown, text] of launch.code) {
      const never = line in launch.statements && !ran.has(line);
      const one = made("span", { className: `step-line${never ? " step-never" : ""}`, title: never ? "never executed here" : "" }, made("span", { className: "step-number" }, String(shown)), text || " ");
      one.addEventListener("click", () => goTo(line));
      this.#lines.set(line, one);
      this.code.append(one);
    }
    this.bytes = made("p", { className: "step-bytes" });
    this.names = made("div", { className: "step-names" });
    this.tensors = made("div", { className: "step-tensors" });
    const about = made("p", { className: "step-about" }, made("b", {}, launch.kernel), ` with ${launch.case}`);
    const left = made("div", { className: "step-left" }, this.code);
    if (launch.all.some(({ accesses }) => accesses.length)) left.append(made("div", { className: "step-memory" }, this.bytes, this.tensors)); // of PyTorch nothing is known
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
    const stored = step.accesses.filter(({ store, value }) => store && value >= 0).map(({ tensor, mask, value }) => {
      const name = `what is stored in ${launch.tensors[tensor]?.name ?? "no tensor"}`;
      return [name, { value: launch.values[value], mask: mask >= 0 ? launch.values[mask][2] : undefined, fresh: true, trail: [] }];
    });
    const cards = (these) => made("div", { className: "step-cards" }, ...these.map(([name, held]) => this.#card(name, held, ink)));
    const here = names.filter(([name, { fresh }]) => used.includes(name) || (fresh && !step.begins));
    here.sort(([, one], [, other]) => other.fresh - one.fresh);
    const [argued, others] = [[], []]; // what stands in no line keeps its place
    for (const one of names) if (!here.includes(one)) (one[1].line === launch.begin(n) && !step.begins ? argued : others).push(one);
    const parts = [cards([...stored, ...here])];
    if (others.length) parts.push(made("p", { className: "step-rest" }, "Not in this line"), cards(others));
    if (argued.length) {
      const folded = made("details", { className: "step-rest", open: this.#unfolded.has("") }, made("summary", {}, "Arguments"), cards(argued));
      folded.addEventListener("toggle", ({ target }) => target === folded && this.#unfolded[folded.open ? "add" : "delete"](""));
      parts.push(folded);
    }
    const kept = document.activeElement?.closest?.(".step-card")?.dataset.name;
    this.names.replaceChildren(...parts);
    if (kept) [...this.names.querySelectorAll(".step-card")].find((one) => one.dataset.name === kept)?.querySelector("summary")?.focus({ preventScroll: true });
    const before = launch.touched(from, n);
    this.tensors.replaceChildren(...launch.tensors.map((tensor, t) => {
      const own = step.accesses.filter((one) => one.tensor === t);
      const wrong = launch.wrong?.tensor === t ? launch.wrong.element : undefined;
      const words = own.length ? (own.some((one) => one.store) ? " ◂ stored" : " ◂ loaded") : "";
      const form = `${tensor.shape.join(" × ")} ${tensor.type}`;
      return made("figure", {}, made("figcaption", {}, made("b", {}, tensor.name + words), ` ${form}`), touchMap(tensor, before[t], own, wrong, ink));
    }));
  }

  #card(name, { value, mask, fresh, old, trail }, ink) {
    const [, shape, numbers] = value, words = inWords(value, this.launch.tensors);
    const card = made("div", { className: `step-card${fresh ? " step-fresh" : ""}` });
    card.dataset.name = name;
    card.append(made("div", {}, made("b", {}, `${fresh ? "● " : ""}${name}`), ` ${words}`));
    const were = trail.length > 1 ? `before: ${trail.slice(-1 - TRAIL, -1).map(told).join(", ")}` : "";
    const about = [were, old ? "from the last iteration" : ""].filter(Boolean).join("; ");
    if (about) card.append(made("div", { className: "step-were" }, about));
    if (!shape.length || !numbers?.length) return card;
    card.append(heatMap(name, value, mask, ink, `${name}: ${words}`));
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
  const lines = [], columns = Math.min(grid(shape).columns, shape.length > 1 ? Infinity : 16);
  for (let at = 0; at < numbers.length; at += columns) {
    const cells = numbers.slice(at, at + columns).map((one, n) => made("td", {}, mask && !mask[at + n] ? `(${told(one)})` : told(one)));
    lines.push(made("tr", {}, ...cells));
  }
  return made("div", { className: "step-scroll", tabIndex: 0 }, made("table", {}, made("tbody", {}, ...lines)));
}

// The page

const READ = `
<p>You see how things are after the line that is marked with ▶. ● marks what it has changed. The cards of the names in this
line come first.</p>
<p>In a block, orange is above zero and blue below; the deeper, the larger, of this block. Hatched lanes were masked, and their
numbers stand in brackets; ∞, −∞ and × (not a number) are signs of their own. Of true and false (int1), true is filled. Point at a
cell to see its index and its number.</p>
<p>In a tensor, blue is loaded by this line and orange hatching is stored; what is pale was touched before. A frame is the first
element that came out wrong.</p>
<p>Keys: → and ← step, Shift with them goes to the next iteration or the one before, S to the next store, Home and End. A click on a
line goes to the next time that it is executed.</p>`;

class Stepper {
  #at = 0;
  #timer = 0;
  #left = new Map(); // where each program was left
  #pointed = false; // whether a choice was made with the mouse: then the keys are for steps again

  constructor(root, data) {
    this.data = data;
    this.launches = data.launches.map((one) => new Launch(one));
    this.other = data.beside && new Launch(data.beside.launches[0]);
    const button = (name, act, title) => made("button", { type: "button", title, onclick: act }, name);
    this.launch = made("select", { ariaLabel: "Kernel", onchange: () => this.#open(Number(this.launch.value)) });
    this.launch.append(...this.launches.map((one, n) => made("option", { value: n }, `${one.kernel}${one.wrong || one.stopped ? " ✗" : ""}`)));
    this.program = made("select", { ariaLabel: "Program", onchange: () => this.#choose(Number(this.program.value)) });
    for (const one of [this.launch, this.program]) {
      one.addEventListener("pointerdown", () => (this.#pointed = true));
      one.addEventListener("keydown", () => (this.#pointed = false));
      one.addEventListener("change", () => this.#pointed && this.root.focus({ preventScroll: true }));
    }
    this.both = made("input", { type: "checkbox", onchange: () => this.#open(0) });
    this.slider = made("input", { type: "range", min: 1, ariaLabel: "Step", oninput: () => this.#halt().#show(this.first + Number(this.slider.value) - 1) });
    this.count = made("span", { className: "step-count" });
    this.play = button("Play", () => this.#toggle(), "Step by itself");
    this.said = made("p", { className: "step-said", role: "status" });
    this.panes = made("div", { className: "step-panes" });
    const choices = made("div", { className: "step-choices" });
    if (this.launches.length > 1) choices.append(this.launch);
    if (data.launches.some((one) => Object.keys(one.programs).length > 1)) choices.append(this.program);
    this.few = made("span");
    choices.append(this.few);
    if (this.launches.some((one) => one.wrong)) choices.append(button("To the wrong store", () => this.#open(data.first, true)));
    if (this.other) choices.append(made("label", {}, this.both, ` beside ${data.beside.puzzle}`));
    this.back = button("◀", () => this.#halt().#move(-1), "Back (←)");
    this.ahead = button("Step ▶", () => this.#halt().#move(1), "Step (→)");
    const iteration = button("Next iteration", () => this.#halt().#seek(1, (one) => one.enters), "Next iteration (Shift →)");
    const store = button("Next store", () => this.#halt().#seek(1, (one) => one.stores), "Next store (S)");
    this.toIteration = iteration;
    this.toStore = store;
    const keys = made("div", { className: "step-keys" }, this.back, this.ahead, iteration, store, this.play, this.slider, this.count);
    const bar = made("div", { className: "step-bar" }, keys, this.said);
    const help = made("details", { className: "step-help" }, made("summary", {}, "How to read this"));
    help.insertAdjacentHTML("beforeend", READ);
    const head = made("p", { className: "step-head" }, made("b", {}, `${data.puzzle}: ${data.title}`), ` ${data.outcome}`);
    if (data.example) head.append(made("span", { className: "step-example" }, data.example));
    this.root = made("div", { className: "step", tabIndex: 0, role: "application", ariaLabel: `Stepping through ${data.puzzle}` }, head, help, choices, bar, this.panes);
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
  #open(number, fromStart = false) {
    this.#halt();
    if (fromStart) this.#left.clear();
    this.launch.value = number;
    const launch = this.#one, both = this.both.checked;
    const turn = (line) => this.#seek(1, (one) => one.line === line) || this.#seek(1, (one) => one.line === line, this.first - 1);
    this.shown = [launch, ...(both ? [this.other] : [])].map((one) => new Pane(one, one === launch ? turn : () => {}));
    this.panes.replaceChildren(...this.shown.map((pane) => pane.element));
    this.root.classList.toggle("step-both", both);
    this.program.replaceChildren(...Object.entries(launch.programs).map(([n, name]) => made("option", { value: n }, name)));
    this.program.disabled = both;
    const shown = Object.keys(launch.programs).length;
    this.few.textContent = shown < launch.count ? `${shown} of ${launch.count} programs` : "";
    if (both) this.#between(0, launch.all.length - 1, 0);
    else this.#choose(launch.all[launch.start].program);
  }

  #choose(program) {
    this.#halt();
    this.program.value = program;
    const launch = this.#one, [first, last] = launch.range(program);
    const start = launch.start >= first && launch.start <= last ? launch.start : first;
    this.#between(first, last, this.#left.get(`${launch.kernel} ${program}`) ?? start);
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
    if (!this.shown[1]) this.#left.set(`${launch.kernel} ${step.program}`, this.#at);
    const rest = launch.all.slice(this.#at + 1, this.last + 1);
    for (const [one, can] of [[this.back, this.#at > this.first], [this.ahead, rest.length], [this.toIteration, rest.some((next) => next.enters)], [this.toStore, rest.some((next) => next.stores)]]) {
      one.ariaDisabled = !can; // and not `disabled`, which would lose the focus
    }
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

  /** No longer by itself. */
  #halt() {
    clearInterval(this.#timer);
    this.#timer = 0;
    this.play.textContent = "Play";
    return this;
  }

  #toggle() {
    if (this.#timer) return this.#halt();
    if (this.#at === this.last) this.#show(this.first);
    this.#timer = setInterval(() => (this.#at < this.last ? this.#move(1) : this.#halt()), PAUSE);
    this.play.textContent = "Pause";
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.("select, .step-scroll")) return;
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
    this.#halt();
    act();
  }
}

/** Put a stepper into an element. */
export function stepper(root, data) {
  return new Stepper(root, data);
}
