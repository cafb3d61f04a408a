"""Programs that one core runs at once: while one of them waits for memory, another computes."""

from __future__ import annotations

from checker.course.targets import Target

_PORTION = 8  # registers of a thread are handed out in eights
_SCHEDULERS = 4  # each has a quarter of a core's registers, and warps of its own


def at_once(target: Target, warps: int, registers: int, shared: int, tensor_memory: int = 0) -> tuple[int, str]:
    """(programs that fit on one core, what keeps more of them out).

    `registers` of a thread, `shared` bytes of a program, `tensor_memory` columns of a program. Source: CUDA's occupancy
    calculator, whose rules hold for AMD's cores with their own numbers.
    """
    of_thread = -(-max(registers, 1) // _PORTION) * _PORTION
    of_scheduler = target.registers // _SCHEDULERS // (of_thread * target.warp)
    limits = {
        "programs": target.programs,
        "threads": target.threads // (warps * target.warp),
        "registers": of_scheduler * _SCHEDULERS // warps,
        "shared memory": target.shared // (shared + target.reserved) if shared + target.reserved else target.programs,
    }
    if target.tensor_memory and tensor_memory:
        limits["tensor memory"] = target.tensor_memory // tensor_memory
    name = min(limits, key=lambda limit: limits[limit])
    return limits[name], name
