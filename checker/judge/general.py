"""Findings that a kernel of any puzzle can get: their words are in `general.md`."""

from __future__ import annotations

from checker.course.words import Findings

finding = Findings(__file__)
