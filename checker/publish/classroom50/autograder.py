"""Classroom 50 starts this file for each submission, in the student's checkout, as `python autograder.py`.

It installs what the checker needs into .venv beside this file, and starts the checker, which writes result.json. If any
of this fails, there is no result.json, and the exit status is not 0: then Classroom 50 reports an error, and no score.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOCK = "locks/check.txt"


def main() -> int:
    """Do one step after the other; the exit status of the first that fails, or 0."""
    python = str(HERE / ".venv" / "bin" / "python")
    steps = [
        ["sh", "checker/supported.sh", sys.executable],
        [sys.executable, "-m", "venv", ".venv"],
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "-r", LOCK],
    ]
    if (HERE / ".venv").exists():
        steps.clear()
    steps.append([python, "-m", "checker.publish.classroom50.run", str(Path.cwd())])
    for step in steps:
        try:
            # In this folder: in the student's, `python -m checker` would start the student's copy of the checker.
            status = subprocess.run(step, cwd=HERE, check=False).returncode
        except OSError as error:
            print(f"Not graded: {step[0]} cannot be started: {error.strerror}.", flush=True)
            return 1
        if status:
            print(f"Not graded: `{' '.join(step)}` ended with status {status}.", flush=True)
            return status if status > 0 else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
