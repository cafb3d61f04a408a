/* What is solved: marks in the sidebar and on the index page, where to go on, and solutions that are earned. */

import { t } from "./said.js";
import { drafts, onProgress, progress, solved } from "./store.js";

function mark(item) {
  const link = item.querySelector("a");
  if (!solved(item.dataset.puzzle) || link.querySelector(".solved-mark")) return;
  const sign = document.createElement("span");
  sign.className = "solved-mark";
  sign.innerHTML = `<span aria-hidden="true"> ✓</span><span class="only-heard">${t(" (solved)")}</span>`;
  link.append(sign);
}

/** Once something was begun: how far one is, and the last one that was, or the open one that follows it. */
function goOn() {
  const link = document.getElementById("go-on");
  const items = [...document.querySelectorAll("article li[data-puzzle]:not([data-pytorch])")];
  const begun = { ...drafts(), ...progress() };
  const last = items.findLastIndex((item) => item.dataset.puzzle in begun);
  if (!link || last < 0) return;
  const done = items.filter((item) => solved(item.dataset.puzzle)).length;
  document.getElementById("how-far").textContent = t("{done} of {all} solved here", { done, all: items.length });
  const ahead = [items[last].dataset.puzzle, ...items[last].dataset.following.split(" ")];
  const open = ahead.map((id) => items.find((item) => item.dataset.puzzle === id)).find((item) => item && !solved(item.dataset.puzzle));
  if (open) {
    link.href = open.querySelector("a").href;
    link.textContent = t("Go on with {puzzle}", open.dataset);
  } else {
    link.textContent = t("All puzzles are solved");
  }
}

function openSolution(anyway) {
  const solution = document.querySelector(".solution");
  const gate = document.querySelector(".solution-gate");
  if (!solution || !gate || !(anyway || solved(solution.dataset.puzzle))) return;
  solution.hidden = false;
  gate.hidden = true;
}

function show() {
  document.querySelectorAll("li[data-puzzle]").forEach(mark);
  goOn();
  openSolution(false);
}

document.querySelector(".solution-gate button")?.addEventListener("click", () => openSolution(true));
onProgress(show);
show();
