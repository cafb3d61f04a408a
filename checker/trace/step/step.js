/* The page that steps through launches of a kernel, forwards and backwards: its lines, what its names hold, what it
 * touches. launch.js says what the data are. */

import { heatMap, indexed, inWords, made, table, told, touchMap } from "./draw.js";
import { Launch } from "./launch.js";
import { t } from "./said.js";

const PAUSE = 450; // milliseconds between steps that go by themselves
const TRAIL = 5; // earlier values of a number that are shown

/** A launch as it is drawn: its lines, its names and its tensors. */
class Pane {
  #unfolded = new Set(); // names whose numbers are shown
  #lines = new Map();

  constructor(launch, goTo) {
    this.launch = launch;
    this.code = made("pre", { className: "step-code", tabIndex: 0, ariaLabel: t("The lines of {kernel}", { kernel: launch.kernel }) });
    const ran = new Set(launch.all.map((one) => one.line));
    for (const [line, shown, text] of launch.code) {
      const never = line in launch.statements && !ran.has(line);
      const one = made("span", { className: `step-line${never ? " step-never" : ""}`, style: `--in: ${text.search(/\S|$/)}`, title: never ? t("never executed here") : "" }, made("span", { className: "step-number" }, String(shown)), text || " ");
      one.addEventListener("click", () => goTo(line));
      this.#lines.set(line, one);
      this.code.append(one);
    }
    this.bytes = made("p", { className: "step-bytes" });
    this.names = made("div", { className: "step-names" });
    this.tensors = made("div", { className: "step-tensors" });
    const about = made("p", { className: "step-about" }, made("b", {}, launch.kernel), t(" with {case}", { case: launch.case }));
    const left = made("div", { className: "step-left" }, this.code);
    if (launch.all.some(({ accesses }) => accesses.length)) left.append(made("div", { className: "step-memory", tabIndex: 0 }, this.bytes, this.tensors)); // of PyTorch nothing is known
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
    const [loaded, stored] = [step.loaded - start.loaded, step.stored - start.stored].map((bytes) => bytes.toLocaleString("en"));
    this.bytes.textContent = t("So far {loaded} bytes loaded, {stored} stored.", { loaded, stored });
    const [, used] = launch.statements[step.line] ?? ["", []], names = [...launch.names(n)];
    const values = step.accesses.filter(({ store, value }) => store && value >= 0).map(({ tensor, mask, value }) => {
      const name = t("what is stored in {tensor}", { tensor: launch.tensors[tensor]?.name ?? t("no tensor") });
      const wrong = launch.wrong?.step === n && launch.wrong.tensor === tensor && launch.wrong.both.length ? launch.wrong : undefined;
      return [name, { value: launch.values[value], mask: mask >= 0 ? launch.values[mask][2] : undefined, fresh: true, trail: [], wrong }];
    });
    const cards = (these) => made("div", { className: "step-cards" }, ...these.map(([name, held]) => this.#card(name, held, ink)));
    const here = names.filter(([name, { fresh, right }]) => used.includes(name) || fresh || (right?.here && right.value));
    here.sort(([, one], [, other]) => other.fresh - one.fresh);
    const rest = names.filter((one) => !here.includes(one)), argued = ([, { line }]) => line === launch.begin(n);
    rest.sort((one, other) => argued(one) - argued(other)); // and else each keeps its place
    const kept = document.activeElement?.closest?.("details")?.dataset.name;
    this.names.replaceChildren(cards([...values, ...here]), ...(rest.length ? [this.#folded("", t("Other names"), () => [cards(rest)])] : []));
    const again = [...this.names.querySelectorAll("details")].find((one) => one.dataset.name === kept)?.firstChild;
    if (kept !== undefined) (again ?? this.element.closest(".step")).focus({ preventScroll: true });
    const before = launch.touched(from, n);
    this.tensors.replaceChildren(...launch.tensors.map((tensor, at) => {
      const own = step.accesses.filter((one) => one.tensor === at);
      const wrong = launch.wrong?.tensor === at ? launch.wrong.element : undefined;
      const words = own.length ? (own.some((one) => one.store) ? t(" ◂ stored") : t(" ◂ loaded")) : "";
      const form = `${tensor.shape.join(" × ")} ${tensor.type}`;
      return made("figure", {}, made("figcaption", {}, made("b", {}, tensor.name + words), ` ${form}`), touchMap(tensor, before[at], own, wrong, ink));
    }));
  }

  /** What is shown on demand, and stays so from step to step. */
  #folded(name, summary, parts) {
    const folded = made("details", { open: this.#unfolded.has(name) }, made("summary", {}, summary));
    folded.dataset.name = name;
    const fill = () => folded.open && folded.children.length < 2 && folded.append(...parts());
    folded.addEventListener("toggle", () => {
      this.#unfolded[folded.open ? "add" : "delete"](name);
      fill();
    });
    fill();
    return folded;
  }

  #card(name, { value, mask, fresh, old, trail, right, wrong }, ink) {
    const [, shape, numbers] = value, words = inWords(value, this.launch.tensors);
    const card = made("div", { className: `step-card${fresh ? " step-fresh" : ""}` });
    card.dataset.name = name;
    card.append(made("div", {}, made("b", {}, `${fresh ? "● " : ""}${name}`), ` ${words}`));
    if (right) card.append(made("div", { className: right.value ? "step-right" : "step-were" }, inSolution(name, value, right)));
    if (wrong) card.append(made("div", { className: "step-right" }, compared(wrong.name, ...wrong.both)));
    const were = trail.length > 1 ? t("before: {values}", { values: trail.slice(-1 - TRAIL, -1).map(told).join(", ") }) : "";
    const about = [were, old ? t("from the last iteration") : ""].filter(Boolean).join(t("; "));
    if (about) card.append(made("div", { className: "step-were" }, about));
    if (!shape.length || !numbers?.length) return card;
    const both = right?.value ? [[t("yours"), value, right.value], [t("the solution's"), right.value, value]] : [["", value]];
    const maps = both.map(([whose, one, other]) => {
      const about = `${[name, whose].filter(Boolean).join(", ")}: ${inWords(one, this.launch.tensors)}`;
      return made("figure", {}, made("figcaption", {}, whose), heatMap(name, one, mask, ink, about, other?.[2], right?.first));
    });
    const tables = () => both.flatMap(([whose, one]) => [whose, table(one, mask)]);
    card.append(made("div", { className: "step-maps" }, ...maps), this.#folded(name, t("numbers"), tables));
    return card;
  }
}

/** What a name holds in the solution, in words. */
function inSolution(name, [, shape, numbers], { value, first }) {
  if (!value) return t("the solution has the same");
  if (!shape.length) return t("the solution has {right}", { right: told(value[2][0]) });
  return compared(name + indexed(first, shape), numbers[first], value[2][first]);
}

function compared(element, yours, right) {
  return t("{element} is {yours}; the solution has {right}", { element, yours: told(yours), right: told(right) });
}

const READ = [
  t("You see how things are after the line that is marked with ▶. ● marks what it has changed. The cards of the names in this line come first."),
  t("In a block, orange is above zero and blue below; the deeper, the larger, of this block. Where the solution's block is known and differs, it is next to yours in the same colours, and the first number that differs has a frame. Hatched lanes were masked, and their numbers stand in brackets; ∞, −∞ and × (not a number) are signs of their own. Of true and false (int1), true is filled. Point at a cell to see its index and its number."),
  t("In a tensor, blue is loaded by this line and orange hatching is stored; what is pale was touched before. A frame is the first element that came out wrong."),
  t("Keys: → and ← step, Shift with them goes to the next iteration or the one before, S to the next store, Home and End. A click on a line goes to the next time that it is executed."),
];

class Stepper {
  #at = 0;
  #timer = 0;
  #left = new Map(); // where each program was left
  #pointed = false; // whether a choice was made with the mouse: then the keys are for steps again

  constructor(root, data) {
    this.data = data;
    this.launches = data.launches.map((one) => new Launch(one));
    const button = (name, act, title) => made("button", { type: "button", title, onclick: act }, name);
    this.launch = made("select", { ariaLabel: t("Kernel"), onchange: () => this.#open(Number(this.launch.value)) });
    this.launch.append(...this.launches.map((one, n) => made("option", { value: n }, `${one.kernel}${one.wrong || one.stopped ? " ✗" : ""}`)));
    this.program = made("select", { ariaLabel: t("Program"), onchange: () => this.#choose(Number(this.program.value)) });
    for (const one of [this.launch, this.program]) {
      one.addEventListener("pointerdown", () => (this.#pointed = true));
      one.addEventListener("keydown", () => (this.#pointed = false));
      one.addEventListener("change", () => this.#pointed && this.root.focus({ preventScroll: true }));
    }
    this.slider = made("input", { type: "range", min: 1, ariaLabel: t("Step"), oninput: () => this.#halt().#show(this.first + Number(this.slider.value) - 1) });
    this.count = made("span", { className: "step-count" });
    this.play = button(t("Play"), () => this.#toggle(), t("Step by itself"));
    this.said = made("p", { className: "step-said", role: "status" });
    const choices = made("div", { className: "step-choices" });
    if (this.launches.length > 1) choices.append(this.launch);
    if (data.launches.some((one) => Object.keys(one.programs).length > 1)) choices.append(this.program);
    this.few = made("span");
    choices.append(this.few);
    const { wrong, differs } = this.launches[data.first];
    const begin = () => this.#open(data.first, true);
    if (differs) choices.append(button(t("To the mistake"), begin));
    if (wrong?.stored) choices.append(button(t("To the wrong store"), () => (begin(), this.#show(wrong.step))));
    this.back = button("◀", () => this.#halt().#move(-1), t("Back (←)"));
    this.ahead = button(t("Step ▶"), () => this.#halt().#move(1), t("Step (→)"));
    this.back.ariaLabel = t("Back (←)"); // a sign alone is not read
    const iteration = button(t("Next iteration"), () => this.#halt().#seek(1, (one) => one.enters), t("Next iteration (Shift →)"));
    const store = button(t("Next store"), () => this.#halt().#seek(1, (one) => one.stores), t("Next store (S)"));
    this.toIteration = iteration;
    this.toStore = store;
    const keys = made("div", { className: "step-keys" }, this.back, this.ahead, iteration, store, this.play, this.slider, this.count);
    const bar = made("div", { className: "step-bar" }, keys, this.said);
    choices.append(made("details", { className: "step-help" }, made("summary", {}, t("How to read this")), ...READ.map((words) => made("p", {}, words))));
    const head = made("p", { className: "step-head" }, made("b", {}, t("{puzzle}: {title}", data)), ` ${data.outcome}`);
    if (data.example) head.append(made("span", { className: "step-example" }, data.example));
    this.root = made("div", { className: "step", tabIndex: 0, role: "application", ariaLabel: t("Stepping through {puzzle}", { puzzle: data.puzzle }) }, head, choices, bar);
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

  /** Show another launch. */
  #open(number, fromStart = false) {
    this.#halt();
    if (fromStart) this.#left.clear();
    this.launch.value = number;
    const launch = this.#one;
    const turn = (line) => this.#seek(1, (one) => one.line === line) || this.#seek(1, (one) => one.line === line, this.first - 1);
    this.pane?.element.remove();
    this.pane = new Pane(launch, turn);
    this.root.append(this.pane.element);
    this.program.replaceChildren(...Object.entries(launch.programs).map(([n, name]) => made("option", { value: n }, name)));
    const shown = Object.keys(launch.programs).length;
    this.few.textContent = shown < launch.count ? t("{shown} of {count} programs", { shown, count: launch.count }) : "";
    this.#choose(launch.all[launch.start].program);
  }

  #choose(program) {
    this.#halt();
    this.program.value = program;
    const launch = this.#one, [first, last] = launch.range(program);
    const start = launch.start >= first && launch.start <= last ? launch.start : first;
    Object.assign(this, { first, last });
    this.slider.max = last - first + 1;
    this.#show(this.#left.get(`${launch.kernel} ${program}`) ?? start);
  }

  #show(at) {
    this.#at = Math.min(this.last, Math.max(this.first, at));
    const launch = this.#one, step = launch.all[this.#at], words = launch.said(this.#at);
    this.#left.set(`${launch.kernel} ${step.program}`, this.#at);
    const rest = launch.all.slice(this.#at + 1, this.last + 1);
    for (const [one, can] of [[this.back, this.#at > this.first], [this.ahead, rest.length], [this.toIteration, rest.some((next) => next.enters)], [this.toStore, rest.some((next) => next.stores)]]) {
      one.ariaDisabled = !can; // and not `disabled`, which would lose the focus
    }
    this.slider.value = this.#at - this.first + 1;
    this.slider.setAttribute("aria-valuetext", words);
    const of = { n: this.#at - this.first + 1, all: this.last - this.first + 1 };
    this.count.textContent = launch.whole ? t("{n} of {all}", of) : t("{n} of {all}, where the recording ends", of);
    this.said.textContent = words;
    this.pane.show(this.#at, this.first);
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
    this.play.textContent = t("Play");
    return this;
  }

  #toggle() {
    if (this.#timer) return this.#halt();
    if (this.#at === this.last) this.#show(this.first);
    this.#timer = setInterval(() => (this.#at < this.last ? this.#move(1) : this.#halt()), PAUSE);
    this.play.textContent = t("Pause");
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
