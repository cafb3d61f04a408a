/* Where kernels are judged. Answers what checker/browser/answers.py knows. */

import { start } from "./python.mjs";

const ROOT = new URL("../", import.meta.url);

// Its address says nothing of this: what a service worker answers has lost what follows the `?`.
const [language, puzzle] = (self.name || "en").split(" ");
const loading = (what) => postMessage({ loading: what });

async function load() {
  loading("python");
  const list = await (await fetch(new URL("app/files.json", ROOT))).json();
  const indexURL = new URL("./", new URL(list.pyodide.files[0], ROOT)).href;
  const more = [puzzle, language === "en" ? "" : language].filter(Boolean); // what its solution computes; other words
  const archives = ["checker.zip", ...more.map((name) => `checker-${name}.zip`)];
  const packed = archives.map(async (name) => (await fetch(new URL(name, ROOT))).arrayBuffer());
  const { loadPyodide } = await import(`${indexURL}pyodide.mjs`);
  return start(loadPyodide, indexURL, packed, () => loading("checker"));
}

const loaded = load();
loaded.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ failed: error.message }),
);

onmessage = async ({ data: { id, ...request } }) => {
  const { answered } = await loaded;
  const alive = (done, every, about) => postMessage({ alive: true, done, every, about });
  postMessage({ id, answer: JSON.parse(answered(JSON.stringify({ language, ...request }), alive)) });
};

// What Python did not catch, such as a lack of memory, ends this worker: the page goes on with the spare one.
addEventListener("unhandledrejection", ({ reason }) => {
  throw reason;
});
