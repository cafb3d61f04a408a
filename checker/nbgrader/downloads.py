"""What nbgrader loads for `zip_collect`: what Canvas or Moodle exports, unpacked with care, and whose each file is.

Archives in the platform's archive are students', and so are all names in them: none may stop the collecting of the
others, or be taken for somebody else's.
"""

from __future__ import annotations

import zlib
from functools import cached_property
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin

from checker.grading.found import Download, download

MOST_BYTES, MOST_FILES = 100 << 20, 1000  # in a student's own archive
_NO_ARCHIVE = (OSError, BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError)


class Unpack(ExtractorPlugin):  # type: ignore[misc]
    """Unpacks the platform's archives, and the students' in them; what cannot be unpacked is left out, and told."""

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Copy what lies in one folder to another, archives as folders."""
        source = Path(archive_path)
        for path in sorted(source.rglob("*")):
            place = Path(extracted_path) / path.relative_to(source)
            if path.suffix == ".zip":
                students = download(Path(path.name)) is not None  # Canvas's folder, unpacked by hand
                self._unpack(path, place.with_suffix(""), students=students)
            elif path.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(path.read_bytes())

    def _unpack(self, path: Path, folder: Path, *, students: bool) -> None:
        try:
            with ZipFile(path) as archive:
                members = archive.infolist()
                if students and (len(members) > MOST_FILES or sum(one.file_size for one in members) > MOST_BYTES):
                    raise ValueError("it holds more than a submission does")
                folder.mkdir(parents=True, exist_ok=True)
                archive.extractall(folder)  # never outside of the folder, whatever the names in it
        except _NO_ARCHIVE as problem:
            self.log.warning("%s cannot be unpacked, and was left out: %s", path, problem)
            return
        if not students:
            for inner in sorted(folder.rglob("*.zip")):
                self._unpack(inner, inner.with_suffix(""), students=True)


class WhoseFile(FileNameCollectorPlugin):  # type: ignore[misc]
    """Says who has handed in a file. With a `named_regexp` of the instructor's own, that holds."""

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """The student, and a name for the file; None if nothing says whose it is."""
        path = Path(submitted_file)
        if self.named_regexp or path.suffix not in self.valid_ext:
            own: dict[str, str] | None = super().collect(submitted_file)
            return own
        if path not in self._names:
            self.log.warning("%s has no name as Canvas or Moodle writes it", path)
            return None
        student, file = self._names[path]
        return {"student_id": student, "file_id": file}

    @cached_property
    def _names(self) -> dict[Path, tuple[str, str]]:
        """Student and file's name by path. nbgrader would stop at a student with two files of one name."""
        folder = Path(self.parent._format_collect_path(self.parent.extracted_directory))
        downloads: dict[Path, Download] = {}
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            in_archive = inside.relative_to(inside.parts[0]) if len(inside.parts) > 1 else inside
            if path.is_file() and (one := download(inside) or download(in_archive)):
                downloads[path] = one
        names: dict[Path, tuple[str, str]] = {}
        for path, one in downloads.items():
            people = {other.participant for other in downloads.values() if other.student == one.student}
            student = one.student if len(people) == 1 else f"{one.student}_{one.participant}"
            file = Path(one.file)
            while (student, str(file)) in names.values():
                file = file.with_stem(f"{file.stem}-again")
            names[path] = student, str(file)
        return names
