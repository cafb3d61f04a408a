"""Wrong ideas of a function of autograd that launches kernels."""

from __future__ import annotations

from checker.catalog.attention.pytorch import autograd_models as models
from checker.course.misconception import Ideas, InHalf, Launches, Raises

idea = Ideas(__file__)


IN_AUTOGRAD = (
    idea("not-contiguous", *models.NOT_CONTIGUOUS),
    idea("heads-and-sequences-mixed", *models.MIXED),
    idea("stride-of-a-single-head", *models.ONE_HEAD),
    idea("scale-forgotten", *models.SCALE),
    idea("gradients-in-another-order", *models.ORDER, Raises(r"the shapes are those of .*, in another order")),
    idea("lse-not-saved", *models.LSE),
    idea("lse-in-half", InHalf("lse_ptr")),
    idea("on-the-cpu", Raises(r"makes? a tensor on the CPU")),
    idea("delta-in-half", InHalf("delta_ptr")),
    idea("delta-not-computed", *models.DELTA),
    idea("not-causal", *models.NOT_CAUSAL),
    idea("keys-and-values-exchanged", *models.EXCHANGED),
    idea("grid-rounded-down", *models.WHOLE_TILES),
    idea("axes-of-the-grid-exchanged", *models.AXES),
    idea("grid-of-the-other-side", *models.GRID),
    idea("tensor-kept-on-ctx", Raises(r"^ctx\.\w+ holds a (tensor|list|tuple|dict)\b")),
    idea("not-one-gradient-for-each-input", Raises(r"it returned .*, and not 4: ")),
    idea(
        "forward-computed-again",
        Launches(lambda times: times["flash_attention_2_kernel"] > 1 and times["dq_kernel"] == 1),
    ),
)
