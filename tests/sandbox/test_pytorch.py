"""PyTorch programs in the sandbox: what is counted of them, what is refused, and what ends them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker.course.misconception import Footprint
from checker.judge.footprint import used
from checker.sandbox.exchange import Ending
from checker.sandbox.host import Host
from checker.sandbox.inside import seccomp
from checker.sandbox.parent import Limits, PassResult, Sandbox
from checker.sandbox.protocol.device import Device
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.records import BLOCK, DOT, HELD, STORE, TOO_MUCH_WORK
from checker.submission.extract import NotASubmission, extract
from checker.submission.read import from_cells
from tests.conftest import caged_processes
from tests.pytorch import FORWARD, Attack, attacks

ESCAPED = Path(tempfile.gettempdir(), "escaped")  # what attacks would write
PRODUCT = "def f(a, b):\n    return a @ b\n"
SIZES = st.integers(1, 9)


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host(kept=True) as host:
        yield host


def launch(m: int = 4, k: int = 5, n: int = 6, dtype: type = np.float32, gap: int = 0) -> Launch:
    random = np.random.default_rng(m * k * n)
    a, b = random.normal(size=(m, k)).astype(dtype), random.normal(size=(k, n)).astype(dtype)
    c = np.full((m, n), np.nan, dtype)
    tensors = {"a": TensorArgument(a, (k + gap, 1)), "b": TensorArgument(b, (1, k + gap))}
    return Launch("f", (1, 1, 1), tensors | {"c": TensorArgument(c, (n, 1), output=True)}, {}, {})


def ran(source: str, host: Host, one: Launch | None = None, limits: Limits | None = None) -> PassResult:
    with Sandbox(limits or Limits(), Device.PYTORCH, host) as sandbox:
        return sandbox.run(source, ["f"], [one or launch()], [[(0, range(1))]]).passes[0]


def error(source: str, host: Host) -> tuple[str, str]:
    found = ran(source, host).results[0].error
    assert found is not None
    return found.type, found.message


@settings(max_examples=20)
@given(SIZES, SIZES, SIZES, st.sampled_from([np.float32, np.float64]), st.integers(0, 2))
def test_values_products_and_the_peak_are_those_of_the_program(
    host: Host, m: int, k: int, n: int, dtype: type, gap: int
) -> None:
    asked = launch(m, k, n, dtype, gap)
    result = ran("def f(a, b):\n    c = a @ b\n    return c + 1\n", host, asked).results[0]
    assert result.error is None and result.reached == {0}
    a, b = (asked.tensors[name].values for name in "ab")
    np.testing.assert_allclose(result.tensors["c"], a.astype(float) @ b + 1, rtol=1e-5, atol=1e-5)
    assert result.tensors["a"].tobytes() == a.tobytes()
    assert used(result) == Footprint(m * n, 2 * m * n, m * k * n)


@pytest.mark.parametrize(
    ("body", "largest", "at_once"),
    [
        ("kept = [a + i for i in range(5)]; return a @ b", 24, 5 * 20 + 24),
        ("for i in range(5):\n        x = a + i\n    return a @ b", 24, 20 + 24),  # of two x, one has gone
        ("x = a[:, 1:].T; y = x.expand(4, 4); return a @ b", 24, 24),  # views take nothing
        ("c = torch.empty(4, 6); c[:2] = a[:2] @ b; c[2:] = a[2:] @ b; return c", 24, 36),
        ("torch.zeros(100); return a @ b", 100, 100),
        ("x = torch.zeros(50) > 1; del x; return a @ b", 50, 100),
        ("return torch.einsum('ik,kj->ij', a, b)", 24, 24),
    ],
)
def test_what_lives_is_counted_while_it_lives(host: Host, body: str, largest: int, at_once: int) -> None:
    own = used(ran(f"def f(a, b):\n    {body}\n", host).results[0])
    assert (own.largest, own.at_once, own.products) == (largest, at_once, 120)


@pytest.mark.parametrize(
    ("body", "products"),
    [
        ("return sum(a[:, c : c + 1] * b[c] for c in range(5))", 120),
        ("return (a[:, :, None] * b).sum(1)", 120),
        ("return (a[:, :, None] / (1 / b)).sum(1)", 120),
        ("return a.new_zeros(4, 6).addmm(a, b) * 2 * a[:, :1]", 120),  # no rows by columns
    ],
)
def test_products_by_hand_are_counted(host: Host, body: str, products: int) -> None:
    assert used(ran(f"def f(a, b):\n    {body}\n", host).results[0]).products == products


def test_records_know_their_lines(host: Host) -> None:
    source = "def g(a, b):\n    return a @ b\n\ndef f(a, b):\n    big = torch.zeros(99)\n    return g(a, b)\n"
    log = ran(source, host).results[0].log
    lines = {kind: log.line[log.kind == kind].tolist() for kind in (BLOCK, HELD, DOT)}
    assert lines == {BLOCK: [5], HELD: [5, 2], DOT: [2]}


def test_inputs_that_change_come_back_changed(host: Host) -> None:
    asked = launch()
    result = ran("def f(a, b):\n    a[1:3].mul_(2)\n    return a @ b\n", host, asked).results[0]
    assert (result.tensors["a"] != asked.tensors["a"].values).any()
    assert (result.tensors["b"] == asked.tensors["b"].values).all()
    assert result.log.line[(result.log.kind == STORE) & (result.log.tensor == 0)].tolist() == [2]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return None", "for c it returned None, and not a tensor"),
        ("return a @ b, a", "it returned 2 values, and not c"),
        ("return 3.5", "for c it returned a float, and not a tensor"),
        ("return b.T @ a.T", "c has shape (6, 4) and type float32, and not shape (4, 6) and type float32"),
        ("return (a @ b).double()", "c has shape (4, 6) and type float64, and not shape (4, 6) and type float32"),
    ],
)
def test_results_of_another_form_are_errors(host: Host, body: str, message: str) -> None:
    assert error(f"def f(a, b):\n    {body}\n", host) == ("WrongResult", message)


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        ("q = a[None, None]; return torch.nn.functional.scaled_dot_product_attention(q, q, q)", "_scaled_dot"),
        ("a.sum().item()", "_local_scalar_dense"),
        ("float(a[0, 0])", "_local_scalar_dense"),
        ("torch.linalg.svd(a)", "linalg"),
        ("torch.sort(a)", "sort"),
        ("torch.rand(3)", "rand"),
        ("a.set_(b)", "set_"),
        ("a.resize_(100)", "resize_"),
        ("torch.cdist(a, b.T)", "cdist"),
        ("a.view(torch.float64)", "view"),  # half as many numbers
        ("torch.frombuffer(bytearray(8), dtype=torch.float32) + 1; torch.fft.fft(a)", "fft"),
        ("torch.vmap(torch.sort)(a)", "sort"),
        # Numbers bit by bit, or as how many a mask takes; and two in place of one.
        ("kept = [n for n in range(99) if (a > n).all()]; return a @ b", "_local_scalar_dense"),
        ("kept = [len(a[a > n]) for n in range(99)]; return a @ b", "_local_scalar_dense"),
        ("torch.full((3,), (-1.0) ** 0.5); return a @ b", "complex"),
    ],
)
def test_operations_that_are_not_on_the_list_are_errors(host: Host, body: str, operation: str) -> None:
    kind, message = error(f"def f(a, b):\n    {body}\n    return a @ b\n", host)
    assert kind == "NotAllowed" and operation in message


@pytest.mark.parametrize(
    "body",
    [
        "if (a == a).all(): return a @ b",  # a truth value, and not a number
        "for n in range(99):\n        if (a @ b == a @ b).all(): pass\n    return a @ b",  # a few for each product
        "torch.func.vmap(lambda x: x + 1)(a); return a @ b",
    ],
)
def test_other_ways_stay_open(host: Host, body: str) -> None:
    assert ran(f"def f(a, b):\n    {body}\n", host).results[0].error is None


# What the lint would never let through: the sandbox holds alone.
HOSTILE = {
    "threads": "import threading; threading.Thread(target=print).start()",
    "processes": "import os; os.fork()",
    "commands": "import subprocess; subprocess.run(['true'])",
    "files": "open('/tmp/escaped', 'w')",
    "saved tensors": "torch.save(a, '/tmp/escaped')",
    "network": "import socket; socket.socket().connect(('127.0.0.1', 9))",
    "compilers": "torch.compile(lambda x: x.sin(), backend='inductor')(a)",
    "more than there is": "torch.zeros(1 << 28).fill_(1.0)",
    "more than there is, for Python": "[0] * (1 << 28)",
    "deep": "f(a, b)",
}


@pytest.mark.skipif(not seccomp.available(), reason="this kernel has no system-call filters")
@pytest.mark.parametrize("name", HOSTILE)
def test_what_reaches_out_fails(host: Host, name: str) -> None:
    result = ran(f"def f(a, b):\n    {HOSTILE[name]}\n    return a @ b\n", host)
    assert result.ending is Ending.FINISHED and result.results[0].error is not None
    assert "escaped" not in str(result.printed)
    again = ran(PRODUCT, host)
    assert again.results[0].error is None and used(again.results[0]) == Footprint(24, 24, 120)


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ("min(iter(int, 1))", Ending.CPU_TIME),
        ("import time; time.sleep(60)", Ending.WAITED),
        ("import os; os._exit(0)", Ending.FINISHED),  # with an answer missing
        ("import os; os.abort()", Ending.KILLED),
        ("import ctypes; ctypes.string_at(0)", Ending.KILLED),
        ("while True: print('x' * 9999)", Ending.FLOODED),
    ],
)
def test_what_never_answers_is_ended(body: str, ending: Ending) -> None:
    with Host(kept=True) as host:
        ran(PRODUCT, host)
        limits = Limits(patience=1.0, waiting_seconds=2.0)
        result = ran(f"def f(a, b):\n    {body}\n    return a @ b\n", host, limits=limits)
        assert result.ending is ending and result.unanswered == 0
        assert ran(PRODUCT, host).results[0].error is None


@pytest.mark.parametrize("body", ["[0 for _ in iter(int, 1)]", "(*(0 for _ in iter(int, 1)),)"])
def test_what_a_comprehension_does_is_counted(host: Host, body: str) -> None:
    assert error(f"def f(a, b):\n    {body}\n", host)[0] == TOO_MUCH_WORK


def test_nothing_is_left_for_the_next_program(host: Host) -> None:
    ran("def f(a, b):\n    torch.Tensor.__matmul__ = None\n    torch.exp = None\n    return a + b\n", host)
    result = ran("def f(a, b):\n    return torch.exp(a @ b)\n", host).results[0]
    assert result.error is None


@pytest.mark.skipif(not seccomp.available(), reason="this kernel has no system-call filters")
@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)
def test_an_attack_without_the_lint_does_no_harm(host: Host, attack: Attack) -> None:
    _attacked(host, attack)


def test_nor_does_it_in_a_cage(kept: Host) -> None:
    for attack in attacks():
        _attacked(kept, attack)
    assert caged_processes() == []


def _attacked(host: Host, attack: Attack) -> None:
    try:
        program = extract(from_cells([("code", attack.text)], "a2.py", numbered=False), (FORWARD,))
    except NotASubmission:
        return
    limits = Limits(patience=1.0, waiting_seconds=2.0, output_bytes=1 << 16)
    with Sandbox(limits, Device.PYTORCH, host) as sandbox:
        sandbox.run(program.source, [FORWARD.name], [attention()], [[(0, range(1))]])
    result = ran(PRODUCT, host).results[0]
    assert result.error is None and used(result) == Footprint(24, 24, 120), attack.name
    assert not ESCAPED.exists()


def attention() -> Launch:
    random, strides = np.random.default_rng(0), (64, 32, 4, 1)
    inputs = {name: TensorArgument(random.normal(size=(1, 2, 8, 4)).astype(np.float32), strides) for name in "qkv"}
    o, lse = (np.full((1, 2, 8, 4)[:sides], np.nan, np.float32) for sides in (4, 3))
    outputs = {"o": TensorArgument(o, strides, output=True), "lse": TensorArgument(lse, (16, 8, 1), output=True)}
    sizes: dict[str, int | float | bool] = {"causal": True, "Br": 4, "Bc": 4}
    return Launch(FORWARD.name, (1, 1, 1), inputs | outputs, {"scale": ("float32", 0.5)}, sizes)
