"""Functions for tests of other projects: `from flash_puzzles import verify_attention, verify_softmax`."""

from checker.commands.verified import Verified, verify_attention, verify_softmax

__all__ = ["Verified", "verify_attention", "verify_softmax"]
