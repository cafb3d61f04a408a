"""Versions in `.venv`: each that is pinned by hand is locked, with hashes, in the layer that needs it."""

from __future__ import annotations

import pytest
from packaging.requirements import Requirement

from checker.publish.locks import LAYERS, packages
from tests.conftest import ROOT

tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on


def locked(layer: str) -> list[tuple[Requirement, str]]:
    """What a layer alone pins, each with its hashes."""
    found = packages((ROOT / "locks" / f"{layer}.txt").read_text())
    return [(Requirement(package.split(" \\")[0]), package) for package in found]


@pytest.mark.parametrize("layer", LAYERS)
def test_each_layer_has_what_it_needs_with_hashes(layer: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["build"]] if layer == "check" else extras[layer]
    there = [pin for one in (*LAYERS[layer], layer) for pin, _ in locked(one)]
    for requirement in map(Requirement, needed):
        versions = [str(pin.specifier).removeprefix("==") for pin in there if pin.name == requirement.name]
        if requirement.name != "flash-puzzles":
            assert versions and all(map(requirement.specifier.contains, versions)), f"{requirement}: run make locks"
    assert all("--hash=sha256:" in package for _, package in locked(layer))


def test_what_is_pinned_by_hand_is_locked_so() -> None:
    pins = [Requirement(line) for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line]
    every = {(pin.name, pin.specifier) for layer in LAYERS for pin, _ in locked(layer)}
    assert [pin.name for pin in pins if (pin.name, pin.specifier) not in every] == ["einops", "jaxtyping", "torch"]
