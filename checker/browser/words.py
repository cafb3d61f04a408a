"""What is typed at a terminal, as a page says it: by the name of a button."""

from __future__ import annotations

import re

_BUTTONS = "check|hint|predict|step|trace|reset|solution"
_TYPED = re.compile(rf"`?\bmake ({_BUTTONS})\b(?: [A-Z]+=[\w…]+)*`?")


def on_page(text: str) -> str:
    """A sentence, or Markdown, that names buttons instead of commands: Trace, for `make trace PUZZLE=5`."""
    return _TYPED.sub(lambda match: match[1].capitalize(), text)
