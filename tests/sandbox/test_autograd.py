"""Functions that launch kernels that are linked to them: what is launched, what strides reach, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from checker.sandbox.host import Host
from checker.sandbox.parent import Limits, Sandbox
from checker.sandbox.protocol.device import Device
from checker.sandbox.protocol.launch import Form, Launch, TensorArgument
from checker.sandbox.protocol.results import Launched, LaunchResult
from tests.conftest import installed

installed("torch")

MOST_FORMS = 8  # as in `sandbox.inside.autograd`, which only a runner imports

LINKED = """
import triton
import triton.language as tl

@triton.jit
def double_kernel(x_ptr, y_ptr, row_stride, n, B: tl.constexpr):
    cols = tl.arange(0, B)
    x = tl.load(x_ptr + tl.program_id(0) * row_stride + cols, mask=cols < n)
    tl.store(y_ptr + tl.program_id(0) * n + cols, 2 * x, mask=cols < n)

@triton.jit
def never_kernel(x_ptr):
    tl.store(x_ptr, 0.0)
"""
SOURCE = """
def attention_forward(ctx, q, k, v, scale):
    ctx.save_for_backward(k, v)
    o = torch.empty_like(q, memory_format=torch.contiguous_format)
    {forward}
    return o

def attention_backward(ctx, do):
    k, v = ctx.saved_tensors
    dq = torch.empty(do.shape, device=do.device)
    double_kernel[(3,)](do, dq, do.stride(2), 5, B=8)
    {backward}
"""
RIGHT = "double_kernel[(3,)](q, o, q.stride(2), 5, B=8)"
RETURNED = "return dq, k, v, None"
SHAPE = (1, 1, 3, 5)
FORWARD, BACKWARD = "attention_forward", "attention_backward"


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Host(kept=True) as host:
        yield host


def called(
    host: Host, forward: str = RIGHT, backward: str = RETURNED, *, row: int = 5, name: str = BACKWARD
) -> LaunchResult:
    """One call, with rows of q and dO that lie so far apart."""
    random, dense = np.random.default_rng(0), (15, 15, 5, 1)
    tensors = {
        one: TensorArgument(random.normal(size=SHAPE).astype(np.float32), (3 * row, 3 * row, row, 1))
        for one in ("q", "k", "v", "do")
    }
    nan = np.full(SHAPE, np.nan, np.float32)
    outputs = ("dq", "dk", "dv") if name == BACKWARD else ("o",)
    tensors |= {one: TensorArgument(nan, dense, output=True) for one in outputs}
    if name == FORWARD:
        del tensors["do"]
    asked = Launch(name, (1, 1, 1), tensors, {"scale": ("float32", 0.5)}, {})
    source = SOURCE.format(forward=forward, backward=backward)
    with Sandbox(Limits(), Device.AUTOGRAD, host) as sandbox:
        linked = [(LINKED, ["double_kernel", "never_kernel"])]
        done = sandbox.run(source, [FORWARD, BACKWARD], [asked], [[(0, range(1))]], linked).passes[0]
    assert done.loading is None and done.malformed is None
    return done.results[0]


def complaint(host: Host, forward: str = RIGHT, backward: str = RETURNED, *, row: int = 5) -> tuple[str, str, int]:
    error = called(host, forward, backward, row=row).error
    assert error is not None
    return error.type, error.message, error.line


def complaint_on(host: Host, direction: str, line: str) -> tuple[str, str, int]:
    """On a line about q, or the same line about dO, before what is right."""
    if direction == FORWARD:
        return complaint(host, f"{line}; {RIGHT}")
    return complaint(host, backward=f"{line.replace('q', 'do')}; {RETURNED}")


@pytest.mark.parametrize("row", [5, 8])
def test_both_directions_are_run_and_launches_are_recorded(host: Host, row: int) -> None:
    back = called(host, row=row)
    assert back.error is None
    np.testing.assert_array_equal(back.tensors["dq"], 2 * back.tensors["do"])
    np.testing.assert_array_equal(back.tensors["dk"], back.tensors["k"])
    assert list(back.log.launched) == [(0, 5, 3), (0, 11, 3)]  # the first of the kernels that were linked, by its line
    forth = called(host, row=row, name=FORWARD)
    np.testing.assert_array_equal(forth.tensors["o"], 2 * forth.tensors["q"])
    assert list(forth.log.launched) == [(0, 5, 3)]


def test_a_wrong_stride_reaches_what_lies_there_and_no_more(host: Host) -> None:
    """Of rows of 5 in 8, a row stride of 5 reads the gaps, which are NaN; one that leads outside is refused."""
    o = called(host, RIGHT.replace("q.stride(2)", "5"), row=8, name=FORWARD).tensors["o"]
    assert np.isnan(o).any() and not np.isnan(o).all()
    assert complaint(host, RIGHT.replace("q.stride(2)", "9"), row=8) == (
        "OutsideMemory",
        "program 2 of double_kernel reads element 21 of x_ptr, counted from 0 in a memory of 21 elements",
        5,
    )
    assert complaint(host, RIGHT.replace("(3,)", "(4,)").replace("q.stride(2)", "0"))[1].startswith(
        "program 3 of double_kernel writes to element 15 of y_ptr"
    )


def test_what_no_kernel_has_written_is_not_a_number(host: Host) -> None:
    o = called(host, RIGHT.replace("(3,)", "(2,)"), name=FORWARD).tensors["o"]
    assert np.isnan(o[..., 2, :]).all() and not np.isnan(o[..., :2, :]).any()


WRONG_LAUNCHES = {
    "double_kernel[3](q, o, 5, 5, B=8)": "TypeError: double_kernel[grid](…): the grid must be a tuple of one to three",
    "double_kernel[(0,)](q, o, 5, 5, B=8)": "ValueError: double_kernel is launched with a grid of (0,): no program",
    "double_kernel[(3,)](q, o, 5, B=8)": "TypeError: double_kernel: missing a required argument: 'n'",
    "double_kernel[(3,)](q, o, 5, 5, C=8, B=8)": "TypeError: double_kernel: got an unexpected keyword argument 'C'",
    "double_kernel[(3,)](q.long(), o, 5, 5, B=8)": "TypeError: double_kernel gets int64 for x_ptr: it takes float32",
    "double_kernel[(3,)](q, o, None, 5, B=8)": "TypeError: double_kernel gets NoneType for row_stride, and not a",
    "double_kernel[(3,)](q, o, True, 5, B=8)": "TypeError: double_kernel gets bool for row_stride, and not a number",
}


def test_launches_of_another_form_are_errors(host: Host) -> None:
    """All in one call, which catches them; whatever it has caught, the launch that is right then runs."""
    attempts = "".join(
        f"\n    try: {launch}\n    except (TypeError, ValueError) as e: said.append(f'{{type(e).__name__}}: {{e}}')"
        for launch in WRONG_LAUNCHES
    )
    kind, message, _ = complaint(host, f"said = []{attempts}\n    {RIGHT}\n    raise ValueError('\\n'.join(said))")
    assert kind == "ValueError"
    for said, begins in zip(message.split("\n"), WRONG_LAUNCHES.values(), strict=True):
        assert said.startswith(begins)


def test_launches_are_told_as_a_compiler_gets_them(host: Host) -> None:
    done = called(host, RIGHT.replace("B=8", "B=8, num_warps=8, num_stages=2"), name=FORWARD)
    signature = {"x_ptr": "*fp32", "y_ptr": "*fp32", "row_stride": "i32", "n": "i32", "B": "constexpr"}
    assert done.error is None
    assert done.launched == (Launched(0, 5, Form(signature, {"B": 8}, ()), {"num_warps": 8, "num_stages": 2}),)


def test_an_option_is_a_whole_number(host: Host) -> None:
    assert complaint(host, RIGHT.replace("B=8", "B=8, num_warps=8.0"))[1] == (
        "double_kernel: num_warps must be a whole number"
    )


def test_of_many_launches_alike_one_is_told_and_of_many_kinds_a_few(host: Host) -> None:
    often = called(host, f"for _ in range(20): {RIGHT}", name=FORWARD)
    assert often.error is None and len(often.launched) == 1 and len(often.log.launched) == 20
    other = RIGHT.replace("B=8", "B=8, num_stages=n")
    assert len(called(host, f"for n in range(20): {other}", name=FORWARD).launched) == MOST_FORMS


ON_THE_CPU = {
    "p = torch.empty(2, 3)": "torch.empty without device= makes a tensor on the CPU",
    "p = torch.zeros((2, 3), dtype=torch.float32)": "torch.zeros without device= makes a tensor on the CPU",
    "p = torch.arange(3)": "torch.arange without device= makes a tensor on the CPU",
    "p = torch.empty_like(q, device='cpu')": "empty_like is told to make a tensor on the CPU",
    "p = q.to('cpu')": "to is told to make a tensor on the CPU",
    "p = q.new_empty(2, device='cpu')": "new_empty is told to make a tensor on the CPU",
}


@pytest.mark.parametrize("line", ON_THE_CPU)
@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_what_lies_on_the_cpu_wherever_q_lies_is_an_error(host: Host, direction: str, line: str) -> None:
    said = complaint_on(host, direction, line)
    assert said[:2] == ("OnAnotherDevice", ON_THE_CPU[line])


@pytest.mark.parametrize(
    "line",
    [
        "p = torch.empty(2, 3, device=q.device)",
        "p = torch.full((), 2.0)",  # a single number
        "p = torch.zeros_like(q)",
        "p = q.new_zeros(2)",
        "p = q.to(torch.float32)",
        "p = torch.ones(3, device=q.device, dtype=q.dtype)",
    ],
)
def test_what_lies_where_q_lies_is_none(host: Host, line: str) -> None:
    assert called(host, f"{line}; {RIGHT}", name=FORWARD).error is None


@pytest.mark.parametrize(
    "line", ["p = q @ q.transpose(2, 3)", "p = torch.softmax(q, 3)", "p = 2 * q", "p = (q > 0).all()"]
)
@pytest.mark.parametrize("direction", [FORWARD, BACKWARD])
def test_what_computes_in_a_kernels_place_is_an_error(host: Host, direction: str, line: str) -> None:
    said = complaint_on(host, direction, line)
    assert said[0] == "ByPyTorch"


def test_launches_that_no_gpu_takes_are_errors(host: Host) -> None:
    assert "for B, which must be a number" in complaint(host, RIGHT.replace("B=8", "B=[q]"))[1]
    assert "more programs than can be run" in complaint(host, RIGHT.replace("(3,)", "(1 << 20, 1 << 20)"))[1]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"forward": f"{RIGHT}; ctx.q = [1, (q,)]"}, "ctx.q holds a list"),
        ({"forward": f"{RIGHT}; ctx.save_for_backward(o, v)", "backward": f"k.fill_(1.0); {RETURNED}"}, "changed O"),
        ({"forward": f"{RIGHT}; ctx.q = q"}, "ctx.q holds a tensor"),
        ({"forward": f"{RIGHT}; o = o[0]"}, "O has shape (1, 3, 5)"),
        ({"backward": "return dq, k, v"}, "it returned 3 values, and not 4"),
        ({"backward": "return dq, k, v, 1.0"}, "the last of them not None"),
        ({"backward": "return None"}, "it returned NoneType"),
        ({"backward": "return dq, k, v.double(), None"}, "dv has shape (1, 1, 3, 5) and type float64"),
    ],
)
def test_results_of_another_form_are_errors(host: Host, how: dict[str, str], message: str) -> None:
    kind, said, _ = complaint(host, **how)
    assert kind == "WrongResult" and message in said
