"""Times of the course in a browser tab, next to `python -m checker check` in the same run.

    python -m benchmarks.site [--runs 7] [--fresh] [--write]

A new browser opens a page of the site. The site comes from this machine: a network adds its time for the megabytes.
Then each solution is checked by the page's own worker, in turn with the command. `--fresh` also makes 300 checks in
one worker and looks at its memory.
"""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks import page
from benchmarks.check_latency import check
from benchmarks.setting import ROOT, in_words, setting
from checker.course.ladder import LADDER
from checker.publish import site
from tests.browser.test_site import READY, Bench, code, served

RUNGS = [rung for rung in LADDER if not rung.pytorch]
MANY = 300
ASK = """async ([root, requests]) => {
  const worker = new Worker(`${root}app/worker.js`, { type: "module" });
  const heard = (wanted) => new Promise((told) => (worker.onmessage = ({ data }) => wanted(data) && told(data)));
  await heard((data) => data.ready);
  const seconds = [];
  for (const [id, request] of requests.entries()) {
    const began = performance.now();
    worker.postMessage({ id, ...request });
    const { answer } = await heard((data) => data.id === id);
    if (!answer.accepted) throw new Error(request.puzzle);
    seconds.push((performance.now() - began) / 1000);
  }
  worker.terminate();
  return seconds;
}"""
HEAP = """async ([root, requests]) => {
  const { start } = await import(`${root}app/python.mjs`);
  const { loadPyodide } = await import(`${root}pyodide/pyodide.mjs`);
  const packed = fetch(`${root}checker.zip`).then((answer) => answer.arrayBuffer());
  const { python, answered } = await start(loadPyodide, `${root}pyodide/`, [packed]);
  const before = python._module.HEAPU8.length;
  for (const request of requests) answered(JSON.stringify(request));
  return [before, python._module.HEAPU8.length];
}"""


def request(rung: Any) -> dict[str, Any]:
    """A check of its solution, as a page asks for it."""
    return {"verb": "check", "puzzle": rung.id, "drafts": {rung.id: code(rung.stem)}, "progress": {}}


def opened(chromium: Any, address: str) -> tuple[float, float]:
    """Seconds from opening a page in a new browser to `ready`, and to the first verdict, on a right kernel."""
    context = chromium.new_context()
    began = time.monotonic()
    bench = Bench(context.new_page(), f"{address}puzzles/{RUNGS[0].stem}.html")
    bench.page.focus(".cm-content")
    bench.page.wait_for_function(READY)
    ready = time.monotonic() - began
    assert "100/100" in bench.checked(code(RUNGS[0].stem))
    verdict = time.monotonic() - began
    context.close()
    return ready, verdict


def sizes(folder: Path) -> dict[str, dict[str, float]]:
    """Megabytes by part: as they are, and as a server that compresses sends them."""
    listed = json.loads((folder / "app" / "files.json").read_text())
    archives = {
        "the checker and Triton's Python files": "checker.zip",
        "what the solution of p6 computes, on its page": "checker-p6.zip",
        "what it says in Chinese, when asked for": "checker-zh.zip",
    }
    parts = {
        "Python and NumPy": [folder / name for name in listed["pyodide"]["files"]],
        **{part: [folder / name] for part, name in archives.items()},
        "all pages, in both languages": [folder / name for name in listed["files"] if not name.endswith(".zip")],
    }
    return {
        part: {
            "raw": sum(path.stat().st_size for path in paths) / 1e6,
            "sent": sum(len(gzip.compress(path.read_bytes(), 6)) for path in paths) / 1e6,
        }
        for part, paths in parts.items()
    }


def measure(runs: int, fresh: bool) -> dict[str, Any]:
    """All figures."""
    figures: dict[str, Any] = {"setting": setting(["triton", "numpy"]), "runs": runs}
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        folder = Path(made, "site")
        site.build(folder)
        figures["megabytes"] = sizes(folder)
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        figures["browser"] = f"Chromium {chromium.version}"
        with served(folder) as address:
            opening = [opened(chromium, address) for _ in range(runs)]
            figures["ready"], figures["first"] = (statistics.median(column) for column in zip(*opening, strict=True))
            tab = chromium.new_page()
            tab.goto(address)
            cold, warm, command = ([[] for _ in RUNGS] for _ in range(3))  # type: list[list[float]]
            for _ in range(runs):
                seconds = tab.evaluate(ASK, [address, [request(rung) for rung in RUNGS for _ in range(2)]])
                for number, rung in enumerate(RUNGS):
                    cold[number].append(seconds[2 * number])
                    warm[number].append(seconds[2 * number + 1])
                    began = time.monotonic()
                    line = check(rung.id, f"solutions/{rung.stem}.py", "--no-compile")
                    subprocess.run(line, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
                    command[number].append(time.monotonic() - began)
            columns = {"first": cold, "again": warm, "command": command}
            figures["puzzles"] = {
                rung.id: {name: statistics.median(column[number]) for name, column in columns.items()}
                for number, rung in enumerate(RUNGS)
            }
            if fresh:
                many = [request(RUNGS[number % len(RUNGS)]) for number in range(MANY)]
                figures["heap"] = [size / 1e6 for size in tab.evaluate(HEAP, [address, many])]
        chromium.close()
    return figures


def markdown(figures: dict[str, Any]) -> str:
    """The page."""
    lines = [
        "# The course in a browser tab",
        "",
        f"{in_words(figures['setting'])}; {figures['browser']}. Medians of {figures['runs']}.",
        "The site comes from this machine: a network adds its time for the megabytes.",
        "",
        f"* From opening a page in a new browser until Python is ready: {figures['ready']:.1f} s; until the first "
        f"verdict: {figures['first']:.1f} s.",
    ]
    if "heap" in figures:
        before, after = figures["heap"]
        lines.append(
            f"* Memory of Python: {before:.0f} MB at the start, {after:.0f} MB after {MANY} checks of solutions."
        )
    lines += ["", "| | MB | MB, compressed |", "|---|---|---|"]
    lines += [f"| {part} | {size['raw']:.1f} | {size['sent']:.1f} |" for part, size in figures["megabytes"].items()]
    lines += ["", "Seconds for a check of the solution, nothing compiled:", ""]
    lines += ["| puzzle | first in a tab | again | `checker check` |", "|---|---|---|---|"]
    for id, took in figures["puzzles"].items():
        lines.append(f"| {id} | {took['first']:.2f} | {took['again']:.2f} | {took['command']:.2f} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    page.main("site", __doc__ or "", measure, markdown, 7, "300 checks in one worker, and its memory")
