"""Changes that commands make in `course.toml`: an extension, and a time of handing out. All else there stays."""

from __future__ import annotations

from datetime import datetime, timezone

import tomlkit

from checker.course.saving import replace_whole
from checker.grading.settings import NAME, Settings, SettingsError, checked


def extend(course: Settings, assignment: str, student: str, days: float) -> None:
    """Give a student so many days beyond the deadline of all; none with 0. Raises SettingsError, OSError."""
    path = course.folder / NAME
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    extensions = document.setdefault("extension", tomlkit.table(is_super_table=True))
    of_assignment = extensions.setdefault(assignment, tomlkit.table())
    of_assignment.pop(student, None)
    if days:
        of_assignment[student] = int(days) if days == int(days) else days
    elif not of_assignment:
        del extensions[assignment]
    if not extensions:
        del document["extension"]
    text = tomlkit.dumps(document)
    if checked(text, course.folder).extension.get(assignment, {}).get(student, 0) != days:
        raise SettingsError(
            f"Write it into {path} yourself: [extension.{assignment}], and below it {student!r} = {days:g}."
        )
    replace_whole(path, text.encode())


def handed_out(course: Settings, assignment: str) -> None:
    """Write down that an assignment is handed out now, unless it was before. Raises OSError."""
    if assignment not in course.handed_out:
        path = course.folder / NAME
        document = tomlkit.parse(path.read_text(encoding="utf-8"))
        now = datetime.now(timezone.utc).replace(microsecond=0)
        document.setdefault("handed_out", tomlkit.table())[assignment] = now
        replace_whole(path, tomlkit.dumps(document).encode())
