"""The verdict as strict JSON: the stable interface for machines."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import Any

from checker.course.verdict import Compilation, Finding, Run, Verdict

SCHEMA = 3  # 1: `puzzle` was a number; 2: `endless-traffic` was a finding of its own, now it is `time-limit`
_OF_A_PLACE = ("cell", "line", "case", "program", "tensor", "index")
_OF_TRAFFIC = ("elements", "loads", "stores", "most_loads", "most_stores")


def as_dict(verdict: Verdict) -> dict[str, Any]:
    """Everything a machine may want to know, in plain types."""
    return {
        "schema": SCHEMA,
        "puzzle": verdict.puzzle,
        "verdict": verdict.status.value,
        "accepted": verdict.accepted,
        "score": {"earned": verdict.earned, "possible": verdict.possible},
        "properties": [
            {"name": p.name, "title": p.title, "passed": p.passed, "weight": p.weight, "detail": p.detail}
            for p in verdict.properties
        ],
        "findings": [_finding(finding) for finding in verdict.findings],
        "remarks": list(verdict.remarks),
        "runs": [_run(run) for run in verdict.runs],
        "compiled": {
            target: [_compiled(c) for c in verdict.compiled if c.target == target]
            for target in dict.fromkeys(c.target for c in verdict.compiled)
        },
        "printed": [{"case": case, "text": text} for case, text in verdict.printed],
        "file": verdict.file,
        "mode": verdict.mode,
        "sandbox": verdict.sandbox,
        "submission_sha256": verdict.submission_sha256,
        "versions": verdict.versions,
    }


def dumps(data: Any) -> str:
    """Strict JSON: numbers that JSON does not have become texts such as "nan"."""
    return json.dumps(finite(data), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "verdict": finding.status.value,
        "title": finding.title,
        "explanation": finding.explanation,
        "question": finding.question,
        "hint": finding.hint,
        "where": {name: getattr(finding.where, name) for name in _OF_A_PLACE},
        "examples": finding.examples,
        "error_map": None if finding.error_map is None else asdict(finding.error_map),
    }


def _compiled(one: Compilation) -> dict[str, Any]:
    return {
        "kernel": one.kernel,
        "compiles": one.compiles,
        "shared_bytes": one.shared,
        "shared_limit": one.shared_limit,
        "num_stages": one.stages,
        "registers": one.registers,
        "spilled": one.spilled,
    }


def _run(run: Run) -> dict[str, Any]:
    traffic: dict[str, dict[str, Any]] = {}
    for moved in run.traffic:
        numbers = {name: getattr(moved, name) for name in _OF_TRAFFIC}
        traffic.setdefault(moved.kernel, {})[moved.tensor] = numbers
    held = {"held": [asdict(one) for one in run.held]} if run.held else {}
    return {"device": run.device, "seconds": run.seconds, "traffic": traffic} | held


def finite(value: Any) -> Any:
    """The same with a text such as "nan" for each number that JSON does not have."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value
