"""Verbs for a learner: hints, predictions, progress, reset, the solution, bugs, notebooks, a check on every save."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console
from rich.text import Text

from checker import catalog
from checker.check import Conditions, check
from checker.commands.arguments import PATH, of_file, of_puzzle
from checker.commands.output import end
from checker.course import places
from checker.course.ladder import id_of
from checker.course.saving import replace_whole
from checker.course.status import ExitStatus, Misuse
from checker.learner import hints, record, standing, stub
from checker.learner import predict as predictions
from checker.learner.bugs import Bug, bugs_of, museum
from checker.learner.practice import best, checked, fault, held_back
from checker.learner.progress import helped, noted, opened
from checker.learner.solution import page
from checker.report import screen, terminal
from checker.report.translated import said
from checker.report.words import typed, why
from checker.submission.definitions import candidates
from checker.submission.read import Unreadable, from_cells, from_file

COLOURS = "ansi_dark"  # those of the terminal itself
HAS_SOLUTIONS = (places.ROOT / "solutions").is_dir()
_COURSE = "COURSE"  # in the environment: an instructor's folder
_PATH = "JUPYTER_CONFIG_PATH"  # folders of settings to which Jupyter adds the user's own


@click.command()
@of_puzzle
@click.option("--again", is_flag=True, help="Show only the hints that you have seen so far.")
def hint(puzzle: str, again: bool) -> None:
    """Show the next hint for a puzzle.

    If a report has asked you to find something out, the hint is about that. Then come those at the end of the lesson.
    progress.txt remembers what you have seen.
    """
    found = opened()
    _remark(found.remark)
    asked = found.progress.of(puzzle).asked
    if asked and not again and (finding := held_back(asked, checked(puzzle, None, None))):
        screen.console().print(terminal.blocks_of(finding))
        return
    shown = hints.seen_hints(puzzle) if again else hints.next_hint(puzzle)
    _remark(shown.remark)
    console = screen.console()
    for one in shown.hints:
        console.print(f"Puzzle {puzzle}, hint {one.level} of {shown.total}: {one.title}", style="bold")
        for paragraph in hints.plain(one.text).split("\n"):
            text = screen.Prose(paragraph)
            text.highlight_regex("`[^`]+`", "bold")
            console.print(text)
        console.print()
    another = typed("hint", puzzle)
    comments = f"{typed('reset', puzzle)} HELP={stub.COMMENTS}"
    for sentence, command in hints.closing(shown, another, f"{another} AGAIN=1", comments, typed("solution", puzzle)):
        screen.say(console, sentence, command)


@click.command()
@of_puzzle
@click.argument("words", nargs=-1, metavar="[NAME=NUMBER]...")
@of_file("Ask")
def predict(puzzle: str, words: tuple[str, ...], file: Path | None) -> NoReturn:
    """Compare your guess with what your own accepted kernel does, and say why. Nothing of it is graded.

    Without a guess, the questions are listed; the lesson asks the same ones. The first guess at each is kept in
    progress.txt. The exit status is 0 whether it is right or wrong, and that of `check` if no kernel can answer.
    """
    found = catalog.load(puzzle)
    guesses = predictions.guesses_of(found, predictions.said_in(words))
    console = screen.console()
    if any(guess is not None for guess in guesses.values()):
        path = file or Path(places.shown(places.spoken_script(puzzle)))
        try:
            outcome = best(
                puzzle, candidates(path, found.kernels), Conditions(targets=())
            )  # what it finds, `check` says
            if not outcome.verdict.accepted:
                screen.say(console, predictions.not_accepted(found), typed("check", puzzle, file=file))
                sys.exit(outcome.verdict.exit_status)
            answers = predictions.answered(found, outcome, guesses)
        except Unreadable as problem:
            raise Misuse(str(problem)) from problem
        except Misuse:
            raise
        except Exception as error:
            end(fault(puzzle, error))
        console.print(screen.lines(predictions.shown(found, answers, predictions.noted(found, answers, path))))
        console.print()
    if still_open := predictions.still_open(found, guesses):
        console.print(screen.lines(predictions.asked(still_open)))
        console.print()
        guess = " ".join(f"{question.name}=..." for question in still_open)
        sentence = "Write your guesses in place of the dots, and type:"
        screen.say(console, sentence, f'make predict PUZZLE={puzzle} GUESS="{guess}"')
    sys.exit(ExitStatus.ACCEPTED)


@click.command()
def progress() -> None:
    """Show what is solved, how many hints were seen, what was predicted, and which file to open next.

    All of this is in progress.txt, which you may read, change or delete.
    """
    found = opened()
    _remark(found.remark)
    console = screen.console()
    console.print(standing.table(found.progress))
    ahead = found.progress.next_open()
    if ahead is not None:
        screen.say(console, standing.NEXT, places.shown(places.spoken_script(ahead)))
    if kept := [*record.summary()]:
        screen.say(console, f"\nIn {record.NAME}, which you may send:", *map(said, kept))


@click.command()
@of_puzzle
@click.option("--file", "file", type=PATH, help="Reset only this one of the puzzle's two files.")
@click.option("--level", type=int, default=0, help="1: with the solution's comments. 2: the solution with some holes.")
def reset(puzzle: str, file: Path | None, level: int) -> None:
    """Put the stub of a puzzle back into its file and its notebook.

    What they held is kept next to them, as .bak, .bak2 and so on. Only the kernels become stubs again, and a
    notebook's results are cleared; whatever else you have written stays. progress.txt remembers the highest level.
    """
    paths = [path for path in places.files(puzzle) if path.parent.is_dir()]
    if file is not None:
        if not places.is_own(file, puzzle):
            names = " and ".join(map(places.shown, paths))
            raise Misuse(f"{file} is not a file of puzzle {puzzle}, so it has no stub. These have one: {names}.")
        paths = [path for path in paths if os.path.realpath(path) == os.path.realpath(file)]
    done = False
    try:
        for plan in [stub.planned(puzzle, path, level=level) for path in paths]:
            name = places.shown(plan.path)
            if not plan.needed:
                screen.echo(f"{name} is {stub.LEVELS[level]} already.")
                continue
            backup = stub.carry_out(plan)
            kept = "" if backup is None else f" What it held is in {places.shown(backup)}."
            screen.echo(f"{name} is now {stub.LEVELS[level]}.{kept}")
            done = True
        if level:
            helped(puzzle, level)
    except OSError as error:
        name = error.filename or "A file"
        raise Misuse(f"{name} cannot be read or written: {error.strerror}. Nothing is lost.") from error
    if done:
        screen.echo("If it is open in an editor or in JupyterLab, load it again there.")


@click.command(hidden=not HAS_SOLUTIONS)
@of_puzzle
@click.option("--force", is_flag=True, help="Open it even if the puzzle is not solved.")
def solution(puzzle: str, force: bool) -> None:
    """Print the solution of a puzzle and how it works, once you have solved it.

    Exit status 1: it is not solved yet.
    """
    shown = page(puzzle, in_notebook=False, force=force)
    _remark(shown.remark)
    console = screen.console()
    if shown.open and console.is_terminal:
        from rich.syntax import Syntax  # in the terminal's colours, and without boxes and backgrounds

        console.print(Syntax(shown.code, "python", theme=COLOURS, background_color="default", word_wrap=True))
        if shown.walk_through:
            _told(console, shown.walk_through)
    elif shown.open:  # into a pipe, as the files are
        click.echo(f"{shown.code}\n{shown.walk_through}" if shown.walk_through else shown.code)
    for sentence, command in shown.closing:
        screen.say(console, sentence, command)
    if not shown.open:
        sys.exit(ExitStatus.REFUSED)


def _told(console: Console, markdown: str) -> None:
    """Print Markdown, and an empty line below it."""
    from rich.markdown import Markdown  # takes its time to import, as Syntax does
    from rich.theme import Theme

    with console.use_theme(Theme({"markdown.code": "bold", "markdown.h1": "bold", "markdown.h2": "bold"})):
        console.print(Markdown(markdown, code_theme=COLOURS, hyperlinks=False))
    console.print()


@click.command(hidden=not HAS_SOLUTIONS)
@click.option("--museum", "piece", type=int, is_eager=True, help="In place of PUZZLE: a bug of a public project.")
@of_puzzle
@click.option("--number", type=int, help="Which bug. The first that is not fixed, if it is left out.")
@click.option("--line", type=int, help="The line that you think is to blame.")
@click.option("--fails", metavar="NAMES", help="The properties that you think fail, with spaces between them.")
@click.option("--fix", is_flag=True, help="Check the bug's file, in which you have fixed it.")
def bug(piece: int | None, puzzle: str, number: int | None, line: int | None, fails: str | None, fix: bool) -> None:
    """Find the one mistake in a kernel, say what it breaks, and fix it in one edit.

    Open once the puzzle is solved. Exit status 1: the puzzle is not solved yet, or the bug is not fixed.
    """
    bugs, of = (museum(), "public projects") if piece is not None else (bugs_of(puzzle), f"puzzle {puzzle}")
    if not bugs:
        raise Misuse(f"This copy of the course has no bugs of {of}: ask whoever gave it to you.")
    console, progress = screen.console(), opened().progress
    fixed = progress.of(puzzle).bugs if piece is None else 0
    chosen = next(n for n in (piece, number, min(fixed + 1, len(bugs))) if n is not None)
    if not 1 <= chosen <= len(bugs):
        raise Misuse(f"The bugs of {of} are 1 to {len(bugs)}; there is no bug {chosen}.")
    one = bugs[chosen - 1]
    if not progress.of(one.puzzle).solved:
        screen.say(console, f"Bugs open once puzzle {one.puzzle} is solved.", typed("check", one.puzzle))
        sys.exit(ExitStatus.REFUSED)
    if fix:
        sys.exit(_fixed(console, one, bugs))
    if line is not None or fails is not None:
        _judged(console, one, line, (fails or "").replace(",", " ").split(), one.is_fixed(progress))
    elif piece is None and number is None and fixed >= len(bugs):
        say = f"You have fixed all {one.total} bugs of puzzle {puzzle}. One of them again:"
        screen.say(console, say, bugs[0].command)
    else:
        _handed_out(console, one, one.is_fixed(progress))


def _handed_out(console: Console, one: Bug, fixed: bool) -> None:
    """Write the bug's file, if it is not there, show it, and say what to do."""
    from rich.syntax import Syntax

    path = one.path()
    try:
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            replace_whole(path, one.text.encode())
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise Misuse(f"{places.shown(path)} cannot be written: {error.strerror}.") from error
    shown = places.shown(path)
    if one.story:
        say = f"The museum, piece {one.number} of {one.total}, of puzzle {one.puzzle}: {shown}"
    else:
        say = f"Puzzle {one.puzzle}, bug {one.number} of {one.total}: {shown}"
    console.print(say, style="bold")
    if fixed and one.edits(text):
        _explained(console, one)
        return
    language = "python" if console.is_terminal else "text"
    console.print(Syntax(text, language, line_numbers=True, background_color="default", word_wrap=True))
    console.print("\nThere is one mistake in it. Which of these properties does it break, and which line is to blame?")
    properties = catalog.load(one.puzzle).properties
    for p in properties:
        console.print(Text.assemble("  ", (f"{p.name:14}", "bold"), f" {said(p.title)}"))
    names = " ".join(p.name for p in properties[:2])
    screen.say(console, "\nSay it first, with the names that you choose:", f'{one.command} LINE=17 FAILS="{names}"')
    screen.say(console, f"Then fix it in {shown}, with one edit:", f"{one.command} FIX=1")


def _judged(console: Console, one: Bug, line: int | None, fails: list[str], fixed: bool) -> None:
    """Say whether the guesses are right, and why."""
    known = [p.name for p in catalog.load(one.puzzle).properties]
    if strange := [name for name in fails if name not in known]:
        raise Misuse(f"There is no property {', '.join(strange)}. There are: {', '.join(known)}.")
    submission = from_cells([("code", one.text)], one.path().name, numbered=False)
    verdict = check(one.puzzle, submission, Conditions(targets=())).verdict
    failing = {p.name: said(why(p)) for p in verdict.properties if not p.passed}
    for name in fails:
        console.print(f"✓ {name}: fails indeed" if name in failing else f"✗ {name}: holds all the same")
    if fails or line in one.lines:
        console.print("What fails:")
        for name, reason in failing.items():
            console.print(screen.Prose(f"  {name}: {reason}", style="dim"))
    if line is None:
        return
    if line not in one.lines:
        console.print(f"✗ Line {line} is not to blame. Look again.")
        return
    console.print(f"✓ Line {line} is to blame. The report says to whoever wrote it:")
    finding = verdict.findings[0]
    console.print(f"  {finding.title}", style="bold")
    console.print(f"  {finding.explanation}")
    if fixed:
        _explained(console, one)
    else:
        screen.say(console, f"Now fix it in {places.shown(one.path())}:", f"{one.command} FIX=1")


def _explained(console: Console, one: Bug) -> None:
    """Say of a bug that is fixed how to begin again, and what it was in a public project."""
    screen.say(console, f"You have fixed it. To begin again, delete {places.shown(one.path())}, and type:", one.command)
    if one.story:
        console.print()
        _told(console, one.shown_story)


def _fixed(console: Console, one: Bug, bugs: tuple[Bug, ...]) -> ExitStatus:
    """Check the learner's fix: accepted, and made in one place."""
    path = one.path()
    try:
        submission = from_file(Path(os.path.relpath(path)))
        places_changed = one.edits(path.read_text(encoding="utf-8", errors="replace"))
    except (Unreadable, OSError) as problem:
        raise Misuse(f"{problem} Get the file: {one.command}") from problem
    if places_changed == 0:
        screen.say(console, "The bug is as it was. Fix it in its file first:", places.shown(path))
        return ExitStatus.REFUSED
    verdict = check(one.puzzle, submission, Conditions()).verdict
    if not verdict.accepted:
        held = tuple(replace(finding, withheld=bool(finding.question)) for finding in verdict.findings)
        console.print(terminal.report(replace(verdict, findings=held)), crop=False)
        return verdict.exit_status
    if places_changed > 1:
        console.print(
            f"It is right now, but you changed {places_changed} places, and one edit is enough: which one? "
            f"Delete {places.shown(path)} to begin again."
        )
        return ExitStatus.REFUSED
    console.print(f"✓ fixed: bug {one.number} of {one.total}", style="bold green")
    if one.story:
        _told(console, one.shown_story)
    try:
        progress = noted(one.puzzle, one.noted).progress
    except OSError as error:
        console.print(f"That you have fixed it cannot be written down in progress.txt ({error.strerror}).")
        return ExitStatus.ACCEPTED
    still = [bug for bug in bugs if progress.of(bug.puzzle).solved and not bug.is_fixed(progress)]
    if still:
        screen.say(console, "Next:", min(still, key=lambda bug: (bug.number < one.number, bug.number)).command)
    return ExitStatus.ACCEPTED


def _remark(sentence: str) -> None:
    """Print what there is to say about progress.txt, if anything."""
    if sentence:
        screen.echo(sentence, err=True)


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("options", nargs=-1, type=click.UNPROCESSED)
def lab(options: tuple[str, ...]) -> None:
    """Open the notebooks in JupyterLab. OPTIONS are those of JupyterLab itself.

    Where there is no nbgrader course, what nbgrader has for instructors is left out; no settings of yours are changed.
    """
    if find_spec("jupyterlab") is None:
        raise Misuse("JupyterLab is missing: pip install jupyterlab.")
    first = places.spoken_start()
    shown = first if first.exists() else first.parent
    course = places.ROOT / os.environ.get(_COURSE, "course") / "course.toml"
    if not course.exists():
        ours = places.PACKAGE / "notebook" / "lab"
        os.environ[_PATH] = os.pathsep.join(filter(None, [str(ours), os.environ.get(_PATH)]))
    page = f"/lab/tree/{shown.relative_to(places.ROOT).as_posix()}"
    settings = [f"--ServerApp.root_dir={places.ROOT}", f"--LabApp.default_url={page}"]
    os.execv(sys.executable, [sys.executable, "-m", "jupyterlab", *settings, *options])


@click.command()
@click.argument("puzzle", required=False, metavar="[PUZZLE]")
def watch(puzzle: str | None) -> None:
    """Check a puzzle whenever you save its file or its notebook; without PUZZLE, any of them.

    You see the report on the file that you saved; at a terminal, first that on the file to open. Keys there: n next
    puzzle, h hint, s step, f full report, r reset, q quit. Ctrl-C ends it too, with exit status 0.
    """
    puzzle_id = None if puzzle is None else id_of(puzzle)
    try:
        from checker.learner.watch import Watcher
    except ImportError as error:
        raise Misuse(f"{error.name} is missing here: make watch installs it.") from error
    console = screen.console()
    try:
        Watcher(console, puzzle_id).run()
    except KeyboardInterrupt:
        screen.say(console, "\nNo longer watching.")
