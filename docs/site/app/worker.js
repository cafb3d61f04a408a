/* Where kernels are judged. Answers what checker/browser/answers.py knows. */

import { start } from "./python.mjs";

const ROOT = new URL("../", import.meta.url);

const loading = (words) => postMessage({ loading: words });

async function load() {
  loading("Loading Python (10 MB at the first visit) …");
  const list = await (await fetch(new URL("app/files.json", ROOT))).json();
  const indexURL = new URL("./", new URL(list.pyodide.files[0], ROOT)).href;
  const packed = fetch(new URL("checker.zip", ROOT)).then((answer) => answer.arrayBuffer());
  const { loadPyodide } = await import(`${indexURL}pyodide.mjs`);
  return start(loadPyodide, indexURL, packed, () => loading("Starting the checker …"));
}

const loaded = load();
loaded.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ failed: `Python could not be loaded: ${error.message}.` }),
);

onmessage = async ({ data: { id, ...request } }) => {
  const { answered } = await loaded;
  const alive = (done, every, about) => postMessage({ alive: true, done, every, about });
  postMessage({ id, answer: JSON.parse(answered(JSON.stringify(request), alive)) });
};

// What Python did not catch, such as a lack of memory, ends this worker: the page goes on with the spare one.
addEventListener("unhandledrejection", ({ reason }) => {
  throw reason;
});
