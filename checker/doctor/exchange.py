"""nbgrader's exchange: the folder through which a course is handed out and collected, and which students can write to.

In a folder that everybody can write to, anybody can move anything away and put something else in its place, unless the
folder is sticky (mode 1777, as /tmp has it). See https://github.com/jupyter/nbgrader/issues/1225.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path

MODE = 0o1777
DEFAULT = "/usr/local/share/nbgrader/exchange"  # nbgrader's


def named(own_config: Path) -> Path | None:
    """Return the exchange that a course's own configuration names as a plain text; None if it does not. OSError."""
    text = own_config.read_text(encoding="utf-8", errors="replace")
    said = re.findall(r"""^c\.Exchange\.root\s*=\s*(["'])([^"'\\\n]+)\1""", text, re.MULTILINE)
    return Path(said[-1][1]) if said else None


def make_exchange(place: Path) -> None:
    """Make the folder if it is not there, for all to write to. OSError."""
    if not place.exists():
        place.mkdir(parents=True)
        place.chmod(MODE)


def problem(place: Path) -> tuple[str, str] | None:
    """Return what is wrong with it, as the rest of a sentence, and what to type; None if nothing is."""
    try:
        mode = place.stat().st_mode
    except OSError:
        return "is not there", f"sudo mkdir -p -m {MODE:o} {place}"
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        return "lets any student put another folder in the course's place", f"sudo chmod {MODE:o} {place}"
    return None
