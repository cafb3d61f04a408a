"""The place and time of a measurement, for the head of each page of results."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def setting(packages: Sequence[str]) -> dict[str, Any]:
    """Date, machine, load (of the last minute), versions and commit, as data."""
    return {
        "date": datetime.date.today().isoformat(),
        "machine": f"{_cpu()}, {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}",
        "load": round(os.getloadavg()[0], 1),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "commit": _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain") else ""),
    }


def in_words(setting: Mapping[str, Any]) -> str:
    """The setting as a clause."""
    versions = ", ".join(f"{name} {value}" for name, value in setting["versions"].items())
    load = f", load average {setting['load']} before"
    return f"{setting['date']}, {setting['machine']}{load}; {versions}; commit {setting['commit']}"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
