"""`python -m checker.publish.locks`: pin every package of every layer of `.venv`, with the hashes of its files.

What is chosen by hand stands in `constraints.txt`; uv adds what that needs, for every Python and platform at once. Each
lock has only what the layers below it do not install. PyTorch is in none of them: which of its builds is right depends
on the machine.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from checker.course.places import ROOT

OLDEST = "3.10"  # Python
LAYERS: dict[str, tuple[str, ...]] = {  # and the layers below it
    "check": (),
    "plot": ("check",),
    "lab": ("check", "plot"),
    "cluster": ("check", "plot", "lab"),
    "site": ("check",),
    "test": ("check", "plot", "lab", "cluster", "site"),
}
HEAD = "# Built by `make locks` from constraints.txt and pyproject.toml.\n"


def packages(lock: str) -> list[str]:
    """Return each package of a lock with its hashes."""
    return re.findall(r"^[^\s#].*(?:\n    .*)*", lock, re.MULTILINE)


def main(root: Path = ROOT) -> None:
    """Write all locks anew."""
    (root / "locks").mkdir(exist_ok=True)
    made: dict[str, list[str]] = {}
    for layer, below in LAYERS.items():
        command = ["uv", "pip", "compile", "-q", "--universal", "--generate-hashes", "--no-header", "--no-annotate"]
        command += ["--no-strip-extras"]  # else pip looks for the newest release of what is wanted with an extra
        command += ["-c", "constraints.txt", "--python-version", OLDEST, "pyproject.toml"]
        command += ["--extra", "build" if layer == "check" else layer]
        lock = subprocess.run(command, cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout
        made[layer] = packages(lock)
        there = {package for name in below for package in made[name]}  # with its markers, which may be others here
        new = [package for package in made[layer] if package not in there]
        (root / "locks" / f"{layer}.txt").write_text(HEAD + "\n".join(new) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
