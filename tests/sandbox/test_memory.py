"""The memory inside the sandbox, against a model: a strided tensor as a plain dictionary of offsets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.sandbox.inside.budget import TooMuchWork
from checker.sandbox.inside.memory import Memory, RefusedAccess, SandboxTensor
from checker.sandbox.protocol.records import BARRIER, LOAD, STORE

F32 = np.dtype(np.float32)


@st.composite
def strided(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape of one to three axes, and nested strides with gaps, sometimes enormous."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    strides: list[int] = []
    inner = 1
    for extent in reversed(shape):
        stride = inner + draw(st.sampled_from([0, 1, 3, 2**30])) if strides else draw(st.sampled_from([1, 1, 2]))
        strides.insert(0, stride)
        inner = stride * extent
    return shape, tuple(strides)


def memory(
    shape: tuple[int, ...], strides: tuple[int, ...], poison: float = float("nan")
) -> tuple[Memory, SandboxTensor]:
    values = np.arange(np.prod(shape), dtype=F32).reshape(shape)
    tensor = SandboxTensor("x_ptr", values, strides)
    return Memory([SandboxTensor("other", np.zeros(3, F32), (1,)), tensor], lambda: (7, 42), poison), tensor


def model(shape: tuple[int, ...], strides: tuple[int, ...]) -> dict[int, int]:
    """offset → dense element number."""
    return {sum(i * s for i, s in zip(index, strides, strict=True)): n for n, index in enumerate(np.ndindex(*shape))}


def addresses(tensor: SandboxTensor, offsets: list[int], size: int = 4) -> np.ndarray:
    return np.array([tensor.base + size * offset for offset in offsets], dtype=np.uint64)


@given(strided(), st.data())
def test_an_access_is_allowed_exactly_inside_the_tensor(layout: object, data: st.DataObject) -> None:
    shape, strides = layout  # type: ignore[misc]
    inside = model(shape, strides)
    near = st.sampled_from(sorted(inside)) | st.integers(-40, max(inside) + 40)
    offsets = data.draw(st.lists(near, min_size=1, max_size=20))
    sandbox, tensor = memory(shape, strides)
    lanes = addresses(tensor, offsets)
    everything = np.ones(len(offsets), bool)
    if all(offset in inside for offset in offsets):
        loaded = sandbox.load(lanes, everything, None, F32)
        assert loaded.tolist() == [float(inside[offset]) for offset in offsets]
        sandbox.store(lanes, np.full(len(offsets), -1, F32), everything, F32)
        left = [n for n in range(tensor.values.size) if n not in {inside[offset] for offset in offsets}]
        assert tensor.values.reshape(-1)[left].tolist() == [float(n) for n in left]
        records, touched = sandbox.log()
        distinct = sorted({inside[offset] for offset in offsets})
        assert records[:, 0].tolist() == [LOAD, STORE]
        assert records[:, 2:4].tolist() == [[7, 42]] * 2
        assert records[:, 4].tolist() == [len(distinct)] * 2
        assert touched.tolist() == distinct * 2
    else:
        before = tensor.values.copy()
        with pytest.raises(RefusedAccess) as refused:
            sandbox.store(lanes, np.zeros(len(offsets), F32), everything, F32)
        report = refused.value.report
        wrong = [offset for offset in offsets if offset not in inside]
        assert report["first"] == wrong[0]
        assert (report["lowest"], report["highest"]) == (min(offsets), max(offsets))
        assert (report["lanes"], report["outside"]) == (len(offsets), len(wrong))
        assert (report["tensor"], report["program"], report["line"]) == ("x_ptr", 7, 42)
        assert np.array_equal(tensor.values, before), "a refused store must not happen"
        assert sandbox.log()[0].size == 0


def test_neighbours_in_memory_may_lie_in_different_rows() -> None:
    """In a tensor whose axes are exchanged."""
    values = np.arange(6, dtype=F32).reshape(3, 2)  # three rows 1 apart, two columns 4 apart
    tensor = SandboxTensor("x_ptr", values, (1, 4))
    sandbox = Memory([tensor], lambda: (0, 1), float("nan"))
    loaded = sandbox.load(addresses(tensor, [4, 5, 6]), np.ones(3, bool), None, F32)
    assert loaded.tolist() == [1.0, 3.0, 5.0]


@pytest.mark.parametrize("masked", [False, True])  # what moves nothing takes its time as well
def test_a_launch_that_moves_more_than_it_may_is_ended(masked: bool) -> None:
    tensor = SandboxTensor("x_ptr", np.zeros(8, F32), (1,))
    sandbox = Memory([tensor], lambda: (0, 1), float("nan"), most_touched=16 if masked else 26)
    lanes, mask = addresses(tensor, list(range(8))), np.full(8, not masked)
    sandbox.load(lanes, mask, None, F32)  # each moves 8 elements, and counts as one more
    sandbox.store(lanes, np.ones(8, F32), mask, F32)
    with pytest.raises(TooMuchWork):
        sandbox.load(lanes, mask, None, F32)


@given(strided(), st.data())
def test_only_lanes_under_the_mask_are_touched(layout: object, data: st.DataObject) -> None:
    shape, strides = layout  # type: ignore[misc]
    inside = model(shape, strides)
    sandbox, tensor = memory(shape, strides, poison=5.0)
    expected, kinds, details, distinct, poisoned = tensor.values.reshape(-1).copy(), [], [], [], False
    for kind in data.draw(st.lists(st.sampled_from([LOAD, STORE]), min_size=1, max_size=4)):
        chosen = data.draw(st.lists(st.sampled_from(sorted(inside)), min_size=1, max_size=8))
        mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen))))
        numbers = np.array([inside[offset] for offset in chosen])
        # A lane that is off may point anywhere.
        lanes = np.where(mask, addresses(tensor, chosen), np.uint64(12345))
        form = data.draw(st.sampled_from([(-1,), (-1, 1), (1, -1)]))
        if kind == LOAD:
            other = data.draw(st.sampled_from([None, -np.inf, 7.0]))
            filled = None if other is None else np.full((1,) * len(form), other, F32)
            loaded = sandbox.load(lanes.reshape(form), mask.reshape(form), filled, F32)
            assert loaded.shape == mask.reshape(form).shape and loaded.dtype == F32
            assert np.array_equal(
                loaded.reshape(-1), np.where(mask, expected[numbers], 5.0 if other is None else other)
            )
            poisoned = poisoned or (other is None and not mask.all())
            detail = np.count_nonzero(~mask) * {None: -1, -np.inf: 0, 7.0: 1}[other]
        else:
            values = np.arange(100, 100 + len(chosen), dtype=F32)
            sandbox.store(lanes.reshape(form), values.reshape(form), mask.reshape(form), F32)
            expected[numbers[mask]] = values[mask]  # the last of several wins, as NumPy has it
            detail = np.count_nonzero(expected[numbers[mask]] != values[mask])
        assert sandbox.poisoned == poisoned
        assert np.array_equal(tensor.values.reshape(-1), expected)
        if mask.any():
            kinds.append(kind)
            details.append(detail)
            distinct.append(sorted(set(numbers[mask].tolist())))
    records, touched = sandbox.log()
    assert records[:, 0].tolist() == kinds
    assert records[:, 6].tolist() == details
    assert records[:, 4].tolist() == [len(elements) for elements in distinct]
    assert touched.tolist() == [number for elements in distinct for number in elements]


@pytest.mark.parametrize("on", [[True] * 4, [True, False, True, False]], ids=["all", "some"])
@pytest.mark.parametrize("lanes", [(1, 4), (4,), (4, 4)], ids=str)
def test_a_mask_of_another_shape_is_an_error_whatever_its_values(lanes: tuple[int, ...], on: list[bool]) -> None:
    sandbox, tensor = memory((4,), (1,))
    pointers, mask = np.broadcast_to(addresses(tensor, [0, 1, 2, 3]), lanes), np.array(on).reshape(4, 1)
    with pytest.raises(IndexError):
        sandbox.load(pointers, mask, None, F32)
    with pytest.raises(IndexError):
        sandbox.store(pointers, np.zeros(lanes, F32), mask, F32)


def test_no_lanes_touch_nothing() -> None:
    sandbox, tensor = memory((4,), (1,))
    none = np.zeros(0, bool)
    assert sandbox.load(addresses(tensor, []), none, None, F32).size == 0
    sandbox.store(addresses(tensor, []), np.zeros(0, F32), none, F32)
    assert sandbox.log()[0].size == 0 and not sandbox.poisoned


@pytest.mark.parametrize("offsets", [[0, 4], [4], [3, 4, 5], [9, 10], [-1, 0]], ids=str)
def test_the_gap_between_two_rows_is_refused(offsets: list[int]) -> None:
    sandbox, tensor = memory((2, 4), (5, 1))
    with pytest.raises(RefusedAccess):
        sandbox.load(addresses(tensor, offsets), np.ones(len(offsets), bool), None, F32)


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_an_address_between_two_elements_is_refused(offset: int) -> None:
    sandbox, tensor = memory((4,), (1,))
    for addressed in ([tensor.base + offset], [tensor.base, tensor.base + 4 + offset]):
        with pytest.raises(RefusedAccess):
            sandbox.load(np.array(addressed, np.uint64), np.ones(len(addressed), bool), None, F32)


def test_elements_of_another_type_are_refused() -> None:
    sandbox, tensor = memory((4,), (1,))
    with pytest.raises(RefusedAccess):
        sandbox.load(np.array([tensor.base], np.uint64), np.ones(1, bool), None, np.dtype(np.float16))


@pytest.mark.parametrize("address", [0, 8, 2**63, 2**64 - 4, (3 << 44) + (1 << 43)])
def test_an_address_near_no_tensor_is_refused(address: int) -> None:
    sandbox, _ = memory((4,), (1,))
    with pytest.raises(RefusedAccess) as refused:
        sandbox.load(np.array([address], np.uint64), np.ones(1, bool), None, F32)
    assert refused.value.report["tensor"] is None


def test_one_access_cannot_span_two_tensors() -> None:
    sandbox, tensor = memory((4,), (1,))
    with pytest.raises(RefusedAccess):
        lanes = np.array([tensor.base, sandbox.tensors[0].base], np.uint64)
        sandbox.load(lanes, np.ones(2, bool), None, F32)


def test_masked_lanes_are_poisoned_unless_other_says_what_they_hold() -> None:
    sandbox, tensor = memory((4,), (1,))
    lanes, mask = addresses(tensor, [0, 1, 99]), np.array([True, True, False])
    assert np.isnan(sandbox.load(lanes, mask, None, F32)[2])
    assert sandbox.poisoned
    filled, tensor = memory((4,), (1,), poison=0.0)
    assert filled.load(addresses(tensor, [0, 1, 99]), mask, None, F32).tolist() == [0, 1, 0]
    said, tensor = memory((4,), (1,))
    assert said.load(addresses(tensor, [0, 1, 99]), mask, np.array([5.0], F32), F32).tolist() == [0, 1, 5]
    assert not said.poisoned
    nothing, tensor = memory((4,), (1,))
    nothing.load(addresses(tensor, [0]), np.ones(1, bool), None, F32)
    assert not nothing.poisoned


def test_lanes_that_contradict_each_other_are_counted_and_those_that_repeat_each_other() -> None:
    sandbox, tensor = memory((4,), (1,))
    lanes, everything = addresses(tensor, [1, 1, 1, 2]), np.ones(4, bool)
    sandbox.store(lanes, np.array([5, 5, 5, 6], F32), everything, F32)
    sandbox.store(lanes, np.array([5, 7, 5, 6], F32), everything, F32)
    sandbox.store(lanes, np.full(4, np.nan, F32), everything, F32)
    sandbox.store(addresses(tensor, [1, 2]), np.ones(2, F32), np.ones(2, bool), F32)
    sandbox.load(lanes, everything, None, F32)
    assert sandbox.log()[0][:, 6].tolist() == [-2, 1, -2, 0, 0]


def test_barriers_stand_in_the_log() -> None:
    sandbox, tensor = memory((4,), (1,))
    sandbox.load(addresses(tensor, [0]), np.ones(1, bool), None, F32)
    sandbox.barrier()
    assert sandbox.log()[0][:, 0].tolist() == [LOAD, BARRIER]
