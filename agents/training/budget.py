"""How long a run goes: by the learner's acts or by the clock, or until somebody stops it."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class Budget:
    """How much of a run is left.

    Attributes:
        left: 1 at the start, 0 at the end; it changes between updates only, so that all of an
            update learns by the same settings.
        is_stopped: somebody wants the run to end after the update under way.
    """

    def __init__(self, steps: int, minutes: float) -> None:
        """The clock starts now.

        Args:
            steps: the learner's acts in all; 0: by the clock.
            minutes: by the clock.
        """
        self.steps, self.seconds = steps, 60 * minutes
        self.left, self.is_stopped = 1.0, False
        self.set_back(0.0, 0.0)

    def set_back(self, elapsed: float, cpu_seconds: float) -> None:
        """Count from times already spent: a run goes on."""
        self._start = time.monotonic() - elapsed
        self._cpu_start = time.process_time() - cpu_seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the start, those before an interruption counted, its own not."""
        return time.monotonic() - self._start

    @property
    def cpu_seconds(self) -> float:
        """Seconds of all cores since the start: what the run would take alone on one core."""
        return time.process_time() - self._cpu_start

    def mark(self, done_steps: int) -> None:
        """Note how far the run is, between two updates."""
        done = done_steps / self.steps if self.steps else self.elapsed / self.seconds
        self.left = max(0.0, 1.0 - done)

    @property
    def is_over(self) -> bool:
        """Whether there is to be no other update."""
        return self.is_stopped or self.left == 0

    def between(self, start: float, end: float) -> float:
        """What goes from start to end in a line, now."""
        return end + (start - end) * self.left

    @property
    def seconds_left(self) -> float:
        """How long it will take yet, at the speed so far."""
        return self.elapsed * self.left / (1 - self.left) if self.left < 1 else float("nan")


@contextmanager
def stopped_by_signals(budget: Budget, say: Callable[[str], None]) -> Iterator[None]:
    """Ctrl-C, or a cluster's SIGTERM, ends a run in an orderly way; a second one breaks off."""

    def stop(signal_number: int, frame: FrameType | None) -> None:
        if budget.is_stopped:
            raise KeyboardInterrupt
        budget.is_stopped = True
        say("stopping after this update, with everything saved (press Ctrl-C again to break off)")

    watched = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, stop) for number in watched}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
