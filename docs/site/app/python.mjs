/* Pyodide with the checker in it. */

const HOME = "/course";

/** Pyodide, and the function that answers requests: JSON in, JSON out. `packed`: promises of archives' bytes. */
export async function start(loadPyodide, indexURL, packed, starting = () => {}) {
  const python = await loadPyodide({ indexURL, packages: ["numpy"] });
  starting();
  for (const archive of packed) python.unpackArchive(await archive, "zip", { extractDir: HOME });
  const answered = python.runPython(`
    import sys
    sys.path.insert(0, "${HOME}")
    from checker.sandbox import standin
    standin.install()
    from checker.sandbox.in_process import interpreter
    interpreter()
    from checker.browser.answers import answered
    answered
  `);
  return { python, answered };
}
