"""The judge refuses every mutant of every solution that changes behaviour."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from checker import catalog
from tests.conftest import ROOT
from tests.mutation.gate import excuses, run
from tests.mutation.operators import mutants

SAMPLE = 12  # of each puzzle in `make test`; `make test-all` and `make mutants` check all
STEMS = catalog.stems()


@pytest.mark.parametrize("number", STEMS, ids=STEMS.values())
def test_a_sample_of_mutants_is_refused(number: int, told: Callable[[str], None]) -> None:
    result = run(number, SAMPLE)
    told(result.summary())
    assert result.unexplained == []
    assert result.stale == []
    assert result.checked > 0


@pytest.mark.slow
@pytest.mark.parametrize("number", STEMS, ids=STEMS.values())
def test_all_mutants_are_refused(number: int, told: Callable[[str], None]) -> None:
    result = run(number)
    told(result.summary())
    assert result.unexplained == []
    assert result.stale == []


@pytest.mark.parametrize("number", STEMS, ids=STEMS.values())
def test_mutants_are_many_differ_and_have_names_of_their_own(number: int) -> None:
    everyone = mutants((ROOT / "solutions" / f"{STEMS[number]}.py").read_text())
    assert len(everyone) > 30
    assert len({m.text for m in everyone}) == len({m.name for m in everyone}) == len(everyone)
    assert all(reason.endswith(".") for reason in excuses(number).values())
