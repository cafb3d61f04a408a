"""The files of a new puzzle: a small one that the judge can check, whose rung is a draft.

`make puzzle ID=p8_row_max` writes them; `make size` holds their number of lines.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SKELETON = Path(__file__).parent
FILES = {  # where each goes
    "lesson.py": "puzzles/{stem}.py",
    "solution.py": "solutions/{stem}.py",
    "catalog.py": "checker/catalog/{stem}.py",
    "walk.md": "solutions/{stem}.md",
    "mistakes.md": "checker/catalog/{stem}.md",
    "wrong.diff": "tests/wrong/{id}.diff",
}
MISTAKE = ("mistakes.md", "wrong.diff")  # besides a line of the catalog
LAST = ")\nRUNGS = {"
RUNG = '    Rung("{id}", "{slug}", "{title}", helps="{helps}", draft=True),\n'


def written(stem: str, root: Path = ROOT) -> list[Path]:
    """Write the files of a new puzzle, and its rung as the last one. FileExistsError if there is one of them."""
    id, _, slug = stem.partition("_")
    words = {
        "stem": stem,
        "id": id,
        "slug": slug,
        "title": slug.replace("_", " ").capitalize(),
        "helps": "when it helps",
    }
    paths = {name: root / place.format(**words) for name, place in FILES.items()}
    if there := [str(path.relative_to(root)) for path in paths.values() if path.exists()]:
        raise FileExistsError(f"{', '.join(there)}: it is there already, and nothing was written.")
    for name, path in paths.items():
        path.write_text(re.sub(r"\bt1(?=\b|_)", id, (SKELETON / name).read_text(encoding="utf-8")), encoding="utf-8")
    rungs = root / "checker" / "course" / "ladder.py"
    text = rungs.read_text(encoding="utf-8")
    assert text.count(LAST) == 1
    rungs.write_text(text.replace(LAST, RUNG.format(**words) + LAST), encoding="utf-8")
    return [*paths.values(), rungs]
