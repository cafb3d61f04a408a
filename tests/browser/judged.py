"""A check as a page makes it, and what it was asked of the sandbox. Runs in CPython and in Pyodide alike.

In CPython, as `python -m tests.browser.judged`: requests are lines of JSON, and so are the answers.
"""

import hashlib
import json
import sys

from checker import catalog
from checker.check import Conditions
from checker.check.steps import Check
from checker.sandbox import in_process
from checker.sandbox.host import Host
from checker.submission.read import from_cells

# Inputs that are sums, which every machine adds up in an order of its own: of p7, and the parts that b3 merges.
DERIVED = ("o_ptr", "lse_ptr", "delta_ptr", "o_part_ptr", "lse_part_ptr")
digest = hashlib.sha256()
request = in_process.request


def noted(*asked):
    """The request, and what it is made of added to the digest."""
    header, buffers = request(*asked)
    tensors = [of for launch in header["launches"] for of in launch["tensors"].items()]
    drawn = [buffers[tensor["values"]["buffer"]] for name, tensor in tensors if name not in DERIVED]
    digest.update(in_process.wire.pack(header, drawn))
    return header, buffers


in_process.request = noted


def judged(line: str) -> str:
    """What comes of {puzzle, text, key}; without a key, in practice."""
    global digest
    asked, digest = json.loads(line), hashlib.sha256()
    submission = from_cells([("code", asked["text"])], "kernel.py", numbered=False)
    puzzle = catalog.load(asked["puzzle"])
    conditions = Conditions(host=Host(in_process=True), targets=())
    check = Check(puzzle, submission, conditions)
    if asked["key"] is not None:
        check.draw = puzzle.draw(asked["key"], "")
    verdict = check.run(in_process.InProcess(conditions.limits)).verdict
    answer = {
        "verdict": verdict.status.value,
        "findings": [finding.id for finding in verdict.findings],
        "passed": [one.name for one in verdict.properties if one.passed],
        "compiled": len(verdict.compiled),
        "asked": digest.hexdigest(),
    }
    return json.dumps(answer)


if __name__ == "__main__":
    for one in sys.stdin:
        print(judged(one), flush=True)
