/* How values and tensors are said and drawn. */

import { t } from "./said.js";

const SKY = [86, 180, 233], BLUE = [0, 114, 178], ORANGE = [213, 94, 0]; // of Okabe and Ito
const WIDE = 256, HIGH = 176; // pixels that a block may have
const WRAP = 64; // numbers in a line of a long row

const paint = ([r, g, b], alpha) => `rgb(${r} ${g} ${b} / ${alpha})`;
const size = (shape) => shape.reduce((all, side) => all * side, 1);
export const counted = (n) => t("{n} element{_s}", { n: n.toLocaleString("en"), _s: n === 1 ? "" : "s" });

export function made(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function told(number) {
  if (typeof number === "string") return number.replace("-", "−").replace("inf", "∞").replace("nan", "NaN");
  return String(number).replace("-", "−");
}

/** A value in a few words; `numbers` may be those of a mask. */
export function inWords([type, shape, numbers, tensor], tensors) {
  const kind = tensor >= 0 ? t("pointer{_s} into {name}", { _s: shape.length ? "s" : "", name: tensors[tensor].name }) : type;
  const form = shape.length ? `${shape.join(" × ")} ${kind}` : kind;
  if (!numbers?.length) return numbers ? form : shape.length ? t("{form}, too many to show", { form }) : form;
  if (type === "int1" || type === "bool") {
    const on = numbers.filter((one) => one).length;
    return shape.length ? t("{form}, {on} of {all} true", { form, on, all: numbers.length }) : `${form}, ${on ? "true" : "false"}`;
  }
  if (!shape.length) return tensor >= 0 ? t("{kind}, element {number}", { kind, number: told(numbers[0]) }) : `${form} ${told(numbers[0])}`;
  const finite = numbers.filter((one) => typeof one === "number");
  const times = (sign) => numbers.filter((one) => one === sign).length;
  const odd = ["nan", "-inf", "inf"].filter(times).map((sign) => (times(sign) === numbers.length ? t("all {number}", { number: told(sign) }) : `${times(sign)} ${told(sign)}`));
  const low = finite.reduce((a, b) => Math.min(a, b), Infinity), high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  const span = !finite.length ? [] : [low < high ? t("{low} to {high}", { low: told(low), high: told(high) }) : odd.length ? told(low) : t("all {number}", { number: told(low) })];
  return `${form}: ${[...span, ...odd].join(", ")}`;
}

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
  const under = ({ offsetX, offsetY }) => {
    const cell = (canvas.clientWidth / columns) || wide; // it is drawn smaller where there is little room
    return Math.min(rows - 1, Math.floor((offsetY * wide) / cell / high)) * columns + Math.min(columns - 1, Math.floor(offsetX / cell));
  };
  return { canvas, pen, at, under, columns, wide, high };
}

/** The index of an element: [2, 7]. */
export function indexed(n, shape) {
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

/** The numbers of a block: orange above zero, blue below, and signs for what is no finite number.
 *
 * `other`: numbers that the same colours stand for. `framed`: an element. */
export function heatMap(name, value, mask, ink, about, other = [], framed = -1) {
  const [type, shape, numbers, tensor] = value;
  const { canvas, pen, at, under, wide, high } = sheet(shape, about);
  canvas.onmousemove = (event) => {
    const n = under(event);
    canvas.title = n < numbers.length ? `${name}${indexed(n, shape)} = ${told(numbers[n])}${mask && !mask[n] ? t(", masked") : ""}` : "";
  };
  const finite = [...numbers, ...other].filter((one) => typeof one === "number").map(Math.abs);
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
  if (framed >= 0) frame(pen, at(framed), ink);
  return canvas;
}

/** A tensor: dark what this step loads, hatched what it stores, pale what was touched before. */
export function touchMap(tensor, before, now, wrong, ink) {
  const elements = now.reduce((all, { runs }) => all + runs.reduce((sum, [, n]) => sum + n, 0), 0);
  const about = `${tensor.name}: ${elements ? t("{elements} touched now", { elements: counted(elements) }) : t("not touched now")}`;
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

export function table([, shape, numbers], mask) {
  const lines = [], columns = Math.min(grid(shape).columns, shape.length > 1 ? Infinity : 16);
  for (let at = 0; at < numbers.length; at += columns) {
    const cells = numbers.slice(at, at + columns).map((one, n) => made("td", {}, mask && !mask[at + n] ? `(${told(one)})` : told(one)));
    lines.push(made("tr", {}, ...cells));
  }
  return made("div", { className: "step-scroll", tabIndex: 0 }, made("table", {}, made("tbody", {}, ...lines)));
}
