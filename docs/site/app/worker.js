/* Where Python runs: Pyodide, NumPy and the checker. Answers what checker/browser/answers.py knows. */

const ROOT = new URL("../", import.meta.url);
const HOME = "/course";

const loading = (words) => postMessage({ loading: words });

async function start() {
  loading("Loading Python, 9 MB at the first visit …");
  const list = await (await fetch(new URL("app/files.json", ROOT))).json();
  const indexURL = new URL("./", new URL(list.pyodide.files[0], ROOT)).href;
  const packed = fetch(new URL("checker.zip", ROOT)).then((answer) => answer.arrayBuffer());
  const { loadPyodide } = await import(`${indexURL}pyodide.mjs`);
  const python = await loadPyodide({ indexURL, packages: ["numpy"] });
  loading("Starting the checker …");
  python.unpackArchive(await packed, "zip", { extractDir: HOME });
  const answered = python.runPython(`
    import sys
    sys.path.insert(0, "${HOME}")
    from checker.box import standin
    standin.install()
    from checker.browser.answers import answered
    answered
  `);
  return { python, answered };
}

const started = start();
started.then(
  () => postMessage({ ready: true }),
  (error) => postMessage({ failed: `Python could not be loaded: ${error.message}.` }),
);

onmessage = async ({ data: { id, ...request } }) => {
  const { python, answered } = await started;
  if (request.verb === "trace") {
    loading("Loading what pictures are drawn with, 10 MB at the first time …");
    await python.loadPackage("matplotlib");
    loading("Drawing …");
  }
  postMessage({ id, answer: JSON.parse(answered(JSON.stringify(request))) });
};
