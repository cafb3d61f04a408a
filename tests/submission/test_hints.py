"""A cache modifier, an eviction policy, `volatile`: the lint refuses those together that ptxas refuses."""

from __future__ import annotations

import itertools
import json
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.version import Version

from checker.course.kernel import Kernel
from checker.submission.extract import extract
from checker.submission.lint import lint
from checker.submission.read import from_cells
from tests.conftest import ran

MODIFIERS = {"load": ["", ".ca", ".cg", ".cv"], "store": ["", ".wb", ".cg", ".cs", ".wt"]}
VOLATILE = {"load": ["", "volatile=False", "volatile=True"], "store": [""]}
EVERY = [
    (verb, *hints)
    for verb, modifiers in MODIFIERS.items()
    for hints in itertools.product(modifiers, ["", "evict_first", "evict_last"], VOLATILE[verb])
]
# The assembler of Triton 3.9 takes .cv with a policy, and not with `volatile`; that of 3.7, for which the lint speaks,
# the other way round. There the compiler has the last word.
IN_OTHER_VERSIONS = ("load", ".cv")
KERNEL = Kernel("kernel", ("x_ptr", "y_ptr", "B"), ("B",))
LINES = {
    "load": "x = tl.load(x_ptr + i, {})\n    tl.store(y_ptr + i, x)",
    "store": "x = tl.load(x_ptr + i)\n    tl.store(y_ptr + i, x, {})",
}
# What becomes of each text that is read: whether Triton makes a binary of it.
COMPILES = """
import importlib.util, json, sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

found = []
for path in sys.argv[1:]:
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "B": "constexpr"}
    try:
        triton.compile(ASTSource(module.kernel, signature, {"B": 128}), target=GPUTarget("cuda", 90, 32))
        found.append(True)
    except Exception:
        found.append(False)
print("compiled:", json.dumps(found))
"""


def text(verb: str, modifier: str, policy: str, volatile: str) -> str:
    return written(verb, f'cache_modifier="{modifier}", eviction_policy="{policy}", {volatile}')


def written(verb: str, hints: str) -> str:
    return (
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        f"def kernel(x_ptr, y_ptr, B: tl.constexpr):\n    i = tl.arange(0, B)\n    {LINES[verb].format(hints)}\n"
    )


def refused(written: str) -> bool:
    problems = lint(extract(from_cells([("code", written)], "kernel.py", numbered=False), (KERNEL,)))
    assert all(problem.id == "two-hints" and not problem.compiles for problem in problems)
    return bool(problems)


def test_what_the_assembler_refuses_is_refused_and_nothing_else(tmp_path: Path) -> None:
    paths = [tmp_path / f"kernel_{number}.py" for number in range(len(EVERY))]
    for path, hints in zip(paths, EVERY, strict=True):
        path.write_text(text(*hints))
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TRITON_CACHE_DIR": str(tmp_path)}
    done = ran(sys.executable, "-c", COMPILES, *paths, ends=0, env=variables)
    compiles = json.loads(done.stdout.rpartition("compiled: ")[2])
    differs = [hints for hints, fine in zip(EVERY, compiles, strict=True) if refused(text(*hints)) == fine]
    if Version(version("triton")) >= Version("3.8"):
        differs = [hints for hints in differs if hints[:2] != IN_OTHER_VERSIONS]
    assert differs == []
    assert 0 < sum(compiles) < len(compiles)


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        ('None, None, (), "", ".cg", "evict_last"', True),
        ('None, None, (), "", "", "evict_last", True', True),
        ('None, None, (), "", "", "", True', False),
        ('cache_modifier=".cg" if B > 1 else "", eviction_policy="evict_last"', True),
        ('cache_modifier=".cg" if B > 1 else ""', False),
        ("", False),
    ],
)
def test_hints_by_position_or_computed_are_seen_as_well(hints: str, expected: bool) -> None:
    assert refused(written("load", hints)) == expected
