"""Hand ten classic wrong kernels to other people's tests of attention: which of them do those accept?

    python3 -m benchmarks.peers --cs336 FOLDER --tutorial FOLDER --tensara FOLDER --kernelbench FOLDER [--write]

Each FOLDER is a checkout of the project, of which no code is here: its own inputs, references and tolerances are loaded
from there, and our kernels are handed in where a student's would be. They run on Triton's own interpreter, on the CPU,
each in a process of its own, because the interpreter knows no bounds: what is stored past the end of a tensor can end
the process. `--write` keeps the outcomes in `results/peers.json`; the tables of `docs/traps.md` were made of it on
2026-11-28. CS336's tests need einops.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import importlib
import importlib.util
import inspect
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from benchmarks.page import RESULTS
from benchmarks.setting import ROOT, in_words, setting
from tests.kernels import named

FIGURES = RESULTS / "peers.json"
RIGHT, ZEROS = "p6_flash_attention_2", "p6_zeros"
SIDE = 64  # of a tile: what the lesson launches
OUTCOMES = {0: "accepted", 1: "refused"}
DIED = "died"  # no verdict: the process ended, or something else failed than a comparison
PATIENCE = 900  # seconds for a kernel

Attention = Callable[..., Any]  # of torch's tensors, as `handed_in` makes it


def handed_in(name: str, folder: Path) -> Attention:
    """A kernel as a differentiable function: (…, n, d) tensors, whether causal, and a scale. It keeps LSE.

    The gradients are PyTorch's own, of attention as it should be: what is judged is the forward pass alone.
    """
    import torch
    import triton

    kernel = loaded(named(name).write(folder)).flash_attention_2_kernel

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, q: Any, k: Any, v: Any, causal: bool = False, scale: float | None = None, *_: Any) -> Any:
            heads, n_q, n_k, d = q.shape[:-2], q.shape[-2], k.shape[-2], q.shape[-1]
            ctx.inputs, ctx.causal, ctx.scale = (q, k, v), causal, scale or d**-0.5
            flat_q, flat_k, flat_v = (one.detach().reshape(-1, *one.shape[-2:]).contiguous() for one in (q, k, v))
            o = torch.empty_like(flat_q)
            lse = torch.empty(flat_q.shape[:2])
            kernel[(triton.cdiv(n_q, SIDE), len(flat_q))](
                flat_q, flat_k, flat_v, o, lse,
                *flat_q.stride()[:2], *flat_k.stride()[:2],
                n_q, n_k, ctx.scale,
                D=d, Br=SIDE, Bc=SIDE, CAUSAL=causal,
            )  # fmt: skip
            ctx.save_for_backward(lse.reshape(*heads, n_q))
            return o.reshape(q.shape)

        @staticmethod
        def backward(ctx: Any, do: Any) -> Any:
            with torch.enable_grad():
                q, k, v = (one.detach().requires_grad_() for one in ctx.inputs)
                scores = (q.float() @ k.float().transpose(-1, -2)) * ctx.scale
                if ctx.causal:
                    scores = scores.masked_fill(torch.ones_like(scores).tril().logical_not(), -float("inf"))
                o = (scores.softmax(-1) @ v.float()).to(q.dtype)
                gradients = torch.autograd.grad(o, (q, k, v), do)
            return (*gradients, *(None for _ in range(len(ctx.needs_input_grad) - 3)))

    return Function.apply


# --- what is theirs, taken from a checkout ---


def loaded(path: Path, name: str = "", **sees: Any) -> ModuleType:
    """A file as a module. `name`: of a package, whose files import one another. `sees`: modules that are not there."""
    sys.modules.update(sees)
    inside = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name or path.stem, path, submodule_search_locations=inside)
    assert spec and spec.loader, path
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def taken(path: Path, function: str, **sees: Any) -> Any:
    """One function of a file that as a whole needs a GPU, or more packages than it uses itself. LookupError."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            lines = compile(ast.Module([node], []), str(path), "exec")
            exec(lines, sees)
            return sees[function]
    raise LookupError(f"{path} has no function {function}.")


class OnTheCpu:
    """PyTorch for a module that asks it for tensors on a GPU."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._torch, name)
        if not callable(found) or (inspect.isclass(found) and name != "Generator"):
            return found
        return lambda *given, **more: found(*given, **(more | {"device": "cpu"} if "device" in more else more))


# --- their judges: each returns if it accepts, and raises AssertionError if it refuses ---


def cs336(checkout: Path, attention: Attention) -> None:
    """Its own test of a forward pass, on the CPU, full and causal: (4, 128, 64), O and LSE."""
    loaded(checkout / "tests" / "__init__.py", "cs336")  # `tests` are ours
    adapters = importlib.import_module("cs336.adapters")
    hook = SimpleNamespace(apply=attention)
    adapters.get_flashattention_autograd_function_triton = lambda: hook  # type: ignore[attr-defined]
    theirs = importlib.import_module("cs336.test_attention")
    function = theirs.get_flashattention_autograd_function_triton().apply
    for causal in (False, True):
        theirs._test_flash_forward_pass(function, is_causal=causal)


def tutorial(checkout: Path, attention: Attention) -> None:
    """`test_op` of Triton's tutorial 06, with those of its parameters that the interpreter can bear."""
    import pytest
    import torch
    import triton

    test = taken(
        checkout / "python" / "tutorials" / "06-fused-attention.py", "test_op",
        torch=torch, triton=triton, pytest=pytest, attention=attention, DEVICE="cpu",
        is_hip=lambda: False, is_blackwell=lambda: False, TORCH_HAS_FP8=False,
    )  # fmt: skip
    for given in parameters(test.pytestmark):
        # Another mode is skipped there, since this one computes the forward pass as well.
        if given["H"] == 2 and given["N_CTX"] <= 1024 and given["HEAD_DIM"] == 64 and given.get("mode") != "fwd":
            test(**given | {"H": 1})


def parameters(marks: list[Any]) -> Iterator[dict[str, Any]]:
    """What pytest would call a test with: everything with everything."""
    asked = [(mark.args[0].replace(" ", "").split(","), mark.args[1]) for mark in marks if mark.name == "parametrize"]
    for values in itertools.product(*(values for _, values in asked)):
        given: dict[str, Any] = {}
        for (names, _), value in zip(asked, values, strict=True):
            given.update(zip(names, value if len(names) > 1 else [value], strict=True))
        yield given


class Problem:
    """What tensara's problems inherit from, in its own repository: as far as this one uses it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def param_dtype(self, _: int) -> Any:
        """The type of all tensors."""
        import torch

        return torch.float32

    @staticmethod
    def get_seed(text: str) -> int:
        """A number that depends on a text alone."""
        return int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)


def tensara(checkout: Path, attention: Attention) -> None:
    """Its sample and its six test cases, of which the first head alone."""
    import torch

    base = ModuleType("problem")
    base.Problem = Problem  # type: ignore[attr-defined]
    theirs = loaded(checkout / "problems" / "scaled-dot-attention" / "def.py", problem=base)
    theirs.torch = OnTheCpu(torch)  # type: ignore[attr-defined]
    problem = theirs.scaled_dot_attention()
    for case in problem.generate_test_cases():
        inputs = [one[:1, :1].contiguous() for one in case["create_inputs"]()]
        right, _ = problem.verify_result(problem.reference_solution(*inputs), attention(*inputs))
        assert right, case["name"]


def kernelbench(checkout: Path, attention: Attention) -> None:
    """Problem 97 of level 1, with its tolerance for fp32, of which one head alone."""
    import torch

    [path] = (checkout / "KernelBench" / "level1").glob("97_*.py")
    theirs = loaded(path)
    theirs.batch_size = theirs.num_heads = 1  # type: ignore[attr-defined]
    evaluation = checkout / "src" / "kernelbench" / "eval.py"
    tolerance = taken(evaluation, "get_tolerance_for_precision", torch=torch)(torch.float32)
    torch.manual_seed(42)
    inputs = theirs.get_inputs()
    right = theirs.Model(*theirs.get_init_inputs())(*inputs)
    assert torch.allclose(right, attention(*inputs), atol=tolerance, rtol=tolerance)


@dataclass(frozen=True)
class Judge:
    """A judge that can be driven here."""

    name: str  # in the figures
    judge: Callable[[Path, Attention], None]
    ran: str


JUDGES = {
    "cs336": Judge("CS336", cs336, "its forward test, (4, 128, 64), full and causal, O and LSE"),
    "tutorial": Judge("tutorial 06", tutorial, "one head, 128 and 1,024 tokens, width 64, full and causal, fp16"),
    "tensara": Judge("tensara", tensara, "all six shapes, one head of each"),
    "kernelbench": Judge("KernelBench 97", kernelbench, "its shape, one of 1,024 heads"),
}


def judged(flag: str, checkout: Path, kernel: str) -> None:
    """In a process of its own: exit status 0 is accepted, 1 is refused, anything else is neither."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            JUDGES[flag].judge(checkout, handed_in(kernel, Path(folder)))
        except AssertionError as refusal:
            print(refusal, file=sys.stderr)
            sys.exit(1)
        except Exception as problem:
            print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
            sys.exit(3)


def outcome(flag: str, checkout: Path, kernel: str) -> tuple[str, str]:
    """What a judge makes of a kernel, and the last thing that it said."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", f"--{flag}", str(checkout.resolve()), "--one", kernel],
        cwd=ROOT, env=os.environ | {"TRITON_INTERPRET": "1"}, timeout=PATIENCE,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = done.stderr.strip().split("\n")[-1]
    return OUTCOMES.get(done.returncode, DIED), said if done.returncode > 0 else f"signal {-done.returncode}"


def measured(flag: str, checkout: Path, kernels: Mapping[str, Any]) -> dict[str, Any]:
    """All kernels by one judge. RuntimeError if it does not accept the solution: then it is not driven as it should."""
    judge = JUDGES[flag]
    if (first := outcome(flag, checkout, RIGHT))[0] != "accepted":
        raise RuntimeError(f"{judge.name} should accept the solution, and has {first[0]} it: {first[1]}")
    outcomes = {}
    for kernel in (*kernels, ZEROS):
        outcomes[kernel], said = outcome(flag, checkout, kernel)
        print(f"{judge.name}: {kernel} {outcomes[kernel]}" + f" ({said})" * (outcomes[kernel] != "accepted"))
    commit = subprocess.run(
        ["git", "-C", str(checkout), "log", "-1", "--format=%h"], capture_output=True, text=True, check=False
    ).stdout.strip()
    where = setting(("torch", "triton", "numpy"))
    print(f"{judge.name}, commit {commit}, {judge.ran}; {in_words(where)}\n")
    kept = {name: where[name] for name in ("date", "versions")}
    return {**kept, "commit": commit, "ran": judge.ran, "outcomes": outcomes}


def main() -> None:
    """Drive those judges whose checkouts are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for flag, judge in JUDGES.items():
        parser.add_argument(f"--{flag}", type=Path, metavar="FOLDER", help=f"a checkout with {judge.name}")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--write", action="store_true", help="keep the outcomes in benchmarks/results/peers.json")
    options = parser.parse_args()
    there = {flag: folder for flag in JUDGES if (folder := getattr(options, flag))}
    if options.one:
        [(flag, checkout)] = there.items()
        judged(flag, checkout, options.one)
        return
    if not there:
        parser.error("name a checkout at least")
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    for flag, checkout in there.items():
        figures["judges"][JUDGES[flag].name]["measured"] = measured(flag, checkout, figures["kernels"])
    if options.write:
        FIGURES.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
