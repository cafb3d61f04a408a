"""Notebooks for Colab and its like: one link opens a notebook there, and its first cell installs the course."""

from __future__ import annotations

import base64
import json
from typing import Any

from checker import __version__
from checker.course.lesson import notebook_json

REPOSITORY = "https://github.com/flash-puzzles/flash-puzzles"  # where the project is published; change it in a fork
WHEEL = f"{REPOSITORY}/releases/download/v{__version__}/flash_puzzles-{__version__}-py3-none-any.whl"
_BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="112" height="20" font-family="sans-serif" font-size="12">\
<rect width="112" height="20" rx="3" fill="#454545"/><circle cx="13" cy="10" r="4" fill="none" stroke="#f9ab00" \
stroke-width="2"/><text x="24" y="14" fill="#fff">Open in Colab</text></svg>"""  # in the notebook, to be seen offline
_COLAB = REPOSITORY.replace("https://github.com", "https://colab.research.google.com/github")
_INSTALL = f"""\
try:
    import checker.notebook  # it is here already
except ImportError:
    %pip install -q {WHEEL}"""


def hosted(notebook: str, name: str) -> str:
    """A notebook with both above its lesson. `name`: of its file."""
    lesson = json.loads(notebook)
    open_there: dict[str, Any] = {
        "attachments": {"badge.svg": {"image/svg+xml": base64.b64encode(_BADGE.encode()).decode()}},
        "cell_type": "markdown",
        "id": "open",
        "metadata": {},
        "source": f"[![Open in Colab](attachment:badge.svg)]({_COLAB}/blob/main/notebooks/{name})",
    }
    install: dict[str, Any] = {
        "cell_type": "code",
        "execution_count": None,
        "id": "install",
        "metadata": {},
        "outputs": [],
        "source": _INSTALL,
    }
    lesson["cells"] = [open_there, install, *lesson["cells"]]
    return notebook_json(lesson)
