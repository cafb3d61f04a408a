"""What becomes of a check with a Triton that is not as the checker knows it: a clear fault, or only a slower launch."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import triton

from checker.box.exchange import BoxFailed
from checker.box.inside import patches
from checker.check import Terms
from checker.course import places
from tests.conftest import ROOT, check_kernel, check_path
from tests.kernels import named

# Each name is taken away, or gets other arguments, in a process of its own.
SCRIPT = """
import json, os, sys
import numpy as np
from checker.box.inside import interpreter as box, patches
from checker.box.inside.memory import BoxTensor, Memory

def launched():
    box.prepare()
    kernel = box.load_kernels("kernel.py", open(sys.argv[1]).read(), ["naive_softmax_kernel"])["naive_softmax_kernel"]
    x = np.arange(21, dtype=np.float32).reshape(3, 7)
    tensors = [BoxTensor("x_ptr", x, (9, 1)), BoxTensor("y_ptr", np.zeros_like(x), (8, 1))]
    memory = Memory(tensors, box.running_position, float("nan"))
    arguments = {one.name: box.pointer(one) for one in tensors} | {"BLOCK_SIZE": 8}
    arguments |= {n: box.scalar(v, "int32") for n, v in (("x_row_stride", 9), ("y_row_stride", 8), ("n_cols", 7))}
    box.launch(kernel, memory, arguments, (3, 1, 1), np.arange(3), True)
    return [[part.tolist() for part in memory.log()], tensors[1].values.tolist()]

def other(): pass

def outcome(group, name, instead):
    def change():
        owner = patches.owner(group.owner)
        if hasattr(owner, name):
            setattr(owner, name, instead)
    if not group.without:  # Triton itself needs it: it has another name for it
        group.patches["of another name"] = group.patches.pop(name)
        return launched()
    change()
    if name != "_patch_lang":  # which puts some names in place
        patch_lang = box.interpreter._patch_lang
        box.interpreter._patch_lang = lambda fn: (patch_lang(fn), change())
    try:
        return launched()
    except patches.UnknownTriton as fault:
        return str(fault)

def forked(*change):
    reader, writer = os.pipe()
    if not os.fork():
        with os.fdopen(writer, "w") as stream:
            json.dump(outcome(*change) if change else launched(), stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        return json.load(stream)

said = [forked()]
for group in patches.TABLE:
    for name, patch in list(group.patches.items()):
        changes = [None, other] if patch.like and group.without else [None]
        said.append([group.owner, name, group.without, [forked(group, name, change) for change in changes]])
print(json.dumps(said))
"""


def test_without_a_name_of_tritons_there_is_a_fault_or_the_same_result() -> None:
    variables = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT, str(places.solution("p1"))]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    plain, *names = json.loads(done.stdout)
    assert plain[1][0][6] > plain[1][0][0] > 0
    for owner, name, without, outcomes in names:
        fault = f"Triton {triton.__version__} has another {owner}.{name} than this checker knows"
        for outcome in outcomes:
            if without:
                assert outcome.startswith(fault) and outcome.endswith("Use Triton 3.6 to 3.9."), outcome
            else:
                assert outcome == plain, name
    assert len(names) > 100


def test_what_triton_refuses_of_a_type_is_refused() -> None:
    """An exponential of fp16: Triton looks at the type between what a kernel calls and what computes."""
    verdict = check_kernel(named("p1_half_exponential"), Terms(targets=()))
    assert [finding.id for finding in verdict.findings] == ["half-not-upcast"]


def test_a_check_says_which_triton_it_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The child finds a Triton that counts no matrix products."""
    (tmp_path / "triton.py").write_text(
        "import sys\n"
        f"sys.path.remove({str(tmp_path)!r})\n"
        "del sys.modules['triton']\n"
        "import triton.runtime.interpreter\n"
        "del triton.runtime.interpreter.InterpreterBuilder.create_dot\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BoxFailed, match=r"Triton 3\.\S+ has another \S+create_dot than this checker knows, or none"):
        check_path(places.solution("p1"))


def test_no_other_name_of_the_interpreter_is_used() -> None:
    known = {name for group in patches.TABLE for name in (*group.owner.split("."), *group.patches)}
    used = {
        node.attr
        for path in (ROOT / "checker" / "box" / "inside").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "interpreter"
    }
    own = {"launch", "load_kernels", "pointer", "prepare", "scalar"}  # of the box's module of the same name
    own |= {"running_position", "program_now"}
    assert "TensorHandle" in used and used - own <= known
