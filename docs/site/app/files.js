/* What goes out of a workbench and comes back: the puzzle's file or notebook, or all drafts as one file. */

import { made } from "./draw.js";
import { t } from "./said.js";
import { draft, drafts, progress, saveDraft, saveProgress } from "./store.js";

const ALL = "flash-puzzles.json";

export class Files {
  /** `part`: the menu. `bench`: what asks the judge, saves the draft, says something, gives the text and replaces it. */
  constructor(part, puzzle, bench) {
    this.puzzle = puzzle;
    this.bench = bench;
    const [input, all] = part.querySelectorAll("input[type=file]");
    const actions = {
      py: () => this.#download("py"),
      ipynb: () => this.#download("ipynb"),
      upload: () => input.click(),
      all: () => this.#downloadAll(),
      back: () => all.click(),
    };
    for (const [name, act] of Object.entries(actions)) part.querySelector(`[name=${name}]`).addEventListener("click", act);
    input.addEventListener("change", () => input.files.length && this.#upload(input));
    all.addEventListener("change", () => all.files.length && this.#bringBack(all));
    const close = () => {
      part.open = false;
      part.querySelector("summary").focus();
    };
    addEventListener("click", ({ target }) => part.contains(target) || (part.open = false));
    part.addEventListener("keydown", ({ key }) => key === "Escape" && close());
    part.addEventListener("click", ({ target }) => target.name && close());
  }

  async #download(kind) {
    const answer = await this.bench.ask("download", t("Making the file …"), { kind });
    if (answer?.text) this.#saved(answer.name, answer.text);
  }

  #downloadAll() {
    this.bench.save();
    this.#saved(ALL, JSON.stringify({ drafts: drafts(), progress: progress() }, null, 1));
  }

  #saved(name, text) {
    const href = URL.createObjectURL(new Blob([text]));
    made("a", { href, download: name }).click();
    this.bench.said(t("Saved as {name}.", { name }));
    setTimeout(() => URL.revokeObjectURL(href), 10_000);
  }

  async #upload(input) {
    const [file] = input.files;
    const answer = await this.bench.ask("upload", t("Reading the file …"), { name: file.name, text: await file.text() });
    input.value = ""; // so that the same file can be chosen again
    if (typeof answer?.text === "string") this.bench.replace(answer.text, t("This is {name}.", file));
  }

  /** Take drafts and progress from a file of all of them, in place of those that are here. */
  async #bringBack(input) {
    const [file] = input.files;
    const text = await file.text();
    input.value = "";
    let found;
    try {
      found = JSON.parse(text);
      const texts = [...Object.values(found.drafts), ...Object.values(found.progress)];
      if (texts.some((one) => typeof one !== "string")) throw new TypeError();
    } catch {
      return this.bench.said(t("{name} is no file of all drafts.", file));
    }
    const others = Object.keys(found.drafts).filter((puzzle) => ![null, found.drafts[puzzle]].includes(draft(puzzle)));
    if (others.length && !confirm(t("Take the file’s version of {puzzles} instead of yours?", { puzzles: others.join(", ") }))) return;
    for (const [puzzle, code] of Object.entries(found.drafts)) saveDraft(puzzle, code);
    for (const [puzzle, line] of Object.entries(found.progress)) saveProgress(puzzle, line);
    const own = found.drafts[this.puzzle];
    if (own !== undefined && own !== this.bench.text()) this.bench.replace(own, t("This is from {name}.", file));
    this.bench.said(t("The drafts of {name} are back.", file));
  }
}
