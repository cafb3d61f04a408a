"""The GPUs that kernels are compiled for, under Triton's names, and what one core of each has room for.

NVIDIA calls a core SM, and a warp of it has 32 threads; AMD calls it CU, and a wavefront has 64. Figures: CUDA C++
Programming Guide, "Compute Capabilities"; AMD CDNA 3 and CDNA 4 ISA.
"""

from __future__ import annotations

from dataclasses import dataclass

from checker.course.status import Misuse

KIB = 1024


@dataclass(frozen=True)
class Target:
    """A kind of GPU. Memory in bytes, registers of 32 bits; both are handed out in whole portions."""

    name: str
    sold_as: str
    shared_limit: int  # of shared memory, for one program: the compiler does not hold kernels to it, a launch does
    shared: int  # the same of a core, for all its programs
    reserved: int = KIB  # of shared memory, for each program besides
    threads: int = 2048
    programs: int = 32
    warp: int = 32
    registers: int = 64 * KIB  # a quarter each for the warps of one scheduler
    tensor_memory: int = 0  # columns; 0: there is none
    copies_asynchronously: bool = True  # from global to shared memory, past the registers

    @property
    def core(self) -> str:
        """What its maker calls a core."""
        return "SM" if self.warp == 32 else "CU"


def _amd(name: str, sold_as: str, shared: int) -> Target:
    copies = name == "gfx950"
    return Target(name, sold_as, shared, shared, 0, 2048, 16, 64, 128 * KIB, copies_asynchronously=copies)


KNOWN = {
    target.name: target
    for target in (
        Target("sm_90", "H100, H200", 227 * KIB, 228 * KIB),
        Target("sm_80", "A100", 163 * KIB, 164 * KIB),
        _amd("gfx942", "MI300X", 64 * KIB),
        Target("sm_75", "T4, RTX 20", 64 * KIB, 64 * KIB, 0, 1024, 16, copies_asynchronously=False),
        Target("sm_86", "A10, RTX 30", 99 * KIB, 100 * KIB, threads=1536, programs=16),
        Target("sm_89", "L4, L40, RTX 40", 99 * KIB, 100 * KIB, threads=1536, programs=24),
        Target("sm_100", "B200", 227 * KIB, 228 * KIB, tensor_memory=512),
        Target("sm_120", "RTX 50", 99 * KIB, 100 * KIB, threads=1536, programs=24),
        _amd("gfx950", "MI350X", 160 * KIB),
    )
}
ALL = ("sm_90", "sm_80", "gfx942")  # what `all` stands for: one of each kind of tensor core that the course can expect
DEFAULT = ("sm_90",)


def chosen(text: str) -> tuple[str, ...]:
    """Return the targets that `all` or a list with commas names. Raises Misuse for one that is not known."""
    words = [name.strip() for name in text.split(",")]
    names = tuple(dict.fromkeys(name for word in words for name in (ALL if word == "all" else (word,))))
    for name in names:
        if name not in KNOWN:
            raise Misuse(f"There is no target {name!r}. There is: {', '.join(KNOWN)}; all is {', '.join(ALL)}.")
    return names
