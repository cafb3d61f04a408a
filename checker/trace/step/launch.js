/* One launch, as it was recorded: what names hold after each step, what was touched until then, and the same in words.
 *
 * The data, all of it made by stepped.py:
 *   puzzle, title, outcome, example: a wrong element in words, or null; first: the launch that is shown first
 *   launches: [{
 *     kernel, case, stopped: why it ended early, or null; whole: whether all steps are there
 *     code: [[line, line as it is shown, text]], loops: [[first line, last line]]
 *     statements: { line: [text, names in it, first line of what it holds, or null] }
 *     tensors: [{ name, shape, type, bytes of an element }], programs: { number: name }, count: of all programs
 *     values: [[type, shape, numbers or null, tensor that pointers point into, or -1]]
 *     steps: [[program, line, function, depth, [[name, value]], [[tensor, [[first, count]], whether stored, mask, value]], right]]
 *     start: the step that is shown first; wrong: { tensor, element, name, step that stored it, both: [yours, right], or none } that came out wrong, if one did
 *     differs: whether it begins where the kernel first differs from the solution
 *   }]
 * A step has ended: the values are those after its line. A mask is a value, or -1 where all lanes are active; of a
 * store, the value is what is stored. `right` is what names hold in the solution, where that is known:
 * [[name, value, its first element that differs]], or -1 twice where nothing differs.
 */

import { counted, inWords } from "./draw.js";
import { t } from "./said.js";

/** Runs of elements, joined where they meet: what was touched before grows to a few of them. */
function joined(runs) {
  const found = [];
  for (const [first, count] of runs.sort((a, b) => a[0] - b[0])) {
    const last = found.at(-1);
    if (last && first <= last[0] + last[1]) last[1] = Math.max(last[1], first + count - last[0]);
    else found.push([first, count]);
  }
  return found;
}

export class Launch {
  constructor(data) {
    Object.assign(this, data);
    this.all = this.steps.map(([program, line, name, depth, changed, accesses, right]) => ({
      program, line, name, depth, changed, right,
      accesses: accesses.map(([tensor, runs, store, mask, value]) => ({ tensor, runs, store, mask, value })),
    }));
    let [loaded, stored] = [0, 0];
    this.all.forEach((step, n) => {
      for (const { tensor, runs, store } of step.accesses.filter((one) => one.tensor >= 0)) {
        const bytes = runs.reduce((sum, [, count]) => sum + count, 0) * this.tensors[tensor].bytes;
        if (store) stored += bytes;
        else loaded += bytes;
      }
      step.enters = this.#entersLoop(n);
      step.begins = this.statements[step.line]?.[0].startsWith("def ");
      Object.assign(step, { loaded, stored, stores: step.accesses.some((one) => one.store) });
    });
  }

  /** Whether a step is the head of a loop that goes on into its body. */
  #entersLoop(n) {
    const step = this.all[n], next = this.all.slice(n + 1).find((one) => one.depth <= step.depth);
    const loop = this.loops.find(([first]) => first === step.line);
    return !!loop && next?.program === step.program && next.line > loop[0] && next.line <= loop[1];
  }

  /** First and last step of a program. */
  range(program) {
    return [this.all.findIndex((one) => one.program === program), this.all.findLastIndex((one) => one.program === program)];
  }

  /** What each name of the function holds after a step, by name: { value, mask, fresh, old, trail, right }.
   *
   * `old`: it is of an iteration that is over. `trail`: of a number, what it was before. `right`: of the
   * solution, { value, first, here }: no value if it is the same; `here` if it is compared in this step. */
  names(n) {
    const { program, depth, name } = this.all[n], found = new Map();
    let begin = n;
    while (begin > 0 && this.all[begin - 1].program === program && this.all[begin - 1].depth >= depth) begin--;
    for (let at = begin; at <= n; at++) {
      const step = this.all[at];
      if (step.depth !== depth || step.name !== name) continue;
      const [first, last] = (step.enters && this.loops.find(([head]) => head === step.line)) || [0, 0];
      for (const held of found.values()) held.old ||= held.line > first && held.line <= last;
      for (const [one, place] of step.changed) {
        const value = this.values[place];
        const load = step.accesses.find(({ store, mask }) => !store && mask >= 0 && String(this.values[mask][1]) === String(value[1]));
        const trail = value[1].length ? [] : [...(found.get(one)?.trail ?? []), value[2]?.[0]];
        found.set(one, { value, mask: load && this.values[load.mask][2], fresh: at === n, old: false, line: step.line, trail });
      }
      for (const [one, place, first] of step.right) found.get(one).right = { value: this.values[place], first, here: at === n };
    }
    return found;
  }

  /** For each tensor what was touched from a step on, until before another. */
  touched(from, until) {
    const found = this.tensors.map(() => ({ loads: [], stores: [] }));
    for (const { accesses } of this.all.slice(from, until)) {
      for (const { tensor, runs, store } of accesses) {
        if (tensor >= 0) found[tensor][store ? "stores" : "loads"].push(...runs.map((run) => [...run]));
      }
    }
    return found.map(({ loads, stores }) => ({ loads: joined(loads), stores: joined(stores) }));
  }

  /** The first line of the function that a step is in. */
  begin(n) {
    return this.all.slice(0, n + 1).findLast((one) => one.begins && one.name === this.all[n].name)?.line;
  }

  /** A step as a sentence or two. */
  said(n) {
    const step = this.all[n], [text] = this.statements[step.line] ?? [""];
    const [, shown] = this.code.find(([line]) => line === step.line) ?? [0, step.line];
    const accesses = step.accesses.map(({ tensor, runs, store }) => {
      if (tensor < 0) return store ? t("stores nothing, as all lanes are masked") : t("loads nothing, as all lanes are masked");
      const of = { elements: counted(runs.reduce((sum, [, count]) => sum + count, 0)), tensor: this.tensors[tensor].name };
      return store ? t("stores {elements} of {tensor}", of) : t("loads {elements} of {tensor}", of);
    });
    const names = step.changed.map(([name, place]) => t("{name} is {value}", { name, value: inWords(this.values[place], this.tensors) }));
    const last = this.stopped && n === this.range(step.program)[1] ? t(" It {stopped}.", { stopped: this.stopped }) : "";
    if (step.begins) return t("Line {shown}: {name} begins.{last}", { shown, name: step.name, last });
    const came = [...accesses, ...names, ...this.#turn(n)].join(t("; "));
    return t("Line {shown}: {text}", { shown, text }) + (came && t(" → {came}.", { came })) + last;
  }

  /** What became of the head of an `if` or of a loop. */
  #turn(n) {
    const step = this.all[n], [text, , inner] = this.statements[step.line] ?? [""];
    const next = this.all.slice(n + 1).find((one) => one.depth <= step.depth);
    if (/^(for|while)\b/.test(text)) return step.enters ? [] : [t("the loop ends")];
    return inner ? [t("this is {value}", { value: next?.line === inner })] : [];
  }
}
