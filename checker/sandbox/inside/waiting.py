"""Programs that wait for each other, on an interpreter that has one thread.

On a GPU some programs run at the same time, and one can wait in a loop for what another one writes. Here each atomic
operation hands over, and each volatile load, which sees what others have written: functions that have one become
generators, and programs take turns, as many at a time as are resident. So whatever a GPU's schedule could do between
two of them, some order of turns does here.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Generator

import numpy as np

from checker.sandbox.inside.memory import Memory

# Turns of each program, on average, in which none ended, and nothing changed. One would do if each wait were a
# single operation and turns came in a circle; a program may also look at one word after the other.
QUIET = 50
ARGUMENTS_OF_LOAD = 8  # of `tl.load`, of which `volatile` is the last
MOST_NAMED = 8  # programs in a message

Waiting = Generator[None, None, None]


class Deadlock(RuntimeError):
    """All programs that run wait for one that has not started, or for none."""


def hand_over(functions: ast.Module) -> None:
    """Let functions that exchange something, and those that call them, hand over before they do, as generators.

    Without an atomic operation nobody publishes anything, and there is nothing to wait for.
    """
    if not any(_is_atomic(node) for node in ast.walk(functions)):
        return
    definitions = [node for node in functions.body if isinstance(node, ast.FunctionDef)]
    names: set[str] = set()
    while more := {one.name for one in definitions if _waits(one, names)} - names:
        names |= more
    for definition in definitions:
        if definition.name in names:
            _HandOver(names).visit(definition)
    ast.fix_missing_locations(functions)


def _waits(function: ast.FunctionDef, names: set[str]) -> bool:
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(_exchanges(call) or (isinstance(call.func, ast.Name) and call.func.id in names) for call in calls)


def _exchanges(call: ast.Call) -> bool:
    """Return an atomic operation, or a load that is told whether it is volatile, by name or as its last argument."""
    told = len(call.args) >= ARGUMENTS_OF_LOAD or any(keyword.arg == "volatile" for keyword in call.keywords)
    return _is_atomic(call.func) or (isinstance(call.func, ast.Attribute) and call.func.attr == "load" and told)


def _is_atomic(called: ast.AST) -> bool:
    return isinstance(called, ast.Attribute) and called.attr.startswith("atomic_")


class _HandOver(ast.NodeTransformer):
    def __init__(self, names: set[str]):
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        made: ast.expr = node
        if _exchanges(node):
            both = ast.Tuple([ast.Yield(None), node], ast.Load())  # first the others' turns, then the operation
            made = ast.Subscript(both, ast.Constant(1), ast.Load())
        elif isinstance(node.func, ast.Name) and node.func.id in self.names:
            made = ast.YieldFrom(node)
        return ast.copy_location(made, node)


def take_turns(
    start: Callable[[], Waiting], order: list[int], resident: int, enter: Callable[[int], None], memory: Memory
) -> None:
    """Run the programs of `order`, `resident` of them at a time (0: all), each until it next exchanges something.

    Whose turn it is, is drawn: in a circle, all would publish before anybody looks, and who looks too early would not
    be seen. `enter` makes a program the one that runs. Raises Deadlock, where a program waits, and whatever they raise.
    """
    draw = np.random.default_rng(order)
    queue, live = deque(order), list[tuple[int, Waiting]]()
    quiet = 0  # turns since a program ended, or changed memory
    while queue or live:
        while queue and len(live) < (resident or len(order)):
            live.append((queue.popleft(), start()))
        at = int(draw.integers(len(live)))
        program, generator = live[at]
        enter(program)
        before = memory.changes
        try:
            next(generator)
        except StopIteration:
            del live[at]
            quiet = 0
            continue
        quiet = 0 if memory.changes > before else quiet + 1
        if quiet > QUIET * len(live):
            _give_up(live, len(queue), enter)


def _give_up(live: list[tuple[int, Waiting]], not_started: int, enter: Callable[[int], None]) -> None:
    """Raise Deadlock in the line where the first of the programs waits."""
    waiting = sorted(live, key=lambda one: one[0])
    program, generator = waiting[0]
    enter(program)
    shown = ", ".join(str(number) for number, _ in waiting[:MOST_NAMED])
    more = f" and {len(live) - MOST_NAMED} more" if len(live) > MOST_NAMED else ""
    others = f", and {not_started} have not started" if not_started else ""
    generator.throw(Deadlock(f"the programs that run all wait ({shown}{more}){others}"))
