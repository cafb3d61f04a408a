/* The workbench of a puzzle: its editor, its buttons, and what the judge says. */

import { Bugs } from "./bugs.js";
import { Cells } from "./cells.js";
import { divide } from "./divide.js";
import { made } from "./draw.js";
import { editor } from "./editor.js";
import { Files } from "./files.js";
import { Judge, Unavailable } from "./judge.js";
import { t } from "./said.js";
import { stepper } from "./step.js";
import { draft, drafts, keep, kept, onOtherDraft, onProgress, progress, saveDraft, saveProgress, solved } from "./store.js";

const SAID = { "not-started": t("Nothing to check yet."), "too-busy": t("Nothing was judged.") };
const PAUSE = 300; // milliseconds without typing until the draft is saved
const LONGER = 900; // and until Python is asked whether it can read it
const LOADING = t("Loading Python …");
const SHOWN = ["told", "report", "pictures", "speed", "answers"]; // of one text of the editor

const FRAME = `
<p class="wb-up"></p>
<div class="wb-editor"></div>
<p class="wb-keys">${t("Tab indents. Escape, then Tab leaves the editor. Ctrl-Enter (⌘-Enter) checks.")}</p>
<div class="wb-notice" role="status"></div>
<div class="wb-bar">
<div class="wb-buttons">
  <button type="button" name="check" class="wb-main">${t("Check")}</button>
  <button type="button" name="stop" hidden>${t("Stop")}</button>
  <a class="wb-next wb-main" hidden></a>
  <button type="button" name="hint">${t("Hint")}</button>
  <button type="button" name="predict" aria-expanded="false">${t("Predict")}</button>
  <button type="button" name="step">${t("Step")}</button>
  <button type="button" name="trace">${t("Trace")}</button>
  <button type="button" name="speed" hidden>${t("Speed")}</button>
  <button type="button" name="bug" hidden>${t("Find a bug")}</button>
  <button type="button" name="reset">${t("Reset")}</button>
  <a class="wb-solution" hidden>${t("Solution")}</a>
  <details class="wb-files">
    <summary>${t("File")}</summary>
    <div>
      <button type="button" name="py">${t("Download .py")}</button>
      <button type="button" name="ipynb">${t("Download .ipynb")}</button>
      <button type="button" name="upload">${t("Upload a .py or .ipynb")}</button>
      <button type="button" name="all">${t("Download all your drafts")}</button>
      <button type="button" name="back">${t("Bring back all drafts")}</button>
      <input type="file" accept=".py,.ipynb" aria-label="${t("A .py or .ipynb file")}" hidden>
      <input type="file" accept=".json" aria-label="${t("A file with all drafts")}" name="drafts" hidden>
    </div>
  </details>
</div>
<p class="wb-state"><span></span> <button type="button" name="again" hidden>${t("Try again")}</button></p>
<p class="wb-said" role="status"></p>
</div>
<div class="wb-line" role="separator" tabindex="0" aria-orientation="vertical" aria-label="${t("Width of the lesson")}"></div>
<div class="wb-line" role="separator" tabindex="0" aria-orientation="horizontal" aria-label="${t("Height of the code")}"></div>
<div class="wb-below">
<form class="wb-predict" hidden><button>${t("See what your kernel does")}</button></form>
<section class="wb-told" aria-label="${t("Hint")}" hidden></section>
<section class="wb-report" aria-label="${t("Report")}" hidden></section>
<section class="wb-speed" aria-label="${t("Speed")}" hidden></section>
<section class="wb-bug" aria-label="${t("A bug to find")}" hidden></section>
<section class="wb-pictures" aria-label="${t("Trace")}" tabindex="0" hidden></section>
</div>
<dialog class="wb-step" aria-label="${t("Step")}"><form method="dialog"><button>${t("Back to the code")}</button></form><div></div></dialog>
`;

/** Start the workbench. The promise ends when Python is loaded, and throws if it cannot be. */
export function start(bench) {
  const data = JSON.parse(document.querySelector("script.workbench-data").textContent);
  bench.innerHTML = FRAME;
  return new Workbench(bench, data).loaded;
}

class Workbench {
  #edited = false; // in this tab, since it last had the same text as the others
  #saving = 0; // the timer of a draft that is not saved yet
  #undo = null; // the text before it was replaced
  #reading = 0; // the timer of a text that Python has not been shown
  #quiet = Promise.resolve(); // ends when the judge is not asked behind the learner's back

  constructor(bench, data) {
    this.bench = bench;
    this.data = data;
    this.button = (name) => bench.querySelector(`button[name=${name}]`);
    this.part = (name) => bench.querySelector(`.wb-${name}`);
    this.editor = editor(this.part("editor"), draft(data.puzzle) ?? data.stub, t("Your code for {puzzle}", data), {
      typed: () => this.#typed(),
      checks: () => this.#check(),
    });
    this.judge = new Judge(new URL("worker.js", import.meta.url), data.puzzle, data.seconds, (words) => this.#state(words));
    this.#hints();
    this.#questions();
    this.#buttons();
    this.#report();
    const run = (cells) => this.#ask("run", t("Running …"), { cells });
    this.cells = new Cells(data.cells, run);
    this.bugs = new Bugs(this.part("bug"), data.bugs, (text) => this.#ask("bug", t("Checking …"), { text }), (part) => this.#reveal(part));
    this.part("up").append(made("b", { textContent: t("{puzzle}: {title}", data) }), " · ", made("a", { href: `${data.root}index.html`, textContent: t("All puzzles") }));
    this.#inSight();
    const [beside, above] = bench.querySelectorAll(".wb-line");
    divide(beside, "lesson", 54);
    divide(above, "code", 42);
    this.#lessonScrolls();
    this.#otherTabs();
    this.loaded = new Promise((resolve, reject) => {
      const first = () => this.#load().then(resolve, reject);
      this.part("editor").addEventListener("focusin", first, { once: true });
      if ("requestIdleCallback" in window) requestIdleCallback(first, { timeout: 3000 });
      else setTimeout(first, 500); // Safari
    });
    this.loaded.catch(() => {}); // the page has said it
  }

  // What the learner has written

  #typed() {
    this.#edited = true;
    if (this.#undo !== null) this.#notice(""); // Ctrl-Z is there, too
    this.#undo = null;
    this.#outdated();
    clearTimeout(this.#saving);
    this.#saving = setTimeout(() => this.#save(), PAUSE);
    this.editor.mark([]);
    clearTimeout(this.#reading);
    this.#reading = setTimeout(() => this.#read(), LONGER);
  }

  /** Mark the line at which Python cannot go on, if there is one. */
  #read() {
    if (this.bench.ariaBusy === "true" || !this.judge.isReady) return;
    const { puzzle } = this.data, text = this.editor.text();
    const asked = this.judge.ask(() => ({ verb: "syntax", puzzle, drafts: { [puzzle]: text }, progress: progress() }));
    this.#quiet = asked.then((answer) => {
      if (answer?.line && text === this.editor.text()) this.editor.mark([{ line: answer.line, said: answer.said }]);
    }, () => {});
  }

  #save() {
    clearTimeout(this.#saving);
    this.#saving = 0;
    const text = this.editor.text();
    if (!saveDraft(this.data.puzzle, text === this.data.stub ? null : text)) {
      this.#notice(t("This browser does not keep your code. Download it before you leave this page."));
    }
  }

  /** Put another text into the editor, with a way back. */
  #replace(text, words) {
    this.#undo = this.editor.text();
    this.editor.replace(text);
    this.#outdated();
    this.#edited = true;
    this.#save();
    this.#notice(words, {
      [t("Undo")]: () => {
        this.editor.replace(this.#undo);
        this.#undo = null;
        this.#save();
        this.#notice("");
        this.editor.focus();
      },
    });
    if (document.activeElement === document.body) this.part("notice").querySelector("button").focus(); // a choice that was taken is gone
  }

  /** What is shown is of another text than the editor's. */
  #outdated() {
    this.cells?.outdated();
    for (const name of SHOWN) this.part(name).classList.add("wb-outdated");
  }

  #otherTabs() {
    addEventListener("pagehide", () => this.#saving && this.#save());
    onOtherDraft(this.data.puzzle, () => {
      const theirs = draft(this.data.puzzle) ?? this.data.stub;
      if (theirs === this.editor.text()) {
        this.#edited = false;
        this.#notice("");
      } else if (!this.#edited) {
        this.editor.replace(theirs);
      } else {
        this.#notice(t("You have changed this code in another tab, too."), {
          [t("Take the other tab’s version")]: () => {
            this.#replace(theirs, t("This is the other tab’s version."));
            this.#edited = false;
          },
          [t("Keep this one")]: () => {
            this.#save();
            this.#notice("");
            this.editor.focus();
          },
        });
      }
    });
    onProgress(() => this.#earned());
  }

  // What the page says

  #state(words) {
    this.part("state").firstElementChild.textContent = words;
  }

  #said(words) {
    this.part("said").textContent = words;
  }

  #notice(words, choices = {}) {
    const notice = this.part("notice");
    notice.textContent = words;
    for (const [name, chosen] of Object.entries(choices)) notice.append(" ", made("button", { type: "button", textContent: name, onclick: chosen }));
  }

  /** Where success leads to. */
  #earned() {
    const { puzzle, solution, following } = this.data, ahead = following.find((one) => !solved(one.puzzle)); // as checker/learner/progress.py
    const targets = { solution, next: ahead?.href };
    for (const [name, target] of Object.entries(targets)) {
      const link = this.part(name);
      link.hidden = !target || !solved(puzzle);
      if (!link.hidden) link.href = target;
    }
    if (ahead) Object.assign(this.part("next"), { textContent: t("Next: {puzzle}", ahead), title: ahead.title });
    const foot = document.querySelector("a.next-page"); // the page's own, which knows nothing of what is solved
    if (ahead && foot) {
      foot.href = ahead.href;
      foot.querySelector(".title").textContent = `${ahead.puzzle} ${ahead.title}`;
    }
    this.button("check").classList.toggle("wb-main", this.part("next").hidden);
    this.button("speed").hidden = !this.data.timed || !solved(this.data.puzzle);
    this.button("bug").hidden = !this.data.bugs.length || !solved(this.data.puzzle);
  }

  // What the judge is asked

  async #load() {
    this.button("again").hidden = true;
    if (!this.judge.isReady) this.#state(LOADING);
    try {
      await this.judge.start();
      this.#state(t("Python is ready."));
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  #failed(error) {
    if (!(error instanceof Unavailable)) throw error;
    this.#state(error.message);
    this.button("again").hidden = false;
  }

  /** The answer to a verb, whose progress is noted; null if there is none. */
  async #ask(verb, words, more = {}) {
    if (this.bench.ariaBusy === "true") return null;
    clearTimeout(this.#reading);
    this.#save();
    this.#busy(true);
    this.#said(words);
    await this.#quiet;
    const message = () => {
      const { puzzle } = this.data;
      return { ...more, verb, puzzle, drafts: { ...drafts(), [puzzle]: this.editor.text() }, progress: progress() };
    };
    try {
      if (!this.judge.isReady) this.#state(LOADING);
      const answer = await this.judge.ask(message);
      this.#said(answer ? (answer.problem ?? "") : t("Stopped."));
      if (answer?.progress) saveProgress(this.data.puzzle, answer.progress);
      this.#load().catch(() => {}); // says which worker waits now
      return answer;
    } catch (error) {
      this.#said("");
      this.#failed(error);
      return null;
    } finally {
      this.#busy(false);
    }
  }

  #busy(is) {
    this.bench.ariaBusy = is;
    if (is && this.judge.isReady) this.#state("");
    const stop = this.button("stop");
    if (!is && document.activeElement === stop) this.button("check").focus();
    stop.hidden = !is;
    for (const one of document.querySelectorAll(".run-cell button, [name=check], [name=hint], [name=step], [name=trace], [name=speed], .wb-bug button, .wb-files button, .wb-predict button")) {
      one.ariaDisabled = is; // and not `disabled`, which would lose the focus
    }
  }

  #show(name, html) {
    const part = this.part(name);
    part.hidden = !html;
    part.innerHTML = html ?? "";
    part.classList.remove("wb-outdated");
    if (html) this.#reveal(part);
  }

  /** On wide screens the lesson scrolls by itself: its keys work at once, and a reload comes back to its place. */
  #lessonScrolls() {
    const lesson = document.querySelector(".main"), place = `place:${this.data.puzzle}`;
    lesson.tabIndex = -1;
    if (document.activeElement === document.body) lesson.focus({ preventScroll: true });
    const again = performance.getEntriesByType("navigation")[0].type !== "navigate";
    if (again) lesson.scrollTop = kept(place);
    addEventListener("pagehide", () => keep(place, lesson.scrollTop));
  }

  /** Bring what was just made into sight, below the bar. */
  #reveal(part) {
    this.bench.style.setProperty("--bar", `${this.part("bar").offsetHeight}px`);
    part.scrollIntoView({ block: "start", behavior: calm() ? "auto" : "smooth" });
  }

  async #check() {
    const answer = await this.#ask("check", t("Checking …"));
    if (!answer?.html) return;
    for (const name of SHOWN) this.#show(name, "");
    this.#show("report", answer.html);
    this.editor.mark(answer.marks);
    if (answer.accepted) this.part("report").prepend(this.#card(answer));
    if (answer.marks.length) this.editor.show(answer.marks[0].line);
    if (answer.steps) {
      const onclick = () => this.#step();
      this.part("report").append(made("button", { type: "button", textContent: t("See it happen, step by step"), onclick }));
    }
    const said = answer.accepted ? t("Accepted.") : (SAID[answer.status] ?? t("Not accepted yet."));
    this.#said(said + (answer.withheld ? t(" The report is below, and Hint says more.") : t(" The report is below.")));
  }

  /** What was gained, how that compares with the course's solution, how far one is, and where to go on. */
  #card({ lines, moved, most }) {
    const { puzzle, saves, spine, lines: theirs } = this.data, done = spine.filter(solved).length, next = this.part("next");
    const row = (what, ...numbers) => made("tr", {}, made("th", { scope: "row", textContent: what }), ...numbers.map((one) => made("td", { textContent: one.toLocaleString() })));
    const heads = ["", t("yours"), t("the course’s solution")].map((textContent) => made(textContent ? "th" : "td", { textContent }));
    const card = made("div", { className: "wb-won" }, made("p", {}, made("b", { textContent: t("{puzzle} is solved.", { puzzle }) }), ` ${saves}`));
    card.append(made("table", {}, made("tr", {}, ...heads), ...(theirs ? [row(t("lines of code"), lines, theirs)] : []), row(t("elements loaded and stored"), moved, most)));
    if (spine.includes(puzzle)) card.append(made("p", {}, made("progress", { max: spine.length, value: done, ariaLabel: t("Solved") }), ` ${t("{done} of {all}", { done, all: spine.length })}`));
    if (!next.hidden) card.append(made("a", { className: "wb-main wb-go", href: next.href, textContent: `${next.textContent} ${next.title}` }));
    return card;
  }

  /** What a verb shows, in a part of its own; a report instead if the kernel hangs, or touches no memory. */
  async #seen(verb, name, words, show) {
    const answer = await this.#ask(verb, words);
    if (!answer?.html) return answer && !answer.problem && show(answer);
    this.#show(name, "");
    this.#show("report", answer.html);
    this.#said(t("There is nothing to show. The report below says why."));
  }

  #step() {
    return this.#seen("step", "step", t("Running it step by step …"), ({ step }) => {
      const dialog = this.part("step"); // fills the window: it has the code, too
      dialog.onkeydown = (event) => event.stopPropagation(); // the page would take Escape for itself
      dialog.showModal();
      stepper(dialog.lastElementChild, step).root.focus({ preventScroll: true });
    });
  }

  #trace() {
    return this.#seen("trace", "pictures", t("Drawing …"), ({ pictures }) => {
      this.#show("pictures", pictures.join(""));
      const part = this.part("pictures"), sheets = [...part.children];
      const shut = made("button", { type: "button", textContent: t("Back to the code (Escape)"), onclick: () => wide.close() });
      const wide = made("dialog", { className: "wb-wide", ariaLabel: t("Trace"), onclose: () => part.append(...sheets) }, shut);
      const onclick = () => {
        wide.append(...sheets);
        wide.showModal();
      };
      part.prepend(made("button", { type: "button", textContent: t("In full width"), onclick }), wide);
      this.#said(t("The pictures are below."));
    });
  }

  async #speed() {
    const answer = await this.#ask("bench", t("Predicting …"));
    if (!answer?.html) return;
    this.#show("speed", answer.html);
    this.#said(t("The prediction is below."));
  }

  /** A line that a report names is a link to it. */
  #report() {
    this.part("report").addEventListener("click", (event) => {
      const line = event.target.closest("a[data-line]");
      if (!line) return;
      event.preventDefault();
      this.editor.goTo(Number(line.dataset.line));
    });
  }

  /** A way to the editor, while it is out of sight. */
  #inSight() {
    const link = made("a", { className: "to-editor", href: "#your-kernel", textContent: t("To the editor") });
    this.bench.id = "your-kernel";
    document.querySelector("article").append(link);
    new IntersectionObserver(([{ isIntersecting }]) => (link.hidden = isIntersecting)).observe(this.bench);
  }

  // Hints stand in the page, hidden, as the lesson has them

  #hints() {
    this.hints = document.querySelector(".hints");
    if (this.hints) this.part("report").after(this.hints);
    else this.button("hint").hidden = true;
    for (const hint of this.hints?.children ?? []) hint.hidden = true;
  }

  async #hint() {
    const answer = await this.#ask("hint", t("Looking for a hint …"), { again: false });
    if (answer?.html) this.#show("told", answer.html);
    if (!answer?.hints) return;
    this.hints.hidden = false;
    for (const hint of this.hints.children) {
      const level = Number(hint.dataset.level);
      hint.hidden = level > answer.seen;
      if (level === answer.seen) {
        hint.open = true;
        hint.querySelector("summary").focus();
        hint.scrollIntoView({ block: "nearest" });
      }
    }
    this.#said(t("{seen} of {total} hints seen.", answer));
  }

  async #comments() {
    const answer = await this.#ask("comments", t("Looking for the comments …"));
    if (answer?.text) this.#replace(answer.text, t("This is the stub with the solution’s comments."));
  }

  // Questions whose answers are numbers of the learner's own kernel

  #questions() {
    const form = this.part("predict");
    this.button("predict").hidden = !this.data.questions.length;
    this.button("step").hidden = this.button("trace").hidden = !this.data.trace;
    for (const { name, asks } of [...this.data.questions].reverse()) {
      form.prepend(made("label", {}, made("code", { textContent: name }), t(": {asks} ", { asks }), made("input", { name, autocomplete: "off" })));
    }
    form.append(made("div", { className: "wb-answers" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#predict(form);
    });
  }

  async #predict(form) {
    const guesses = Object.fromEntries([...new FormData(form)].filter(([, guess]) => guess.trim()));
    if (!Object.keys(guesses).length) {
      this.#said(t("Write down at least one guess."));
      form.querySelector("input").focus();
      return;
    }
    const answer = await this.#ask("predict", t("Asking your kernel …"), { guesses });
    if (!answer?.html) return;
    this.#show("answers", answer.html);
    this.#said(t("The answers are below."));
  }

  // Buttons

  #buttons() {
    const form = this.part("predict");
    const actions = {
      check: () => this.#check(),
      stop: () => this.judge.stop(),
      hint: () => this.#hint(),
      step: () => this.#step(),
      trace: () => this.#trace(),
      speed: () => this.#speed(),
      bug: () => {
        this.#said("");
        this.bugs.open();
      },
      again: () => this.#load().catch(() => {}),
      predict: () => {
        form.hidden = !form.hidden;
        this.button("predict").ariaExpanded = !form.hidden;
        if (form.hidden) return;
        this.#reveal(form);
        form.querySelector("input").focus({ preventScroll: true });
      },
      reset: () => {
        this.#notice(t("Go back to the stub? What you wrote is taken out of the editor."), {
          [t("The stub")]: () => this.#replace(this.data.stub, t("This is the stub.")),
          [t("With the solution’s comments")]: () => this.#comments(),
          [t("Keep my code")]: () => {
            this.#notice("");
            this.editor.focus();
          },
        });
        this.part("notice").querySelector("button").focus();
      },
    };
    for (const [name, act] of Object.entries(actions)) this.button(name).addEventListener("click", act);
    new Files(this.part("files"), this.data.puzzle, {
      ask: (verb, words, more) => this.#ask(verb, words, more),
      save: () => this.#save(),
      said: (words) => this.#said(words),
      text: () => this.editor.text(),
      replace: (text, words) => this.#replace(text, words),
    });
    this.#earned();
  }
}

const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
