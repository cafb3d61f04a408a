"""Counts of a submission's work: far more than enough is ended, however fast or busy the machine is.

Work is told in elements: an operation takes about as long as OPERATION elements of one do. Of 405 launches of solutions
nine in ten took 6 to 17 us of CPU time for so much. What nothing counts (a tuple, a number of a million digits) has a
clock of its own, of CPU time. It stands still as long as what is counted explains the time that passes.
"""

from __future__ import annotations

import signal
import time

from checker.sandbox.protocol.records import OPERATION

UNLIMITED = 1 << 62
_BETWEEN_LOOKS = 2000 * OPERATION  # some hundredths of a second
_EXPLAINED = 0.2  # seconds of CPU time that so much may take: five times what it does


class TooMuchWork(BaseException):
    """A launch has done far more than any reasonable program, and is ended."""


class _Work:
    """The work that the launch in progress has left, and its loops."""

    def __init__(self) -> None:
        self.left = UNLIMITED  # until the next look
        self._most, self._later = UNLIMITED, 0  # that the launch may do, and what of it after that look
        self._patience = 0.0  # seconds of CPU time that nothing explains and that are left; 0: for ever
        self._seen = 0.0  # the process's CPU time at the last look

    def watch(self, seconds: float) -> None:
        """End this process, by SIGPROF, when it has computed for so many seconds that nothing explains, in all."""
        self._patience, self._seen = seconds, time.process_time()
        self._wind()

    def begin(self, most: int) -> None:
        """Begin a launch that may do so much."""
        self._most = self._later = most
        self.left, self._seen = 0, time.process_time()
        self.look()

    @property
    def done(self) -> int:
        """The work of the launch."""
        return self._most - self._later - self.left

    def spend(self, elements: int) -> None:
        """Count n elements. Raises TooMuchWork."""
        self.left -= elements
        if self.left < 0:
            self.look()

    def look(self) -> None:
        """Take some more of what may be done. Raises TooMuchWork if nothing is left."""
        self._later += self.left
        self.left = min(self._later, _BETWEEN_LOOKS)
        self._later -= self.left
        if self.left <= 0:
            raise TooMuchWork
        self._wind()

    def _wind(self) -> None:
        if self._patience:
            before, self._seen = self._seen, time.process_time()
            self._patience -= max(0.0, self._seen - before - _EXPLAINED)
            if self._patience <= 0:
                raise TooMuchWork
            signal.setitimer(signal.ITIMER_PROF, self._patience)


work = _Work()
