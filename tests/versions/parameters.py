"""Parameters of the Triton names in the table of patches, by release: `python -m tests.versions.parameters`.

Adds the Triton that is installed here to `parameters.json`; `make versions` does so for each that it tries. The tests
hold the table against that file, so a patch that would not fit another release is seen without installing any.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

RECORD = Path(__file__).with_suffix(".json")


def recorded() -> dict[str, dict[str, list[str]]]:
    """Path of a name below `triton` → parameters, as a definition has them → releases, where there is such a name."""
    told: dict[str, dict[str, list[str]]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return told


def record() -> None:
    """Put what is installed here into the file, in place of what it has of that release."""
    os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported
    import triton

    from checker.sandbox.inside import patches

    told = recorded() if RECORD.exists() else {}
    for group in patches.TABLE:
        for name in group.patches:
            path = f"{group.owner}.{name}"
            releases = told.setdefault(path, {})
            for known in list(releases):
                releases[known] = [release for release in releases[known] if release != triton.__version__]
            if (plain := patches.there(group.owner, name)) is not None:
                releases.setdefault(", ".join(_parameters(plain)), []).append(triton.__version__)
            told[path] = {taken: sorted(of) for taken, of in sorted(releases.items()) if of}
        if "_patch_lang" in group.patches:
            patches.apply([group])  # it puts names in place that groups below need
    lines = [f"{json.dumps(path)}: {json.dumps(releases)}" for path, releases in sorted(told.items())]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _parameters(plain: Any) -> Iterator[str]:
    """Parameters as a definition has them, every default as None; nothing of what is not called, or does not tell."""
    try:
        parameters = signature(plain).parameters.values()
    except (TypeError, ValueError):
        return
    keywords = False
    for one in parameters:
        if one.kind is Parameter.KEYWORD_ONLY and not keywords:
            yield "*"
        keywords = keywords or one.kind in (Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY)
        star = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(one.kind, "")
        yield f"{star}{one.name}" + ("" if one.default is Parameter.empty else "=None")


if __name__ == "__main__":
    record()
