"""A CSV file of somebody else's: what is not changed in it comes back as it was, and in the same form."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import SimpleNamespace
from unicodedata import normalize


class NoSheet(Exception):
    """These bytes are not a table: the end of a sentence that begins with the file's name."""


def folded(text: str) -> str:
    """Return a text without what makes no difference between two logins, names or headings, such as case."""
    return " ".join(normalize("NFC", text).split()).casefold()


@dataclass(frozen=True)
class Sheet:
    """A table, and how it was written. Rows may be shorter than the header, or empty."""

    header: list[str]
    rows: list[list[str]]
    delimiter: str
    end: str  # of a line
    encoding: str

    def cell(self, row: Sequence[str], column: str) -> str:
        """Return what a row has in the first column of this name; nothing if there is none."""
        place = self._columns.get(folded(column), len(row))
        return row[place] if place < len(row) else ""

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {folded(heading): n for n, heading in reversed([*enumerate(self.header)])}

    def data(self) -> bytes:
        """Return the table as it was written. What the encoding has no sign for becomes a question mark."""
        # With \r\n the csv module quotes both signs where they stand in a cell, whatever ends a line here.
        out = csv.writer(SimpleNamespace(write=str), delimiter=self.delimiter, lineterminator="\r\n")
        lines = (out.writerow(row).removesuffix("\r\n") + self.end for row in [self.header, *self.rows])
        return "".join(lines).encode(self.encoding, errors="replace")


def read(data: bytes, delimiters: str, fits: Callable[[list[str]], bool]) -> Sheet:
    """Return the table with the first delimiter by which its header fits; if none does, by which it is longest.

    Raises NoSheet. What is not UTF-8 is read as Latin-1, which any bytes are, and is written so again.
    """
    encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        encoding = "latin-1"
        text = data.decode(encoding)
    if not text.strip():
        raise NoSheet("is empty")
    if "\0" in text:
        raise NoSheet("is not text")
    lines = list(io.StringIO(text, newline=""))  # with their ends
    headers = {delimiter: _header(lines, delimiter) for delimiter in delimiters}
    chosen = max(delimiters, key=lambda one: (fits(headers[one]), len(headers[one])))
    try:
        reader = csv.reader(lines, delimiter=chosen, strict=True)
        header = next(reader)
        last = lines[reader.line_num - 1]
        rows = list(reader)
    except csv.Error as problem:
        raise NoSheet(f"cannot be read as CSV: {problem}") from problem
    end = next((one for one in ("\r\n", "\n", "\r") if last.endswith(one)), "\r\n")
    return Sheet(header, rows, chosen, end, encoding)


def _header(lines: list[str], delimiter: str) -> list[str]:
    try:
        return next(csv.reader(lines, delimiter=delimiter, strict=True), [])
    except csv.Error:
        return []
