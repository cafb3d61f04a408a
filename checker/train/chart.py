"""Both losses in one picture. Colours are those of Okabe and Ito; the second line is dashed and lies on the first."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

from checker.train.result import Training

STYLES = (("#D55E00", 2.6, "-"), ("#0072B2", 1.2, "--"))  # colour, width, dashes
DOTS_PER_INCH = 110


def figure(training: Training) -> Figure:
    """Return the picture, not yet written anywhere."""
    made = Figure(figsize=(9, 5), layout="constrained", facecolor="white")
    axes = made.subplots()
    steps = range(1, training.steps + 1)
    for curve, (colour, width, dashes) in zip(training.curves, STYLES, strict=True):
        label = f"with {curve.name}"
        axes.plot(steps, curve.losses, color=colour, linewidth=width, linestyle=dashes, label=label)
    axes.set(xlabel="step", ylabel="loss (nats per character)")
    axes.set_title(f"A small GPT learns to write, on {training.hardware}", loc="left", fontsize=11)
    axes.grid(True, which="major", alpha=0.25)
    axes.legend(fontsize=8, loc="upper right")
    axes.tick_params(labelsize=8)
    return made


def png(training: Training) -> bytes:
    """Return the picture as PNG."""
    buffer = io.BytesIO()
    figure(training).savefig(buffer, dpi=DOTS_PER_INCH, format="png")
    return buffer.getvalue()
