"""The roofline: no kernel is faster than the memory delivers or the arithmetic units multiply."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Gpu:
    """The limits of a GPU."""

    name: str
    gb_per_s: float  # memory bandwidth
    matrix_tflops: float  # fp16 or bf16 products (dense, without sparsity), summed in fp32

    def seconds(self, flops: float, moved: float) -> float:
        """Return the least time for `flops` operations and `moved` bytes."""
        return max(flops / self.matrix_tflops * 1e-12, moved / self.gb_per_s * 1e-9)

    def tflops(self, intensity: float) -> float:
        """Return the height of the roof over `intensity` operations per byte."""
        return min(self.matrix_tflops, intensity * self.gb_per_s * 1e-3)


NAMED = (  # by NVIDIA's datasheets; the T4 by its product page
    Gpu("H200 SXM", 4800, 989),
    Gpu("H100 SXM", 3350, 989),
    Gpu("A100 80 GB SXM", 2039, 312),
    Gpu("L4", 300, 121),
    Gpu("T4", 320, 65),
)
