"""The code of a kernel, and the line in it that a report is to point at."""

from __future__ import annotations

import ast

from checker.course.misconception import Access, Line, Part, Product
from checker.judge.text.code import Assignment, Text, called, end_of, names_in
from checker.judge.text.parts import PARTS


class Code(Text):
    """One kernel with the parts that its lines play."""

    def plays(self, part: Line, line: int | None) -> bool:
        """Whether a line plays a part, or is in a statement that does."""
        return any(one.line <= (line or 0) <= end_of(one.value) for one in self.playing(part))

    def playing(self, part: Line) -> list[Assignment]:
        """The lines that play a part."""
        if isinstance(part, Product):
            return self.product(part.of)
        return self._accesses(part) if isinstance(part, Access) else PARTS[part](self)

    def _accesses(self, part: Access) -> list[Assignment]:
        """Loads from a tensor, or stores to it."""
        verb = "store" if part.store else "load"
        return [
            one
            for one in self.assignments
            for call in ast.walk(one.value)
            if isinstance(call, ast.Call) and called(call) == verb and call.args
            if self.closure(names_in(call.args[0])) & self.pointers == {part.tensor}
        ]

    def line_of(self, part: Line, store: int | None) -> int | None:
        """The line that plays a part; of several, the one that what is stored in line `store` depends on."""
        found = self.playing(part)
        if len({one.line for one in found}) > 1:
            found = [one for one in found if self.carried(one.target)] or found
        if len({one.line for one in found}) > 1:
            needed = self.closure(self.stored(store))
            found = [one for one in found if one.target in needed]
        lines = {one.line for one in found}
        return lines.pop() if len(lines) == 1 else None

    def has(self, part: Part | None) -> bool:
        """Whether some line plays a part, if one is asked for."""
        return part is None or bool(PARTS[part](self))

    def last_line(self, part: Part) -> int | None:
        """The last of the lines that play a part."""
        return max((one.line for one in PARTS[part](self)), default=None)
