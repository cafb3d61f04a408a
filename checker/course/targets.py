"""The GPUs that kernels are compiled for, under Triton's names."""

from __future__ import annotations

# Bytes of shared memory that one program may have. The compiler does not hold kernels to it; a launch does.
SHARED_LIMITS = {"sm_90": 232448, "sm_80": 166912, "gfx942": 65536}
ALL = tuple(SHARED_LIMITS)
DEFAULT = ("sm_90",)


def chosen(text: str) -> tuple[str, ...]:
    """The targets that `all` or a list with commas names. ValueError: one that is not known."""
    names = ALL if text == "all" else tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in SHARED_LIMITS:
            raise ValueError(f"There is no target {name!r}. There is: {', '.join(ALL)}, all.")
    return names
