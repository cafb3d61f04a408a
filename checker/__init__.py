"""The judge of the course: how a kernel becomes a verdict, folder by folder.

    submission ──▶ submission/ ──▶ sandbox/ ──▶ judge/ ──▶ Verdict ──▶ report/

`course/`      what a puzzle, a case and a verdict are; their order, the format of a lesson, where files lie
`submission/`  text to program: the kernels that a puzzle asks for, extracted and linted; nothing is executed
`sandbox/`     runs their launches on Triton's interpreter or on a GPU, or calls functions of PyTorch, in another
               process behind a wall, and gives back output buffers and a log of every access, or of what lives at
               once; `sandbox/inside/` is all of ours that is visible there
`catalog/`     a module for each puzzle: cases, float64 references with error bounds, traffic, and known misconceptions
`judge/`       compares what came back with what is right, and names the mistake; it runs nothing
`check`        the road itself: `check(puzzle, submission)` walks through the rooms above
`report/`      a verdict as text for a terminal, as HTML, as JSON

What stands on this road: `learner/` (hints, predictions, progress, the solution explained, reset, watch), `trace/` and
`bench/` (pictures, timings), `compiled/` (what the compiler made of it), `train/` (a model with one's own kernels),
`doctor/`, `notebook/` (the same from a cell), and, not in students' copies, `browser/` (the same from a page),
`grading/`, `nbgrader/` and `publish/`, which makes these pages and the wheel.
`commands/` is the command line, one file for verbs that belong together. Imports run in this order only, from later
rooms to earlier ones.

To follow one launch: `check/steps.py` (`Check.run`), `judge/requests.py`, `sandbox/parent.py`, `sandbox/exchange.py`;
in the other process `inside/harness.py`, `runner.py`, `answering.py`, `interpreter.py`, `memory.py`; and back through
`sandbox/protocol/results.py`. A puzzle is `catalog/p1_naive_softmax.py`.
"""

__version__ = "1.0.0rc2"
