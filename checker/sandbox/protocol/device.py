"""Devices that programs run on."""

from __future__ import annotations

from enum import Enum


class Device(str, Enum):
    """The value is what a request says."""

    INTERPRETER = "interpreter"
    CUDA = "cuda"
    PYTORCH = "pytorch"
    AUTOGRAD = "autograd"  # PyTorch that launches kernels on the interpreter
    OWN = "own"  # the same of a whole file

    @property
    def on_gpu(self) -> bool:
        """Whether there is no memory limit, no system-call filter, and nobody who counts work."""
        return self is Device.CUDA

    @property
    def in_torch(self) -> bool:
        """Whether functions of tensors are called, and no kernels launched."""
        return self in (Device.PYTORCH, Device.AUTOGRAD, Device.OWN)

    @property
    def reported(self) -> str:
        """Its name in verdicts, and in their JSON."""
        return Device.PYTORCH.value if self.in_torch else self.value
