"""The child's own main: import Triton once, read the request, run each pass in a process of its own.

The first process (the *base*) never runs a line of the submission: it imports Triton, patches it,
reads the request, forks one *runner* per pass, waits for them and reports how each one ended. A
runner limits itself, loads the kernels and answers with one frame per launch on a pipe of its own.

File descriptors, given as arguments: the base's report, then the answers of all passes, then their outputs.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from checker.box.inside import children, seccomp
from checker.box.inside.memory import BoxTensor, Memory, RefusedAccess
from checker.box.protocol import wire
from checker.box.protocol.records import FILLS

MESSAGE_LIMIT = 2000  # characters of an exception's text that leave the box


def main(report: int, *pipes: int) -> None:
    """Serve one request from standard input and exit."""
    prepare()
    serve(report, *pipes)


def prepare() -> None:
    """What takes long and is the same for all submissions."""
    children.end_with_parent()
    _device().prepare()


def rehearse() -> None:
    """What takes long only the first time: Triton and Python remember what they have seen of types and of code."""
    from checker.box.inside import rehearsal

    path = rehearsal.__file__
    with open(path, encoding="utf-8") as file:
        kernel = _device().load_kernels(path, file.read(), ["kernel"])["kernel"]
    tensors = [(tensor, np.zeros(tensor["shape"], tensor["dtype"])) for tensor in rehearsal.TENSORS]
    for _ in range(rehearsal.LAUNCHES):
        answer, _ = _launched({"launch": 0, "order": [0]}, rehearsal.LAUNCH, tensors, kernel, path, float("nan"))
        if answer["error"] or answer["refused"]:
            raise RuntimeError(f"the rehearsal did not succeed: {answer}")


def serve(report: int, *pipes: int) -> None:
    """Serve one request from standard input. `pipes`: where each pass answers, then where each one prints."""
    import triton

    answers, outputs = pipes[: len(pipes) // 2], pipes[len(pipes) // 2 :]
    children.adopt_strays()
    request = sys.stdin.buffer.read()
    if not request:
        return  # the submission was refused before anything of it was to be run
    header, buffers = next(wire.unpack(request))
    hello = {"triton": triton.__version__, "numpy": np.__version__}
    on_gpu = header["device"] == "cuda"
    _write_all(report, wire.pack({"hello": hello}))
    path = f"{os.getcwd()}/submission.py"
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(header["source"])
    os.close(0)
    os.open(os.devnull, os.O_RDONLY)
    runners, base = {}, os.getpid()
    for number, launches in enumerate(header["passes"]):
        pid = os.fork()
        if pid == 0:
            children.end_with_parent(base)
            _become_runner(answers[number], outputs[number])
            _run_pass(header, buffers, path, launches, answers[number], on_gpu)
            os._exit(0)
        runners[pid] = number
        if on_gpu:  # the second pass finds on disk what the first has compiled
            _report_end(report, runners)
    for descriptor in pipes:
        os.close(descriptor)
    while runners:
        _report_end(report, runners)
    children.end_strays()


def _report_end(report: int, runners: dict[int, int]) -> None:
    """Wait for a process to end; if it is a runner, say how it ended."""
    pid, status, used = os.wait4(-1, 0)
    if (finished := runners.pop(pid, None)) is not None:
        seconds = used.ru_utime + used.ru_stime
        _write_all(report, wire.pack({"pass": finished, "code": os.waitstatus_to_exitcode(status), "cpu": seconds}))


def _device() -> Any:
    """The module that runs kernels: chosen by the mode that Triton is in, which is fixed before it is imported."""
    if os.environ.get("TRITON_INTERPRET"):
        from checker.box.inside import interpreter

        return interpreter
    from checker.box.inside import cuda

    return cuda


def _become_runner(answer: int, output: int) -> None:
    """Only this runner's pipes stay open; output goes to its own."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2 and int(name) != answer:
            with contextlib.suppress(OSError):  # the descriptor that listed the folder
                os.close(int(name))


def _limit(limits: dict[str, int], on_gpu: bool, caged: bool) -> None:
    """Lower every limit for good, then enter the system-call filter.

    A GPU's driver needs address space without end, threads, and calls of its own; Triton starts a compiler.
    """
    everywhere = {resource.RLIMIT_CORE: 0}
    on_interpreter = {
        resource.RLIMIT_AS: limits["memory_bytes"],
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NPROC: 0,
    }
    in_cage = {resource.RLIMIT_NPROC: limits["gpu_processes"]}  # elsewhere the user's other processes would count
    if caged:
        everywhere |= in_cage
    for name, value in (everywhere if on_gpu else everywhere | on_interpreter).items():
        resource.setrlimit(name, (value, value))
    # The soft limit sends SIGXCPU, which tells the parent what happened; the hard one kills.
    resource.setrlimit(resource.RLIMIT_CPU, (limits["cpu_seconds"], limits["cpu_seconds"] + 1))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if limits["filter"] and not on_gpu:
        seccomp.enter()


def _run_pass(
    header: dict[str, Any],
    buffers: list[memoryview],
    path: str,
    launches: list[dict[str, Any]],
    answer: int,
    on_gpu: bool,
) -> None:
    """Answer every launch of a pass, in order. Nothing raised by the submission gets further."""
    sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    warnings.simplefilter("ignore")  # Triton's own, which the student could do nothing about
    _limit(header["limits"], on_gpu, header["caged"])
    stream = os.fdopen(answer, "wb", buffering=0)
    try:
        kernels = _device().load_kernels(path, header["source"], header["kernels"])
    except BaseException as error:
        _send(stream, {"launch": None, "error": _described(error, path)})
        return
    for asked in launches:
        launch = header["launches"][asked["launch"]]
        tensors = [(spec, np.frombuffer(buffers[spec["buffer"]], dtype=spec["dtype"])) for spec in launch["tensors"]]
        print(f"{wire.LAUNCH_MARK}{asked['launch']}")
        if on_gpu:
            if not _answer_from_gpu(stream, asked, launch, tensors, kernels[launch["kernel"]], path):
                return
        else:
            _answer(stream, asked, launch, tensors, kernels[launch["kernel"]], path)


def _answer(
    stream: BinaryIO,
    asked: dict[str, Any],
    launch: dict[str, Any],
    tensors: list[tuple[dict[str, Any], npt.NDArray[Any]]],
    kernel: Any,
    path: str,
) -> None:
    """Run one launch and send what came of it.

    If masked lanes without `other` were loaded, the launch runs again with other values in those
    lanes, so that the judge can tell whether anything of them arrives. (NaN alone would not do:
    the interpreter's maximum ignores it.)
    """
    answer, memory = _launched(asked, launch, tensors, kernel, path, float("nan"))
    buffers = [tensor.values.tobytes() for tensor in memory.tensors]
    answer["again"] = 0
    if memory.poisoned and answer["error"] is None and answer["refused"] is None:
        repeats = [_launched(asked, launch, tensors, kernel, path, fill) for fill in FILLS]
        if all(repeat["error"] is None and repeat["refused"] is None for repeat, _ in repeats):
            answer["again"] = len(FILLS)
            buffers += [tensor.values.tobytes() for _, filled in repeats for tensor in filled.tensors]
    records, touched = memory.log()
    _send(stream, answer, [*buffers, records.tobytes(), touched.tobytes()])


def _answer_from_gpu(
    stream: BinaryIO,
    asked: dict[str, Any],
    launch: dict[str, Any],
    tensors: list[tuple[dict[str, Any], npt.NDArray[Any]]],
    kernel: Any,
    path: str,
) -> bool:
    """Run one launch on the GPU and send what came of it. False if the GPU will take no more from this process."""
    from checker.box.inside import cuda
    from checker.box.inside.lowering import described

    answer: dict[str, Any] = {"launch": asked["launch"], "refused": None, "error": None, "again": 0}
    results = [values.tobytes() for _, values in tensors]
    try:
        results, answer["outside"] = cuda.launched(kernel, launch, [values for _, values in tensors])
    except cuda.TooLarge:
        answer["left_out"] = True
    except BaseException as error:
        answer["error"] = described(error, path)
    _send(stream, answer, [*results, b"", b""])
    return not (answer["error"] and "CUDA" in answer["error"]["message"])


def _launched(
    asked: dict[str, Any],
    launch: dict[str, Any],
    tensors: list[tuple[dict[str, Any], npt.NDArray[Any]]],
    kernel: Any,
    path: str,
    poison: float,
) -> tuple[dict[str, Any], Memory]:
    from checker.box.inside import interpreter

    memory = Memory(
        [
            BoxTensor(spec["name"], values.reshape(spec["shape"]).copy(), tuple(spec["strides"]))
            for spec, values in tensors
        ],
        interpreter.running_position,
        poison,
        launch["most_touched"],
    )
    arguments: dict[str, Any] = {tensor.name: interpreter.pointer(tensor) for tensor in memory.tensors}
    for name, (dtype, value) in launch["scalars"].items():
        arguments[name] = interpreter.scalar(value, dtype)
    arguments.update(launch["constexprs"])
    answer: dict[str, Any] = {"launch": asked["launch"], "refused": None, "error": None}
    order = np.array(asked["order"], dtype=np.int64)
    grid = tuple(launch["grid"])
    try:
        interpreter.launch(kernel, memory, arguments, grid, order, launch["debug"])
    except BaseException as error:
        cause = _root(error)
        if isinstance(cause, RefusedAccess):
            answer["refused"] = cause.report
        else:
            answer["error"] = {**_described(error, path), "program": interpreter.program_now()}
    answer["reached"] = interpreter.bodies_reached()
    return answer, memory


def _root(error: BaseException) -> BaseException:
    """What was raised first: Triton wraps the errors of device functions once per call."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _described(error: BaseException, path: str) -> dict[str, Any]:
    """Type, message and line of the submission, as data. Says nothing of the box's own frames."""
    cause = _root(error)
    line = 0
    for wrapped in (error, cause):
        for frame, number in traceback.walk_tb(wrapped.__traceback__):
            if frame.f_code.co_filename == path:
                line = number
    try:
        message = str(cause)[:MESSAGE_LIMIT]
    except BaseException:
        message = ""
    return {"type": type(cause).__name__[:100], "message": message, "line": line, "program": 0}


def _send(stream: BinaryIO, header: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
    _write_all(stream.fileno(), wire.pack(header, buffers))


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
