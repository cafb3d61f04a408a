/* What is solved: marks in the sidebar and on the index page, where to go on, and solutions that are earned. */

import { drafts, onProgress, progress, solved } from "./store.js";

const PUZZLE = /\/puzzles\/([a-z]\d+)_[^/]*$/;

/** Elements that stand for a puzzle, with its ID. */
function places() {
  const links = [...document.querySelectorAll(".sidebar-tree a")];
  const linked = links.map((link) => [link, PUZZLE.exec(new URL(link.href).pathname)?.[1]]);
  const listed = [...document.querySelectorAll("li[data-puzzle]")].map((item) => [item, item.dataset.puzzle]);
  return [...linked, ...listed].filter(([, puzzle]) => puzzle);
}

function mark(element, isSolved) {
  const old = element.querySelector(":scope > .solved-mark");
  if (old || !isSolved) return;
  const sign = document.createElement("span");
  sign.className = "solved-mark";
  sign.innerHTML = `<span aria-hidden="true"> ✓</span><span class="only-heard"> (solved)</span>`;
  element.append(sign);
}

/** The first puzzle that is open, once something was begun. */
function goOn() {
  const link = document.getElementById("go-on");
  const begun = Object.keys({ ...drafts(), ...progress() }).length > 0;
  if (!link || !begun) return;
  const open = [...document.querySelectorAll("li[data-puzzle]:not([data-pytorch])")].find((item) => !solved(item.dataset.puzzle));
  if (open) {
    link.href = open.querySelector("a").href;
    link.textContent = `Go on with ${open.dataset.puzzle}`;
  } else {
    link.textContent = "All puzzles are solved";
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
  for (const [element, puzzle] of places()) mark(element, solved(puzzle));
  goOn();
  openSolution(false);
}

document.querySelector(".solution-gate button")?.addEventListener("click", () => openSolution(true));
onProgress(show);
show();
