"""A course for the tests of autograders. Those of the site and the wheel run where nothing can be graded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from checker import catalog
from tests.conftest import importable

if TYPE_CHECKING:
    from checker.grading.settings import Settings


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A course in which the first property of p1 is worth 30 points more."""
    importable("nbgrader")
    from checker.grading import settings
    from checker.nbgrader.folder import make

    folder = tmp_path_factory.mktemp("published")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        made, _ = make(folder / "a course")
        place = made.key_path
    text = (made.folder / settings.NAME).read_text()
    name = catalog.load("p1").properties[0].name
    text = text.replace(f'"{name}"', f'"{name}" = 55 #').replace('key_file = ""', f'key_file = "{place}"')
    (made.folder / settings.NAME).write_text(text)
    return settings.read(made.folder)
