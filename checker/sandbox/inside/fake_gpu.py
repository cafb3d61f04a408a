"""A card that is not there: what tensors say of where they lie, and what a program is told that asks for a GPU.

It is an H100, as that is what right kernels are compiled for. Everything lies in the CPU's memory all the same.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import torch
import triton
from torch.overrides import TorchFunctionMode

from checker.sandbox.inside.autograd import MAKERS, OnAnotherDevice

_HERE = torch.device("cuda", 0)
_PROPERTIES = SimpleNamespace(
    name="NVIDIA H100",
    major=9,
    minor=0,
    multi_processor_count=132,
    warp_size=32,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    total_memory=80 << 30,
)
_DRIVER = SimpleNamespace(
    get_active_torch_device=lambda: _HERE,
    get_current_target=lambda: SimpleNamespace(backend="cuda", arch=90, warp_size=32),
    get_current_device=lambda: 0,
    get_current_stream=lambda *_: 0,
    utils=SimpleNamespace(
        get_device_properties=lambda *_: {
            "multiprocessor_count": _PROPERTIES.multi_processor_count,
            "max_num_regs": _PROPERTIES.regs_per_multiprocessor,
            "max_shared_mem": _PROPERTIES.shared_memory_per_block_optin,
            "warpSize": _PROPERTIES.warp_size,
            "sm_clock_rate": 1_980_000,
            "mem_clock_rate": 2_619_000,
            "mem_bus_width": 5120,
        }
    ),
)
# Modules for pictures, tables and tests of a file: nothing of them is needed, and some write files when imported.
FOR_TESTS = "matplotlib", "matplotlib.pyplot", "pandas", "pytest", "seaborn", "tabulate"
# What a tensor says of itself.
_ANSWERS: dict[Any, Any] = {
    torch.Tensor.is_cuda.__get__: True,  # type: ignore[attr-defined]
    torch.Tensor.device.__get__: _HERE,
}


def _itself(function: Any = None, *_: Any, **__: Any) -> Any:
    """Return the function that is to be compiled, or what does that as a decorator."""
    return function if callable(function) else _itself


def pretend() -> None:
    """Answer for the card, for the life of this process; what compiles or measures functions does nothing."""
    torch.compile = torch.jit.script = _itself  # type: ignore[assignment]
    sys.modules.update(dict.fromkeys(FOR_TESTS, MagicMock()))
    triton.testing.perf_report = triton.testing.Benchmark = MagicMock()
    triton.runtime.driver.set_active(_DRIVER)
    torch.cuda.is_available = lambda: True
    torch.cuda.device = lambda *_: nullcontext()  # type: ignore[assignment,misc]  # there is only one
    torch.cuda.synchronize = lambda *_: None  # and nothing runs behind one's back
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_capability = lambda *_: (_PROPERTIES.major, _PROPERTIES.minor)
    torch.cuda.get_device_name = lambda *_: _PROPERTIES.name
    torch.cuda.get_device_properties = lambda *_: _PROPERTIES  # type: ignore[assignment]


class AsOnACard(TorchFunctionMode):
    """Tensors say that they lie on the card, and may be put there. `insisting`: none may be made on the CPU."""

    def __init__(self, *, insisting: bool):
        super().__init__()
        self.insisting = insisting

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one call. Raises OnAnotherDevice."""
        given, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if name == "__get__" and func in _ANSWERS:
            return _ANSWERS[func]
        if name == "cuda":
            return args[0]
        if func is torch.device:
            return func(*args, **given)
        nowhere = func in MAKERS and given.get("device") is None
        if _is_card(given.get("device")):
            given["device"] = "cpu"
        made = func(*(("cpu" if _is_card(one) else one) for one in args), **given)
        if nowhere and self.insisting and made.dim():
            raise OnAnotherDevice(f"torch.{name} without device= makes a tensor on the CPU")
        return made


def _is_card(device: Any) -> bool:
    if isinstance(device, torch.device):
        return device.type == "cuda"
    return isinstance(device, str) and device.startswith("cuda")
