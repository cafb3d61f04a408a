/* Kernels with one mistake each, to be found once the puzzle is solved: first say where, then fix it. */

import { made } from "./draw.js";
import { editor } from "./editor.js";
import { t } from "./said.js";

export class Bugs {
  #next = 0;

  /** `check`: what gives the answer to a text; `reveal`: what brings a part into sight. */
  constructor(part, bugs, check, reveal) {
    this.reveal = reveal;
    this.part = part;
    this.bugs = bugs;
    this.check = check;
  }

  /** Show the next bug. */
  open() {
    const number = this.#next++ % this.bugs.length, { text, lines } = this.bugs[number];
    const said = made("p", { role: "status" }), report = made("div"), frame = made("div");
    const guess = made("input", { type: "number", min: 1, ariaLabel: t("The line that is to blame") });
    let found = false;
    const say = () => {
      found = lines.includes(Number(guess.value));
      said.textContent = found ? t("That is the line. Now fix it, with one edit.") : t("It is another line. What would a right kernel do there?");
    };
    const guessed = (event) => {
      event.preventDefault();
      say();
    };
    const clicked = (event) => {
      if (found || code.text() !== text) return; // now it is being fixed
      guess.value = code.lineAt(event);
      say();
    };
    const ask = made("form", { onsubmit: guessed }, t("Which line is to blame? Click it, or type its number: "), guess, " ", made("button", {}, t("Say")));
    const fix = made("button", { type: "button", onclick: () => fixed() }, t("Check the fix"));
    const next = made("button", { type: "button", onclick: () => this.open() }, t("Next bug"));
    next.hidden = true;
    const title = made("h3", {}, t("Bug {number} of {all}", { number: number + 1, all: this.bugs.length }));
    this.part.replaceChildren(title, made("p", {}, t("There is one mistake in this kernel.")), ask, said, frame, fix, " ", next, report);
    this.part.hidden = false;
    const code = editor(frame, text, t("Bug {number}", { number: number + 1 }), { checks: () => fixed() });
    const fixed = async () => {
      const answer = await this.check(code.text());
      if (!answer?.html) return;
      report.innerHTML = answer.html;
      said.textContent = answer.accepted ? t("Fixed.") : t("There still is a mistake.");
      next.hidden = !answer.accepted;
      this.reveal(said);
    };
    frame.addEventListener("click", clicked);
    this.reveal(this.part);
    guess.focus({ preventScroll: true });
  }
}
