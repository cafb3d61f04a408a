"""A Triton that the checker does not know is a clear fault, or only makes launches slower."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import pytest
import triton

from checker.check import Conditions
from checker.course import places
from checker.sandbox.exchange import SandboxFailed
from checker.sandbox.inside import patches
from checker.sandbox.protocol import supported
from tests.conftest import ROOT, check_kernel, check_path, ran
from tests.kernels import named
from tests.versions.parameters import recorded

# Each name is taken away, or gets other arguments, in a process of its own.
SCRIPT = """
import json, os, sys
import numpy as np
from checker.sandbox.inside import interpreter as sandbox, patches
from checker.sandbox.inside.memory import SandboxTensor, Memory

def launched():
    sandbox.prepare()
    text = open(sys.argv[1]).read()
    kernel = sandbox.load_kernels("kernel.py", text, ["naive_softmax_kernel"])["naive_softmax_kernel"]
    x = np.arange(21, dtype=np.float32).reshape(3, 7)
    tensors = [SandboxTensor("x_ptr", x, (9, 1)), SandboxTensor("y_ptr", np.zeros_like(x), (8, 1))]
    memory = Memory(tensors, sandbox.running_position, float("nan"))
    arguments = {one.name: sandbox.pointer(one) for one in tensors} | {"BLOCK_SIZE": 8}
    arguments |= {n: sandbox.scalar(v, "int32") for n, v in (("x_row_stride", 9), ("y_row_stride", 8), ("n_cols", 7))}
    sandbox.launch(kernel, memory, arguments, (3, 1, 1), np.arange(3), True)
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
        patch_lang = sandbox.interpreter._patch_lang
        sandbox.interpreter._patch_lang = lambda fn: (patch_lang(fn), change())
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
    done = ran(sys.executable, "-c", SCRIPT, places.solution("p1"), ends=0, TRITON_INTERPRET="1")
    plain, *names = json.loads(done.stdout)
    assert plain[1][0][6] > plain[1][0][0] > 0
    for owner, name, without, outcomes in names:
        fault = f"Triton {triton.__version__} has another {owner}.{name} than this checker knows"
        for outcome in outcomes:
            if without:
                assert outcome.startswith(fault) and outcome.endswith(supported.instead_of(triton.__version__)), outcome
            else:
                assert outcome == plain, name
    assert len(names) > 100


def test_the_table_fits_each_release_that_is_supported() -> None:
    """As far as `tests/versions/parameters.json` tells, whichever Triton is installed here."""
    told = recorded()
    releases = {release for taken in told.values() for of in taken.values() for release in of}
    assert {supported.OLDEST, supported.NEWEST} <= {tuple(map(int, one.split(".")[:2])) for one in releases}
    assert supported.CHOSEN in releases
    for group in patches.TABLE:
        for name, patch in group.patches.items():
            if not group.without:
                continue
            fitting = {
                release
                for parameters, of in told[f"{group.owner}.{name}"].items()
                for release in of
                if patch.fits(eval(f"lambda {parameters}: None"))
            }
            assert fitting == releases, f"{group.owner}.{name}: python -m tests.versions.parameters, with each release"


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("3.5.1", "Use Triton 3.6 to 3.9."),
        ("3.6.0", "That is a fault of the checker's: please report it, and use Triton 3.7.1 until it is fixed."),
        ("3.7.1", "That is a fault of the checker's: please report it."),
        (
            "3.9.4+git1234",
            "That is a fault of the checker's: please report it, and use Triton 3.7.1 until it is fixed.",
        ),
        ("3.10.0", "Use Triton 3.6 to 3.9."),
    ],
)
def test_what_was_refused_is_not_what_to_use(version: str, said: str) -> None:
    assert supported.instead_of(version) == said


def test_a_newer_triton_judges_as_far_as_it_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "triton.py").write_text(
        f"import sys\nsys.path.remove({str(tmp_path)!r})\ndel sys.modules['triton']\n"
        "import triton\ntriton.__version__ = '3.10.0'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    verdict = check_path(places.solution("p1"), Conditions(targets=()))
    assert verdict.accepted
    assert "Triton 3.10.0 is newer than what the checker was tried with, Triton 3.6 to 3.9." in verdict.remarks


def test_one_range_of_tritons_stands_everywhere() -> None:
    """The package's requirement, what `make` installs, and what the checker says."""
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    assert f"triton=={supported.CHOSEN}" in pins
    (major, oldest), (_, newest) = supported.OLDEST, supported.NEWEST
    required = f"triton>={major}.{oldest},<{major}.{newest + 1};"
    assert required in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f"Triton {major}.{oldest} to {major}.{newest}" == supported.SUPPORTED


def test_what_triton_refuses_of_a_type_is_refused() -> None:
    """An exponential of fp16: Triton looks at the type between what a kernel calls and what computes."""
    verdict = check_kernel(named("p1_half_exponential"), Conditions(targets=()))
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
    said = r"the sandbox did not start: Triton 3\.\S+ has another \S+create_dot than this checker knows, or none"
    with pytest.raises(SandboxFailed, match=f"^{said}"):  # a sentence, and no traceback
        check_path(places.solution("p1"), Conditions())


def test_no_other_name_of_the_interpreter_is_used() -> None:
    known = {name for group in patches.TABLE for name in (*group.owner.split("."), *group.patches)}
    used = {
        node.attr
        for path in (ROOT / "checker" / "sandbox" / "inside").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if node.value.id in ("interpreter", "of_triton")
    }
    own = {"held", "launch", "like", "load_kernels", "pointer", "prepare", "scalar"}  # of the sandbox's own module
    own |= {"running_position", "program_now", "Asserts", "printed"}
    assert "TensorHandle" in used and used - own <= known
