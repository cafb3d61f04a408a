"""What `.venv` is made of: what is pinned by hand is locked, with hashes, in the layer that needs it."""

from __future__ import annotations

import re

import pytest

from checker.publish.locks import LAYERS, packages
from tests.conftest import ROOT

tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
NAME = re.compile(r"[A-Za-z0-9._-]+")


def locked(layer: str) -> dict[str, str]:
    """Lines with pins → the whole package, of a layer alone."""
    found = packages((ROOT / "locks" / f"{layer}.txt").read_text())
    return {package.split(" \\")[0]: package for package in found}


def names(lines: object) -> set[str]:
    return {match[0].lower() for line in lines if (match := NAME.match(line))}  # type: ignore[attr-defined]


@pytest.mark.parametrize("layer", LAYERS)
def test_each_layer_has_what_it_needs_with_hashes(layer: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {"check": project["dependencies"], **project["optional-dependencies"]}
    there = set().union(*(names(locked(one)) for one in (*LAYERS[layer][1], layer)))
    assert names(extras[layer]) - {"flash-puzzles"} <= there, "run: make locks"
    assert all("--hash=sha256:" in package for package in locked(layer).values())


def test_what_is_pinned_by_hand_is_locked_so() -> None:
    pins = (line for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    every = {line.split(" ;")[0] for layer in LAYERS for line in locked(layer)}
    left_out = {pin.split(";")[0] for pin in pins} - every
    assert {NAME.match(pin)[0] for pin in left_out} == {"torch"}, "run: make locks"  # type: ignore[index]
