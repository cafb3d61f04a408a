"""The words of ideas, other findings and refusals: Markdown next to the module that knows when to say them.

    = mask: (keys < n_k)[None, :]

    # keys-counted: Keys past the last one are counted
    Keys that do not exist have the score 0, so each of them adds exp(0 - m) to the normaliser.
    ? What is the score of a key that was loaded as zeros?
    > Hide them: tl.where({mask}, Sij, -float('inf')).

    # keys-counted/in-pass-2: Pass 2 counts keys past the last one

Each field is one line: the title after the key, the explanation, a question (`?`), if there is one, and a hint (`>`). A
backslash before a line's first character makes it part of the text. The key is the idea's id. A variant's key is
`id/variant`, and what it leaves out is as the idea has it. `{mask}` stands for what the file defines (`=`), or else for
what the caller fills in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from checker.course.verdict import Finding, Status, Where

_FIELDS = {"? ": "question", "> ": "hint"}
_HEADING = re.compile(r"# ([a-z0-9-]+(?:/[a-z0-9-]+)?)(?:: (\S.*))?")
_NO_HEADING = "this is not `# key: Title`, in Chinese with ` @` and eight digits of the English's mark before the colon"
_DEFINITION = re.compile(r"= (\w+): (\S.*)")
_HOLE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Words:
    """The words of an idea; of a variant, only those that differ."""

    title: str = ""
    explanation: str = ""
    hint: str = ""
    question: str = ""

    def filled(self, holes: Mapping[str, str]) -> Words:
        """Return the same words with what some holes stand for."""
        return Words(*(_HOLE.sub(lambda hole: holes.get(hole[1], hole[0]), text) for text in self.texts))

    def or_else(self, other: Words) -> Words:
        """These words, and what they leave out as others have it."""
        return Words(*(own or its for own, its in zip(self.texts, other.texts, strict=True)))

    @property
    def holes(self) -> set[str]:
        """The names of what is still to be filled in."""
        return set(_HOLE.findall("".join(self.texts)))

    @property
    def texts(self) -> list[str]:
        """Title, explanation, hint and question."""
        return [getattr(self, field.name) for field in fields(self)]


class Page:
    """The words of one file, by their keys."""

    needed: tuple[str, ...] = ("title", "explanation", "hint")

    def __init__(self, module: str, *others: Page):
        """Read the words next to a module; what they leave out is as other files have it, under the same key.

        Raises ValueError, with the line, if they do not have their form.
        """
        self.path = Path(module).with_suffix(".md")
        self.others = others
        self.words: dict[str, Words] = {}
        for key, own in read(self.path.read_text(encoding="utf-8"), self.path.name).items():
            for known in (key, key.partition("/")[0]):
                for words in (self.words, *(other.words for other in others)):
                    own = own.or_else(words.get(known, Words()))
            if missing := [name for name in self.needed if not getattr(own, name)]:
                raise ValueError(f"{self.path.name}: {key} has no {missing[0]}.")
            self.words[key] = own

    def said(self, key: str, holes: Mapping[str, str]) -> Words:
        """Return the words under a key, with what these holes stand for.

        Raises LookupError, with what there is in place of it, if the file lacks the key or the text a hole.
        """
        words = next((one.words[key] for one in (self, *self.others) if key in one.words), None)
        if words is None:
            raise LookupError(f"{self.path.name} has no words for {key}; it has some for {', '.join(self.words)}.")
        if unknown := holes.keys() - words.holes:
            raise LookupError(f"{self.path.name}: {key} has no {{{min(unknown)}}}, only {sorted(words.holes)}.")
        return words.filled(holes)


class Findings(Page):
    """Makes findings of the words in one file, by their keys: `finding("lanes-collide", status, where, tensor="y")`."""

    def __call__(
        self,
        key: str,
        status: Status,
        where: Where | None = None,
        examples: tuple[str, ...] = (),
        *,
        named: bool = True,
        **holes: object,
    ) -> Finding:
        """Return the finding of this key, with all holes filled in. Raises LookupError as `said` does, and for one
        left.
        """
        said = self.said(key, {name: str(value) for name, value in holes.items()})
        if left := self.words[key].holes - holes.keys():
            raise LookupError(f"{self.path.name}: {key} needs {sorted(left)}.")
        id, place = key.partition("/")[0], where or Where()
        return Finding(
            id, status, said.title, said.explanation, said.hint, place, examples, named=named, question=said.question
        )


def read(text: str, name: str) -> dict[str, Words]:
    """Return the words in a file, by their keys. Raises ValueError for what does not have the form, with `name` and
    line.
    """
    definitions: dict[str, str] = {}
    found: dict[str, dict[str, str]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        place = f"{name}, line {number}"
        if not line.strip():
            continue
        if not found and (definition := _DEFINITION.fullmatch(line)):
            definitions[definition[1]] = definition[2]
        elif line.startswith("# "):
            heading = _HEADING.fullmatch(line)
            if heading is None or heading[1] in found:
                raise ValueError(f"{place}: {'this key is there twice' if heading else _NO_HEADING}.")
            found[heading[1]] = {"title": heading[2] or ""}
        elif not found:
            raise ValueError(f"{place}: text before the first `# key: Title`.")
        else:
            field = _FIELDS.get(line[:2], "explanation")
            said = next(reversed(found.values()))
            if field in said:
                raise ValueError(f"{place}: a second {field}; each is one line.")
            said[field] = line[2:] if field != "explanation" else line.removeprefix("\\")
    return {key: Words(**said).filled(definitions) for key, said in found.items()}
