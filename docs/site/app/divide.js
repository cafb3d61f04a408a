/* Lines between the lesson, the code and what is said of it: dragged, or moved with the arrow keys. */

import { keep, kept } from "./store.js";

const KEYS = { ArrowUp: -5, ArrowLeft: -5, ArrowDown: 5, ArrowRight: 5 };
const LEAST = 25, MOST = 75; // percent of the window

/** Let a line be moved, and find it there again after a reload. `first`: percent of the window before it, which CSS has as --`name`. */
export function divide(line, name, first) {
  const at = ({ clientX, clientY }) => (line.ariaOrientation === "vertical" ? clientX / innerWidth : clientY / innerHeight) * 100;
  const put = (share) => document.documentElement.style.setProperty(`--${name}`, (line.ariaValueNow = share));
  const move = (to) => {
    put(Math.round(Math.min(MOST, Math.max(LEAST, to))));
    keep(name, line.ariaValueNow);
  };
  let held; // by how much the line is further than the mouse
  line.ariaValueMin = LEAST;
  line.ariaValueMax = MOST;
  put(kept(name) ?? first);
  line.addEventListener("pointerdown", (event) => {
    line.setPointerCapture(event.pointerId);
    held = line.ariaValueNow - at(event);
  });
  line.addEventListener("pointermove", (event) => line.hasPointerCapture(event.pointerId) && move(at(event) + held));
  line.addEventListener("keydown", (event) => {
    if (!(event.key in KEYS)) return;
    event.preventDefault(); // else what is below would scroll
    move(Number(line.ariaValueNow) + KEYS[event.key]);
  });
}
