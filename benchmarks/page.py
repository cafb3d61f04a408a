"""Shared code of the benchmarks of whole commands: their options, and the page and data that they write."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.setting import ROOT

RESULTS = ROOT / "benchmarks" / "results"


def main(
    name: str, about: str, measure: Callable[[int, bool], Any], markdown: Callable[[Any], str], runs: int, fresh: str
) -> None:
    """Measure, print, and write `results/name.{md,json}` if asked. `fresh`: what --fresh measures besides."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--fresh", action="store_true", help=fresh)
    parser.add_argument("--write", action="store_true", help=f"write benchmarks/results/{name}.{{md,json}}")
    options = parser.parse_args()
    figures = measure(options.runs, options.fresh)
    show(name, figures, markdown(figures), options.write)


def spread(values: list[float]) -> dict[str, float]:
    """Median and extremes."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def children(pid: int) -> list[int]:
    """The processes that a process has started; none if it has ended meanwhile."""
    try:
        return [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]
    except OSError:
        return []


def below(pid: int) -> list[int]:
    """All processes below a process."""
    return [one for child in children(pid) for one in (child, *below(child))]


def show(name: str, figures: Any, page: str, write: bool) -> None:
    """Print the page; write it, and the figures as data, if asked."""
    print(page)
    if write:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")
        (RESULTS / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
