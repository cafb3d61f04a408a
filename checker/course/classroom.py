"""The workflow by which GitHub Classroom checks what students push: it stands in their repository, and holds no secret.

A puzzle's points are given whole or not at all: that is what GitHub's own graders for commands do. They are
github.com/classroom-resources/autograding-command-grader and …/autograding-grading-reporter.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from checker import catalog
from checker.course.settings import Settings

PLACE = ".github/workflows/classroom.yml"  # where GitHub Classroom looks for it


def workflow(numbers: Sequence[int], course: Settings) -> str:
    """The YAML for some puzzles, with the points of a course."""
    steps = "".join(_step(number, sum(course.points_of(number).values())) for number in numbers)
    results = "\n".join(f'          P{number}_RESULTS: "${{{{steps.p{number}.outputs.result}}}}"' for number in numbers)
    return _WORKFLOW.format(steps=steps, results=results, ids=",".join(f"p{number}" for number in numbers))


def _step(number: int, points: int) -> str:
    title = json.dumps(f"Puzzle {number}: {catalog.load(number).title}")  # which YAML reads as well
    return _STEP.format(number=number, title=title, points=points)


# Not `make check`: to make, a stub as it was is a success.
_STEP = """\
      - name: {title}
        id: p{number}
        uses: classroom-resources/autograding-command-grader@v1
        with:
          test-name: {title}
          command: .venv/bin/python -m checker check {number}
          timeout: 10
          max-score: {points}
"""

_WORKFLOW = """\
# Checks the puzzles at every push and tells GitHub Classroom the points. Written by `python -m checker classroom`.
name: Autograding Tests
"on": [push, workflow_dispatch, repository_dispatch]

permissions:
  checks: write
  actions: read
  contents: read

jobs:
  run-autograding-tests:
    runs-on: ubuntu-latest
    if: github.actor != 'github-classroom[bot]'
    steps:
      - name: Check out the repository
        uses: actions/checkout@v5
      - name: Install Python
        uses: actions/setup-python@v6
        with:
          python-version: "3.12"
          cache: pip
          cache-dependency-path: |
            pyproject.toml
            constraints.txt
      - name: Install the checker
        run: make progress
{steps}      - name: Report
        uses: classroom-resources/autograding-grading-reporter@v1
        env:
{results}
        with:
          runners: {ids}
"""
