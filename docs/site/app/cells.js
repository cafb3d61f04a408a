/* The cells of a lesson that can be run where they stand: experiments, with the kernel in the editor. */

import { editor } from "./editor.js";
import { made } from "./draw.js";
import { t } from "./said.js";

export class Cells {
  /** `cells`: all code of the lesson beside the kernel, in order; `run`: what asks for the last of some texts. */
  constructor(cells, run) {
    const places = [...document.querySelectorAll(".run-cell")];
    this.cells = cells.map(({ code, runs }) => ({ text: () => code, ...(runs ? this.#made(places.shift(), code) : {}) }));
    this.run = run;
  }

  #made(place, code) {
    const out = made("pre", { className: "rc-out", tabIndex: 0, ariaLabel: t("What the cell shows") });
    out.hidden = true;
    const frame = made("div", { className: "rc-editor" });
    const act = () => this.#run(out);
    place.replaceChildren(frame, made("button", { type: "button", textContent: t("Run"), onclick: act }), out);
    return { out, text: editor(frame, code, t("A cell of the lesson"), { checks: act, plain: true }).text };
  }

  async #run(out) {
    const last = this.cells.findIndex((one) => one.out === out);
    const answer = await this.run(this.cells.slice(0, last + 1).map((one) => one.text()));
    if (answer?.text === undefined) return;
    out.hidden = false;
    out.textContent = answer.text || t("It shows nothing.");
    out.classList.remove("wb-outdated");
  }

  /** What is shown is of another kernel than the editor's. */
  outdated() {
    for (const { out } of this.cells) out?.classList.add("wb-outdated");
  }
}
