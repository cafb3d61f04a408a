"""Commands as a page names them: by the name of a button."""

from __future__ import annotations

import re

from checker.course.language import ENGLISH, spoken
from checker.report.translated import said

BUTTONS = ("Check", "Hint", "Predict", "Step", "Trace", "Reset", "Solution")  # what has a command of the same name
_TYPED = re.compile(rf"`?(?:\bmake |\./)({'|'.join(map(str.lower, BUTTONS))})\b(?: (?:[A-Z]+=[\w…]+|[a-z]\d\b))*`?")
_SPACED = re.compile(rf" ?{_TYPED.pattern} ?")  # as Chinese has Latin, but not its own quotation marks


def on_page(text: str) -> str:
    """Return a sentence, or Markdown, that names buttons instead of commands: Trace, for `make trace PUZZLE=5`.

    Where nothing is written with a capital, they stand in quotation marks.
    """
    if spoken() == ENGLISH:
        return _TYPED.sub(lambda match: match[1].capitalize(), text)
    return _SPACED.sub(lambda match: f"“{said(match[1].capitalize())}”", text)
