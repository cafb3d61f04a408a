"""`make size` counts what git tracks, by room and by kind, and names what is too large."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import size
from tests.conftest import need


@pytest.mark.parametrize(
    ("path", "room", "kind"),
    [
        ("checker/sandbox/inside/gpu/cuda.py", "checker/sandbox", "Python"),
        ("checker/judge/general.md", "checker/judge", "words"),
        ("checker/__main__.py", "checker", "Python"),
        ("tests/wrong/p6.diff", "tests/wrong", "data"),
        ("tests/hostile/p1_x.py", "tests/hostile", "data"),
        ("docs/figures/draw.py", "docs", "Python"),
        ("README.md", ".", "words"),
        ("docs/figures/a.svg", "docs", None),
    ],
)
def test_each_file_has_a_room_and_a_kind(path: str, room: str, kind: str | None) -> None:
    assert (size.room(Path(path)), size.kind(Path(path))) == (room, kind)


def test_what_is_large_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size, "ROOT", tmp_path)
    (tmp_path / "checker" / "judge").mkdir(parents=True)
    names = [Path("checker/judge") / f"f{n}.py" for n in range(size.CROWDED + 1)]
    for name in names:
        (tmp_path / name).write_text('"""Words."""\n\nx = 1  # why\n\n\ndef f():\n    """More."""\n    return x\n')
    (tmp_path / names[3]).write_text("x = 1\n" * (size.LONG + 1))
    said = size.report(names)
    assert f"checker/judge {size.CROWDED + 1}" in said and f"{names[3]} {size.LONG + 1}" in said
    [row] = [line.split() for line in said.split("\n") if line.startswith("checker in all")]
    code = size.LONG + 1 + 3 * size.CROWDED
    assert row[3:] == [str(size.LONG + 1 + 8 * size.CROWDED), str(code)]


def test_more_than_the_limits_allow_is_a_failure_and_moving_is_no_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size, "ROOT", tmp_path)
    lengths = {"checker/a.py": 5, "checker/b.toml": 3, "checker/c.md": 9, "tests/d.py": 4, "docs/e.py": 9}
    for name, length in lengths.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n" * length)
    counted = size.limited(map(Path, lengths))
    assert counted == {"checker": 5, "everything": 12}
    assert size.too_large(counted, "# why\nchecker 5  # a sentence\neverything 12\n") == []
    (refused,) = size.too_large(counted, "checker 6\neverything 11\n")
    assert refused.startswith("everything: 12, and size.txt allows 11.")


def test_the_project_is_no_larger_than_its_limits() -> None:
    need("git")
    assert size.too_large(size.limited(size.tracked()) | size.marginal(), size.LIMITS.read_text()) == []
