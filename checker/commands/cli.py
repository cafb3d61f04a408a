"""The command line: the group of all verbs, and what happens around each of them."""

from __future__ import annotations

import codecs
import contextlib
import gc
import inspect
import io
import os
import re
import signal
import sys
import traceback
from importlib import import_module
from typing import Any, NoReturn

import click

from checker.course.language import ENGLISH, choose, spoken
from checker.course.status import TRACEBACK_VARIABLE, Ended, ExitStatus, Misuse

SHARED = {  # by file beside this one: the verbs in it
    "author": ("build", "ideas", "student-bundle"),
    "class_pages": ("class-report", "similar", "viva"),
    "course": ("course", "gradescope"),
    "kernel": ("bench", "compiled", "step", "trace"),
    "rounds": ("extension", "handout", "round"),
    "learner": ("bug", "hint", "lab", "predict", "progress", "reset", "solution", "watch"),
}
ALONE = "check", "doctor", "grade", "grades", "init", "site", "train", "verify"
ALIASES = {"own": "verify"}
FILE_OF = {verb: file for file, verbs in SHARED.items() for verb in verbs} | {verb: verb for verb in ALONE}


class Verbs(click.Group):
    """Each verb is a function of its name, in a file next to this one that is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return all verbs; those that are missing here are not shown."""
        return sorted(FILE_OF)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """Return a verb; one that has not all it needs says so when it is called."""
        name = ALIASES.get(name, name)
        if name not in FILE_OF:
            return None
        try:
            file = import_module(f"checker.commands.{FILE_OF[name].replace('-', '_')}")
        except ModuleNotFoundError as error:
            return _missing(name, error.name or "a module")
        command: click.Command = getattr(file, name.replace("-", "_"))
        return _translated(command)


def _translated(command: click.Command) -> click.Command:
    """Return a command whose help is in the language that is spoken."""
    if spoken() == ENGLISH:
        return command
    from checker.report.translated import said

    parts = inspect.cleandoc(command.help or "").split("\n\n")
    command.help = "\n\n".join(said(part if part.startswith("\b") else " ".join(part.split())) for part in parts)
    if "。" in command.help:
        command.short_help = command.help.partition("。")[0]
    for option in command.params:
        if isinstance(option, click.Option) and option.help:
            option.help = said(option.help)
    return command


def _missing(verb: str, module: str) -> click.Command:
    sentence = f"{module} is missing: make {'site' if verb == 'site' else 'lab'} installs it."
    if module in ("fcntl", "pwd", "resource"):
        sentence = f"{verb} does not work on this system: it has no {module}."
    if module.startswith("checker."):
        sentence = "This is a student's copy of the course, which has no instructor's part."

    def say(arguments: tuple[str, ...]) -> NoReturn:
        raise Misuse(sentence)

    anything = click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)
    return click.Command(
        verb,
        callback=say,
        params=[anything],
        add_help_option=False,
        hidden=True,
        context_settings={"ignore_unknown_options": True},
    )


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Check Triton kernels of the course, without a GPU.

    `./check p1` runs `python -m checker check p1`. A bare number is short for an ID: 1 is p1.
    """


_PLAIN_SIGNS = "plain-signs"  # the name of the rule for signs that an encoding lacks
_PLAIN = dict(zip("✓✗○●•·▶◀◂▼↓│─−–×‘’“”\xa0", "+xo***><<vv|---x''\"\" ", strict=True))
_PLAIN |= {"→": "->", "←": "<-", "≤": "<=", "≥": ">=", "±": "+-", "∞": "inf", "½": "1/2", "²": "^2", "ᵀ": "^T"}
_PLAIN |= {"…": "...", "⊕": "(+)", "°": "deg "}
_SENSIBLE = {"COLUMNS": "[2-9][0-9]|[1-9][0-9]{2,3}", "LINES": "[1-9][0-9]{0,3}"}  # rich takes any digits


class _Kept(io.FileIO):
    """A standard stream that may lose its reader: the command continues, and what nobody reads is dropped."""

    def write(self, data: Any) -> int:
        """Write bytes, or drop them if nobody reads them."""
        try:
            return super().write(data)
        except ConnectionError:
            return len(data)


def _kept(number: int, stream: object) -> io.TextIOWrapper:
    """Return such a stream in place of Python's own, which is None if it was closed at the start."""
    buffer = io.BufferedWriter(_Kept(number, "w", closefd=False))
    return io.TextIOWrapper(buffer, getattr(stream, "encoding", None), _PLAIN_SIGNS, line_buffering=True)


def _plain_signs(error: UnicodeError) -> tuple[str, int]:
    """Return ASCII for signs that cannot be encoded, a question mark for each other one, and where these signs end."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_PLAIN.get(sign, "?") for sign in error.object[error.start : error.end]), error.end


def _stop(number: int, frame: object) -> None:
    """Turn the first SIGTERM or SIGHUP into an orderly end, which takes the sandbox down and no second one disturbs."""
    signal.signal(number, signal.SIG_IGN)
    raise Ended(128 + number)


def main() -> NoReturn:
    """Run the command line; the only place that turns what happens into an exit status."""
    signal.signal(signal.SIGTERM, _stop)
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, _stop)
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:  # what is opened next is never taken for a closed stream
        os.set_inheritable(spare, True)
    os.close(spare)
    codecs.register_error(_PLAIN_SIGNS, _plain_signs)
    sys.stdout, sys.stderr = _kept(1, sys.stdout), _kept(2, sys.stderr)
    for name, sensible in _SENSIBLE.items():
        if not re.fullmatch(sensible, os.environ.get(name, "")):
            os.environ.pop(name, None)
    if spoken() != ENGLISH and not _shows(sys.stdout):
        choose(ENGLISH)
        click.echo("This terminal cannot show Chinese, so what follows is in English.", err=True)
    try:
        _translated(cli).main(standalone_mode=False)
        sys.exit(ExitStatus.ACCEPTED)
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    except click.ClickException as error:
        error.show()
        path = _asked_json(sys.argv)
        if path is not None:
            from checker.commands.output import write
            from checker.learner.practice import misused

            write([misused(error.format_message(), "See --help.")], path)
        sys.exit(ExitStatus.MISUSED)
    except Misuse as misuse:
        _say(str(misuse))
        sys.exit(ExitStatus.MISUSED)
    except (KeyboardInterrupt, click.Abort):
        _say("Interrupted.")
        sys.exit(ExitStatus.INTERRUPTED)
    except Exception as error:  # such as a full disk behind standard output
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exception(error)
        with contextlib.suppress(Exception):
            kind = type(error).__name__
            click.echo(f"This could not be done ({TRACEBACK_VARIABLE}=1 shows where): {kind}: {error}", err=True)
        os._exit(ExitStatus.FAULT)  # without flushing what cannot be written
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is Python's own end
        gc.freeze()  # that end need not look for garbage among all that was imported


def _shows(stream: io.TextIOBase | Any) -> bool:
    """Return whether a stream has the signs of all languages: Linux's own console has no font for them."""
    try:
        "中".encode(stream.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return not (stream.isatty() and os.environ.get("TERM") == "linux")


def _say(sentence: str) -> None:
    from checker.report.screen import echo

    echo(sentence, err=True)


def _asked_json(arguments: list[str]) -> str | None:
    """Return where JSON was asked for in a command line that could not be parsed."""
    for position, word in enumerate(arguments):
        if word == "--json" and position + 1 < len(arguments):
            return arguments[position + 1]
        if word.startswith("--json="):
            return word.partition("=")[2]
    return None
