/* What this browser keeps: for each puzzle a draft, and a line of progress; and where a page was. All tabs share it. */

const DRAFT = "flash-puzzles:draft:";
const PROGRESS = "flash-puzzles:progress:";
const PAGE = "flash-puzzles:page:";

const memory = new Map(); // in place of what is blocked: lasts as long as the page

function read(key) {
  try {
    return localStorage.getItem(key) ?? memory.get(key) ?? null;
  } catch {
    return memory.get(key) ?? null;
  }
}

/** Whether it will be there after the page has gone. */
function write(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
    memory.delete(key);
    return true;
  } catch {
    memory.set(key, value);
    return false;
  }
}

function every(prefix) {
  let keys = [...memory.keys()];
  try {
    keys = keys.concat(Object.keys(localStorage));
  } catch {
    // blocked: what is in memory is all there is
  }
  const found = keys.filter((key) => key.startsWith(prefix)).map((key) => [key.slice(prefix.length), read(key)]);
  return Object.fromEntries(found.filter(([, value]) => value !== null));
}

const isSolved = (puzzle, line) => line?.startsWith(`puzzle ${puzzle}: solved`) ?? false;

export const draft = (puzzle) => read(DRAFT + puzzle);
export const drafts = () => every(DRAFT);
export const saveDraft = (puzzle, text) => write(DRAFT + puzzle, text);
export const kept = (name) => read(PAGE + name);
export const keep = (name, value) => write(PAGE + name, String(value));
export const progress = () => every(PROGRESS);
export const solved = (puzzle) => isSolved(puzzle, read(PROGRESS + puzzle));

export function saveProgress(puzzle, line) {
  if (solved(puzzle) && !isSolved(puzzle, line)) return; // another tab has solved it meanwhile
  write(PROGRESS + puzzle, line);
  dispatchEvent(new CustomEvent("progress"));
}

/** Call back when any tab has reached something. */
export function onProgress(callback) {
  addEventListener("progress", callback);
  addEventListener("storage", ({ key }) => (key === null || key.startsWith(PROGRESS)) && callback());
  addEventListener("pageshow", ({ persisted }) => persisted && callback());
}

/** Call back when another tab has saved or dropped the draft of a puzzle. */
export function onOtherDraft(puzzle, callback) {
  addEventListener("storage", ({ key }) => (key === null || key === DRAFT + puzzle) && callback());
  addEventListener("pageshow", ({ persisted }) => persisted && callback()); // a page that slept heard of nothing
}
