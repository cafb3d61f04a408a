"""Read a submission as text, and remember where each line came from."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import re
import tokenize
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

SIZE_LIMIT = 10 << 20  # bytes of a script
NOTEBOOK_LIMIT = 100 << 20  # and of a notebook, which is mostly outputs; a lesson's without any has about 60 thousand
MOST_OBJECTS = 500_000  # braces and brackets of a notebook; in memory each may take a hundred times its length
MOST_TEXTS = 2_000_000  # as many, each of which takes twenty times its length
MOST_CELLS = 5000
CODE_LIMIT = 128 << 10  # characters of code; Python 3.10's own parser dies of half a million made for it

_BEFORE_A_STATEMENT = {tokenize.ENCODING, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT}


class Unreadable(Exception):
    """The submission cannot be read: a sentence for the student. `missing`: there is no such file."""

    def __init__(self, sentence: str, *, missing: bool = False):
        super().__init__(sentence)
        self.missing = missing


@dataclass(frozen=True)
class Chunk:
    """A piece of Python text and where it stands: a whole file, or one code cell of a notebook."""

    text: str
    cell: int | None = None  # counted from 1 among all cells; None: a file


class Cell(NamedTuple):
    """A cell of a notebook."""

    kind: str  # code, markdown, …
    text: str
    grade_id: str = ""  # the name that nbgrader knows it by, if any
    ran: int = 0  # the number that it had when it was run last; 0: that is not known, or it was not


@dataclass(frozen=True)
class Submission:
    """The code that a student handed in, and a name to call it by."""

    name: str
    chunks: tuple[Chunk, ...]

    @property
    def live(self) -> bool:
        """Whether these are the cells that were run in a notebook, and not a file."""
        return not self.name

    @property
    def text(self) -> str:
        """All code as one text, chunk after chunk."""
        return "\n".join(chunk.text for chunk in self.chunks)

    @property
    def sha256(self) -> str:
        """The hash of this text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()

    def place(self, line: int) -> tuple[int | None, int]:
        """(cell, line within it) of a line of `text`, both counted from 1."""
        number = max(0, bisect_left(self._before, line) - 1)
        return (self.chunks[number].cell, line - self._before[number]) if self.chunks else (None, line)

    @cached_property
    def _before(self) -> list[int]:
        """Return the number of lines of `text` before each chunk."""
        lengths = (chunk.text.count("\n") + 1 for chunk in self.chunks)
        return list(accumulate(lengths, initial=0))[:-1]


def from_file(path: Path, name: str = "") -> Submission:
    """Read a `.py` file or an `.ipynb` notebook, to be called `name`, or by its path. Raises Unreadable."""
    name = name or str(path)
    if path.suffix == ".ipynb":
        return from_cells([(cell.kind, cell.text) for cell in cells_of(path, name)], name)
    return from_cells([("code", _text_of(path, name))], name, numbered=False)


def _text_of(path: Path, name: str) -> str:
    """Return the text of a file. Raises Unreadable."""
    try:
        if not path.exists():
            raise Unreadable(f"There is no file {name}.", missing=True)
        if not path.is_file():
            raise Unreadable(f"{name} is not a file. Name a .py file or an .ipynb notebook.", missing=True)
        size = path.stat().st_size
        most = NOTEBOOK_LIMIT if path.suffix == ".ipynb" else SIZE_LIMIT
        if size > most:
            clear = " Clear its outputs and save it again." if path.suffix == ".ipynb" else ""
            raise Unreadable(f"{name} has {size >> 20} MB; more than {most >> 20} MB are not read.{clear}")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise Unreadable(f"{name} could not be read: {reason}.", missing=True) from error
    if not data.strip():
        raise Unreadable(f"{name} is empty. `make reset` brings the stub back.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"{name} is not UTF-8 text (byte {error.start} is 0x{data[error.start]:02x}). "
            "Save it again with UTF-8 encoding."
        ) from error


def from_cells(cells: Sequence[tuple[str, str]], name: str, *, numbered: bool = True) -> Submission:
    """Return a submission from (kind, text) of each cell; only cells of kind `code` are kept."""
    code = [(number, _plain(text)) for number, (kind, text) in enumerate(cells, start=1) if kind == "code"]
    if sum(len(text) for _, text in code) > CODE_LIMIT:  # before anything parses it
        raise Unreadable(f"{name} holds more than {CODE_LIMIT >> 10} thousand characters of code.")
    chunks = tuple(Chunk(without_magics(text), number) if numbered else Chunk(text) for number, text in code)
    if any("\0" in chunk.text for chunk in chunks):
        raise Unreadable(f"{name} holds zero bytes: it is not a text file.")
    return Submission(name, chunks)


def defines(text: str, kernel: str) -> bool:
    """Return whether a text has the first line of a kernel, at the margin."""
    return re.search(rf"^def {kernel}\b", text, re.MULTILINE) is not None


def blanked(text: str, statements: Iterable[ast.stmt]) -> str:
    """Return a text without some of its statements, nor what decorates them; lines keep their numbers."""
    lines = text.split("\n")
    for statement in statements:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))]) - 1
        last = statement.end_lineno or statement.lineno
        lines[first:last] = [""] * (last - first)
    return "\n".join(lines)


def without_comments(text: str) -> str:
    """Return a program without comments and docstrings; lines keep their numbers. Raises SyntaxError and TokenError."""
    lines, begins = text.split("\n"), True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and begins):
            (first, column), (last, _) = token.start, token.end
            lines[first - 1 : last] = [lines[first - 1][:column].rstrip(), *[""] * (last - first)]
        begins = token.type in _BEFORE_A_STATEMENT or (begins and token.type == tokenize.COMMENT)
    return "\n".join(lines)


def _plain(text: str) -> str:
    """Line ends as Python counts them: CRLF and CR become LF, a form feed a space; half a character is none."""
    if not text.isascii():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")


def without_magics(text: str) -> str:
    """The cell with IPython's own lines blanked, unless it is Python as it stands; lines keep their numbers."""
    try:
        compile(text, "<cell>", "exec", ast.PyCF_ONLY_AST)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        lines = text.split("\n")
        return "\n".join("" if line.lstrip()[:1] in {"%", "!", "?"} else line for line in lines)
    return text


def cells_of(path: Path, name: str = "") -> list[Cell]:
    """The cells of a notebook's file, whatever else it holds. Raises Unreadable, which says `name`, or the path."""
    name = name or str(path)
    return cells_in(notebook_of(_text_of(path, name), name), name)


def notebook_of(text: str, name: str) -> dict[str, Any]:
    """Return what a notebook's text holds: JSON with a list of cells. Raises Unreadable."""
    many = text.count("{") + text.count("[") > MOST_OBJECTS or text.count('"') > 2 * MOST_TEXTS
    if len(text) > NOTEBOOK_LIMIT or many:  # before objects are made of it
        raise Unreadable(f"{name} holds far more than any notebook does. Clear its outputs and save it again.")
    try:
        notebook = json.loads(text)
    except RecursionError as error:
        raise Unreadable(f"{name} is nested too deeply to be a notebook.") from error
    except ValueError as error:
        if not text.lstrip().startswith("{"):
            raise Unreadable(f"{name} is called a notebook, but holds no JSON. A script's name ends in .py.") from error
        where = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise Unreadable(f"{name} is not a whole notebook: its JSON breaks off{where}. Save it again.") from error
    if isinstance(notebook, dict) and "worksheets" in notebook:
        raise Unreadable(f"{name} is a notebook of format 3. Open it in Jupyter and save it again, as format 4.")
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise Unreadable(f"{name} is JSON, but not a Jupyter notebook: it has no list of cells.")
    return notebook


def cells_in(notebook: dict[str, Any], name: str) -> list[Cell]:
    """Return the cells of such a notebook. Raises Unreadable."""
    if len(notebook["cells"]) > MOST_CELLS:
        raise Unreadable(f"{name} has {len(notebook['cells'])} cells; more than {MOST_CELLS} are not read.")
    cells = []
    for cell in notebook["cells"]:
        source = cell.get("source", "") if isinstance(cell, dict) else None
        if isinstance(source, list) and all(isinstance(line, str) for line in source):
            source = "".join(source)
        if not isinstance(source, str):
            raise Unreadable(f"{name} has a cell without text: it is not a Jupyter notebook of format 4.")
        count = cell.get("execution_count")
        cells.append(
            Cell(str(cell.get("cell_type")), source, _grade_id(cell), count if type(count) is int and count > 0 else 0)
        )
    return cells


def _grade_id(cell: dict[str, Any]) -> str:
    for key in ("metadata", "nbgrader", "grade_id"):
        cell = cell.get(key, {}) if isinstance(cell, dict) else {}
    return cell if isinstance(cell, str) else ""
