"""Words and signs of ideas: their form, what is refused, and that neither is anywhere without the other."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import catalog
from checker.course import ladder
from checker.course.misconception import Ideas, Misconception, Undefined, chosen, without
from checker.course.verdict import Status
from checker.course.words import Findings, Words, read
from checker.judge import general
from tests.conftest import ROOT

SIGN = Undefined()
FIRST = "# one: One\nIt is one.\n> Make it two.\n"
texts = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1).filter(
    lambda text: text.strip() == text
)
keys = st.from_regex(r"[a-z0-9-]{1,9}(/[a-z0-9-]{1,9})?", fullmatch=True)


def ideas(folder: Path, text: str, *others: Ideas, name: str = "mistakes") -> Ideas:
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    return Ideas(str(folder / f"{name}.py"), *others)


@given(st.dictionaries(keys, st.builds(Words, texts, texts, texts, texts | st.just("")), max_size=4))
def test_what_is_written_in_this_form_is_read_as_it_was(words: dict[str, Words]) -> None:
    """Whatever a text begins with, and whatever is in braces: nothing is defined here."""
    lines = []
    for key, one in words.items():
        lines += [f"# {key}: {one.title}", f"\\{one.explanation}", *([f"? {one.question}"] if one.question else [])]
        lines += [f"> {one.hint}", ""]
    assert read("\n".join(lines), "words.md") == words


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("It is one.", "line 1: text before the first"),
        ("# One", "line 1: this is not `# key: Title`"),
        (f"{FIRST}\n{FIRST}", "line 5: this key is there twice"),
        (f"{FIRST}And one more line.", "line 4: a second explanation; each is one line"),
        (f"{FIRST}> And one more hint.", "line 4: a second hint"),
        (f"{FIRST}= two: 2\n", "line 4: a second explanation"),
        ("# one: One\nIt is one.\n", "one has no hint"),
        ("# one: One\n> Make it two.\n", "one has no explanation"),
        ("# one\nIt is one.\n> Make it two.\n", "one has no title"),
        ("# one/more\n> Make it two.\n", "one/more has no title"),
    ],
)
def test_what_has_not_the_form_is_refused_with_its_place(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"mistakes.md.*{sentence}"):
        ideas(tmp_path, text)


def test_words_without_signs_and_signs_without_words_are_errors(tmp_path: Path) -> None:
    idea = ideas(tmp_path, f"{FIRST}\n# two: Two of {{what}}\nIt is two.\n? Is it?\n> Make it one.\n")
    assert idea("one", SIGN) == Misconception("one", "One", "It is one.", "Make it two.", (SIGN,))
    assert idea.words.keys() - idea.made == {"two"}
    with pytest.raises(LookupError, match=r"has no words for three; it has some for one, two\."):
        idea("three", SIGN)
    with pytest.raises(ValueError, match=r"one has no signs"):
        idea("one")
    with pytest.raises(LookupError, match=r"two has no \{which\}, only \['what'\]"):
        idea("two", SIGN, which="them")
    assert idea("two", SIGN, what="three").title == "Two of three"
    assert idea("two", SIGN).title == "Two of {what}"  # which somebody else fills in
    assert idea.words.keys() <= idea.made


def test_what_is_left_out_is_as_the_idea_has_it_or_another_file(tmp_path: Path) -> None:
    other = ideas(tmp_path, f"{FIRST}? Is it?\n\n# three: Three\nIt is three.\n> Make it one.\n", name="others")
    idea = ideas(
        tmp_path,
        "= how: by hand\n\n# one\n> Make it three, {how}.\n\n# one/more: Two\n\n# one/less\nIt is less.\n? Less?\n",
        other,
    )
    one, more, less = (idea(key, SIGN) for key in ("one", "one/more", "one/less"))
    assert (one.title, one.explanation, one.question, one.hint) == (
        "One",
        "It is one.",
        "Is it?",
        "Make it three, by hand.",
    )
    assert (more.id, more.title, more.explanation, more.hint) == ("one", "Two", "It is one.", "Make it three, by hand.")
    assert (less.title, less.explanation, less.question) == ("One", "It is less.", "Less?")
    assert idea("three", SIGN).title == "Three"  # which this file does not change
    assert idea.words.keys() <= idea.made


def test_ideas_are_picked_by_ids_that_exist() -> None:
    one, two = (Misconception(id, "", "", "", (SIGN,)) for id in ("one", "two"))
    assert chosen((one, two), "two") == (two,) and without((one, two), "two") == (one,)
    for pick in (chosen, without):
        with pytest.raises(LookupError, match=r"No idea is called tow\."):
            pick((one, two), "one", "tow")


def test_every_puzzle_has_its_words_and_every_word_a_puzzle() -> None:
    """No file has words that no sign is made with, and no hole is left."""
    for id in ladder.RUNGS:
        for one in catalog.load(id).misconceptions:
            left = Words(one.title, one.explanation, one.hint, one.question).holes
            assert not left, (id, one.id, left)
    every = [*(ROOT / "checker" / "catalog").rglob("*.md"), *(ROOT / "checker" / "judge").glob("*.md")]
    pages = [page for page in every if ".zh." not in page.name]
    assert len(pages) > 30
    for page in pages:
        module = importlib.import_module(".".join(page.relative_to(ROOT).with_suffix("").parts))
        assert module is general or module.idea.words.keys() <= module.idea.made, page


def test_findings_need_all_that_their_words_leave_open(tmp_path: Path) -> None:
    (tmp_path / "said.md").write_text("# bad: {what} is bad\nIt is.\n? Is {what}?\n> Mend {it}.\n", encoding="utf-8")
    finding = Findings(str(tmp_path / "said.py"))
    found = finding("bad", Status.WRONG, what="x", it=3, named=False)
    assert (found.id, found.title, found.hint, found.question, found.named) == (
        "bad",
        "x is bad",
        "Mend 3.",
        "Is x?",
        False,
    )
    assert finding("bad", Status.WRONG, what="{it}", it="{what}").hint == "Mend {what}."  # nothing is filled in twice
    with pytest.raises(LookupError, match=r"bad needs \['it'\]"):
        finding("bad", Status.WRONG, what="x")
    with pytest.raises(LookupError, match=r"has no words for worse"):
        finding("worse", Status.WRONG)


def test_every_refusal_is_asked_for_and_every_one_that_is_asked_for_is_there() -> None:
    """A form of syntax asks for the words under its own name."""
    folder = ROOT / "checker" / "submission"
    forms = {"ForElse", *(name for name in vars(ast) if isinstance(getattr(ast, name), type))}
    shared = [folder / f"{name}.py" for name in ("problem", "walk")]  # by the languages
    for place in (folder, folder / "pytorch"):
        module = importlib.import_module(".".join((place / "refusals").relative_to(ROOT).parts))
        trees = [ast.parse(path.read_text(encoding="utf-8")) for path in {*place.glob("*.py"), *shared}]
        texts = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
        asked = {text for text in texts if isinstance(text, str) and re.fullmatch(r"[a-z-]+/[a-z-]+", text)}
        words, of_forms = module.problem.words, {module.problem.of_form(form) for form in forms}
        assert asked <= words.keys()
        said = {key for key in words if module.problem(key) in of_forms} | {"recursion/recursion"}  # of names in both
        assert words.keys() <= asked | said


def test_every_general_finding_is_asked_for_with_all_that_it_needs() -> None:
    """In the text of the judge and of the check: at run time a missing word would be a fault of ours."""
    texts = [
        path.read_text(encoding="utf-8")
        for room in ("judge", "check")
        for path in (ROOT / "checker" / room).rglob("*.py")
    ]
    calls = [node for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    asked = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "finding"]
    assert len(asked) > 30
    for call in asked:
        named = [node.value for node in ast.walk(call.args[0]) if isinstance(node, ast.Constant)]
        given = {keyword.arg for keyword in call.keywords} - {"named"}
        for key in (key for key in named if key in general.finding.words and None not in given):
            assert general.finding.words[key].holes == given, key
    said = {node.value for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    unsaid = {key for key in general.finding.words if key not in said and f"/{key.partition('/')[2]}" not in said}
    assert not unsaid
