"""The verdict as strict JSON: the stable interface for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from checker.course.verdict import Compilation, Finding, Run, Verdict

SCHEMA = 3  # 1: `puzzle` was a number; 2: `endless-traffic` was a finding of its own, now it is `time-limit`
_PLACE = ("cell", "line", "case", "program", "tensor", "index")


def as_dict(verdict: Verdict) -> dict[str, Any]:
    """Everything a machine may want to know, in plain types."""
    return {
        "schema": SCHEMA,
        "puzzle": verdict.puzzle,
        "verdict": verdict.status.value,
        "accepted": verdict.accepted,
        "score": {"earned": verdict.earned, "possible": verdict.possible},
        "properties": [_fields(one, ("name", "title", "passed", "weight", "detail")) for one in verdict.properties],
        "findings": [_finding(finding) for finding in verdict.findings],
        "remarks": list(verdict.remarks),
        "runs": [_run(run) for run in verdict.runs],
        "compiled": {
            target: [_compiled(c) for c in verdict.compiled if c.target == target]
            for target in dict.fromkeys(c.target for c in verdict.compiled)
        },
        "printed": [{"case": case, "text": text} for case, text in verdict.printed],
        **_fields(verdict, ("file", "mode", "sandbox", "submission_sha256", "versions")),
    }


def dumps(data: Any) -> str:
    """Strict JSON: numbers that JSON does not have become texts such as "nan"."""
    return json.dumps(finite(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "verdict": finding.status.value,
        **_fields(finding, ("title", "explanation", "question", "hint")),
        "where": _fields(finding.where, _PLACE),
        "examples": finding.examples,
        "differs": finding.differs and asdict(finding.differs) | {"where": _fields(finding.differs.where, _PLACE)},
        "error_map": None if finding.error_map is None else asdict(finding.error_map),
    }


def _compiled(one: Compilation) -> dict[str, Any]:
    return {
        **_fields(one, ("kernel", "compiles")),
        "shared_bytes": one.shared,
        "shared_limit": one.shared_limit,
        "num_stages": one.stages,
        **_fields(one, ("registers", "spilled")),
    }


def _run(run: Run) -> dict[str, Any]:
    traffic: dict[str, dict[str, Any]] = {}
    for moved in run.traffic:
        numbers = _fields(moved, ("elements", "loads", "stores", "most_loads", "most_stores"))
        traffic.setdefault(moved.kernel, {})[moved.tensor] = numbers
    held = {"held": [asdict(one) for one in run.held]} if run.held else {}
    return {"device": run.device, "seconds": run.seconds, "traffic": traffic} | held


def _fields(one: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(one, name) for name in names}


def finite(value: Any) -> Any:
    """Return the same with a text such as "nan" for each number that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
