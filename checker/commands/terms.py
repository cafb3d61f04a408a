"""Under which terms a command checks."""

from __future__ import annotations

from dataclasses import replace

from checker.box.host import Host
from checker.box.parent import gpu_missing
from checker.check import Terms
from checker.course import targets
from checker.course.status import Misuse


def terms_of(key: str | None, device: str, wanted: str, *, unsafe: bool = False) -> Terms:
    """The terms; `wanted`: targets, none if empty. With a key in a cage, unless `unsafe`."""
    if device == "cuda" and key is not None and not unsafe:
        raise Misuse("Grading runs on the interpreter, whose verdict is that of a GPU: leave out --device cuda.")
    if device == "cuda" and (reason := gpu_missing()):
        raise Misuse(f"{reason} Without --device cuda, the interpreter checks as strictly.")
    terms = Terms(key=key, device=device, targets=targets.chosen(wanted) if wanted else ())
    if key is None or unsafe:
        return terms
    from checker.box.cage import cage  # needs fcntl

    try:
        return replace(terms, host=Host(cage.held()))
    except cage.NoCage as reason:
        raise Misuse(
            f"Grading was not started, because no sandbox works here. {reason} python -m checker doctor says "
            "what to do about it. Or add --unsafe-no-sandbox: then a submission can read everything that you can."
        ) from reason
