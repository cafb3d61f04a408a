"""Notebooks for Colab and its like: one link opens a notebook there, and its first cell installs the course."""

from __future__ import annotations

import json

from checker import __version__
from checker.course.lesson import HOSTED, new_cell, notebook_json

SITE = ""  # where the pages are published, as README then says; nothing: nowhere yet
REPOSITORY = "https://github.com/flash-puzzles/flash-puzzles"  # where the project is published
WHEEL = f"{REPOSITORY}/releases/download/v{__version__}/flash_puzzles-{__version__}-py3-none-any.whl"
_COLAB = REPOSITORY.replace("https://github.com", "https://colab.research.google.com/github")
_INSTALL = f"""\
try:
    import checker.notebook  # already installed
except ImportError:
    %pip install -q {WHEEL}"""


def hosted(notebook: str, name: str) -> str:
    """Return a notebook with both above its lesson. `name`: of its file."""
    lesson = json.loads(notebook)
    # In words, because a picture would need a network.
    words = f"**[▶ Open in Colab]({_COLAB}/blob/v{__version__}/notebooks/{name})**"
    link, install = HOSTED
    lesson["cells"] = [new_cell("markdown", link, words), new_cell("code", install, _INSTALL), *lesson["cells"]]
    return notebook_json(lesson)
