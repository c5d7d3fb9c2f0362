"""Early warnings: what a curve looks like when a policy is about to be lost."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from agents.training.curve import Row

_RECENT: Final = 10
"""Updates that are looked at together."""
LOW_ENTROPY: Final = 0.03
"""Nats: below, hardly another act is tried. Trained policies end at 0.1 to 0.2."""
LARGE_KL: Final = 0.1
"""Nats an update: ten times what updates move a policy by that learns well."""
LARGE_FALL: Final = 0.2
"""Points an episode below the best stretch so far."""


def is_broken(row: Row) -> bool:
    """Whether the loss is no number any more: nothing more will be learnt."""
    return not np.isfinite(row["loss"])


def warnings(curve: Sequence[Row], left: float) -> dict[str, str]:
    """What is wrong with a run, a sentence each by the name of the fault; mostly nothing.

    Args:
        curve: a line an update so far.
        left: of the budget: 1 at the start, 0 at the end.
    """
    if len(curve) < _RECENT:
        return {}
    found = {}
    recent = curve[-_RECENT:]
    entropy = float(np.median([row["entropy"] for row in recent]))
    if left > 0.5 and entropy < LOW_ENTROPY:
        found["entropy"] = (
            f"entropy is {entropy:.3f} nats with {left:.0%} of the run to go: hardly another act "
            "is tried any more (a higher --entropy, or a lower --learning-rate)"
        )
    divergence = float(np.median([row["approx_kl"] for row in recent]))
    if divergence > LARGE_KL:
        found["kl"] = (
            f"an update moves the policy by {divergence:.2f} nats: steps are too large (a lower "
            "--learning-rate or --clip-range)"
        )
    found |= _fall(curve)
    return found


def _fall(curve: Sequence[Row]) -> dict[str, str]:
    """A fall below the best stretch, beyond what chance does."""
    points = np.array([row["script_points"] for row in curve])
    points = points[np.isfinite(points)]
    if len(points) < 3 * _RECENT:
        return {}
    means = np.convolve(points, np.full(_RECENT, 1 / _RECENT), mode="valid")
    best, now = float(means.max()), float(means[-1])
    if best - now < LARGE_FALL:
        return {}
    return {
        "points": f"points fell from {best:+.2f} to {now:+.2f}: the policy forgets what it knew (a "
        "lower --learning-rate, or go back to an older checkpoint)"
    }
