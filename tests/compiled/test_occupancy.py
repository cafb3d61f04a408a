"""Programs that fit on one core, against CUDA's occupancy calculator and AMD's rules."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.compiled.run import at_once
from checker.course.targets import KNOWN, Target


@pytest.mark.parametrize(
    ("target", "warps", "registers", "shared", "fits", "limit"),
    [
        ("sm_90", 4, 128, 0, 4, "registers"),  # 64 K registers, 16 K a program
        ("sm_90", 4, 129, 0, 3, "registers"),  # 136 a thread: of each scheduler's 16 K, 3 warps
        ("sm_90", 4, 168, 114688, 2, "shared memory"),  # 113 KiB a program of 228
        ("sm_90", 8, 255, 98304, 1, "registers"),
        ("sm_90", 4, 32, 0, 16, "threads"),
        ("sm_90", 1, 16, 0, 32, "programs"),
        ("sm_86", 4, 32, 0, 12, "threads"),  # 1536 threads
        ("sm_75", 4, 32, 0, 8, "threads"),  # 1024 threads
        ("sm_80", 4, 64, 83968, 1, "shared memory"),  # 83 KiB with what is reserved, of 164
        ("gfx942", 4, 128, 0, 4, "registers"),  # 4 wavefronts on each of 4 SIMDs
        ("gfx942", 4, 129, 0, 3, "registers"),
        ("gfx942", 4, 32, 40960, 1, "shared memory"),
        ("gfx950", 4, 32, 40960, 4, "shared memory"),
    ],
)
def test_known_cases(target: str, warps: int, registers: int, shared: int, fits: int, limit: str) -> None:
    assert at_once(KNOWN[target], warps, registers, shared) == (fits, limit)


def test_tensor_memory_is_handed_out_in_columns() -> None:
    assert at_once(KNOWN["sm_100"], 4, 64, 0, 256) == (2, "tensor memory")
    assert at_once(KNOWN["sm_100"], 4, 64, 0, 0)[1] != "tensor memory"


@given(
    st.sampled_from([*KNOWN.values()]), st.sampled_from([1, 2, 4, 8, 16]), st.integers(1, 255), st.integers(0, 232448)
)
def test_no_core_is_ever_overfull(target: Target, warps: int, registers: int, shared: int) -> None:
    fits, _ = at_once(target, warps, registers, shared)
    assert 0 <= fits <= target.programs
    assert fits * warps * target.warp <= target.threads
    assert fits * warps * target.warp * registers <= target.registers
    assert fits * (shared + target.reserved) <= target.shared
