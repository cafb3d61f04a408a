"""`benchmarks/peers.py` hands kernels to tests of a checkout, here a made-up one: accepted, refused, or no verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import importable

TEST = """
import a_package_that_is_not_there


@pytest.mark.parametrize("Z, H, N_CTX, HEAD_DIM", [(1, 2, 128, 64), (4, 48, 4096, 64)])
@pytest.mark.parametrize("causal", [False, True])
def test_op(Z, H, N_CTX, HEAD_DIM, causal, dtype=torch.float32):
    q, k, v = torch.randn((3, Z, H, N_CTX, HEAD_DIM), dtype=dtype, device=DEVICE, requires_grad=True)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=0.5)
    found = attention(q, k, v, causal, 0.5)
    torch.testing.assert_close(found, expected)
    for one, other in zip(*(torch.autograd.grad(o.square().sum(), (q, k, v)) for o in (found, expected))):
        torch.testing.assert_close(one, other, atol=1e-3, rtol=1e-3)
"""


def checkout(folder: Path, test: str) -> Path:
    """As Triton's repository has the tutorial."""
    path = folder / "python" / "tutorials" / "06-fused-attention.py"
    path.parent.mkdir(parents=True)
    path.write_text(test)
    return folder


def test_kernels_are_handed_to_a_test_of_a_checkout(tmp_path: Path) -> None:
    importable("torch")
    from benchmarks import peers

    there = checkout(tmp_path, TEST)
    assert peers.outcome("tutorial", there, peers.RIGHT)[0] == "accepted"
    assert peers.outcome("tutorial", there, "p6_accumulator_not_rescaled")[0] == "refused"


def test_a_judge_that_fails_otherwise_gives_no_verdict_and_is_not_believed(tmp_path: Path) -> None:
    importable("torch")
    from benchmarks import peers

    there = checkout(tmp_path, TEST.replace("randn(", "randon("))
    outcome, said = peers.outcome("tutorial", there, peers.RIGHT)
    assert (outcome, said.partition(":")[0]) == (peers.DIED, "AttributeError")
    with pytest.raises(RuntimeError, match="should accept the solution"):
        peers.measured("tutorial", there, {})
