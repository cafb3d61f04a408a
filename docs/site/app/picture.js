/* The front page's picture moves: a button stops it. Whoever wants no motion has it still from the start. */

import { t } from "./said.js";

const picture = document.querySelector('img[src*="at_work"]');

if (picture) {
  const moving = picture.src;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "picture-stops";
  const show = (still) => {
    picture.src = still ? `${moving}#still` : moving; // its end, see docs/figures/at_work.py
    button.textContent = still ? t("Play") : t("Stop");
  };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  calm.addEventListener("change", () => show(calm.matches));
  button.addEventListener("click", () => show(picture.src === moving));
  show(calm.matches);
  picture.after(button);
}
