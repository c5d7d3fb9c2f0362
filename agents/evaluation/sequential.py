"""A match that stops when enough is known: the generalised sequential probability ratio test.

Two means are weighed against one another: H0, the first agent is worth ``mean_0`` points a deal
more, and H1, it is worth ``mean_1``. After every `STEP` pairs the log-likelihood ratio of the two
is compared with Wald's bounds. Scores of pairs take few values with unknown chances, so each
hypothesis is given the chances that fit the scores best under its mean; these are
``p_i / (1 + theta (a_i - mean))`` for observed shares ``p_i`` of the scores ``a_i``.

Wald, *Sequential Analysis* (1947); Li, Liu and Ying, *Generalized sequential probability ratio
test for separate families of hypotheses* (Sequential Analysis 33, 2014); Van den Bergh, *The
generalized maximum likelihood ratio for the expectation value of a distribution* (2019), which is
how chess engines are tested.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

STEP: Final = 250
"""Pairs between two looks: fixed, so that neither batches nor workers move the stop."""
ALPHA, BETA = 0.05, 0.05
"""Chance to take H1 where H0 holds, and H0 where H1 holds."""
BOUNDS: Final = (math.log(BETA / (1 - ALPHA)), math.log((1 - BETA) / ALPHA))
"""At or below the first, H0 is taken; at or above the second, H1."""

_PSEUDO_COUNT: Final = 1e-3
"""Given to the lowest and highest score, so that every mean between them is possible."""
_BISECTIONS: Final = 200

Verdict = Literal["H0", "H1", "undecided"]


@dataclass(frozen=True)
class SequentialTest:
    """How a sequential match went."""

    mean_0: float
    """Points a deal under H0."""
    mean_1: float
    """Points a deal under H1."""
    alpha: float
    """Chance to take H1 where H0 holds."""
    beta: float
    """Chance to take H0 where H1 holds."""
    llr: float
    """Log-likelihood ratio at the stop: positive speaks for H1."""
    lower: float
    """H0 is taken at or below."""
    upper: float
    """H1 is taken at or above."""
    verdict: Verdict
    """What was taken; undecided when the cap on pairs came first."""
    pairs: int
    """Pairs after which it stopped."""
    cap: int
    """Pairs after which it would have stopped at the latest."""

    @property
    def reason(self) -> str:
        """Why it stopped, in a sentence."""
        if self.verdict == "undecided":
            return f"undecided: the cap of {self.cap:,} pairs came first"
        mean, other = self.mean_1, self.mean_0
        if self.verdict == "H0":
            mean, other = other, mean
        return f"{self.verdict} taken: {mean:+g} points a deal rather than {other:+g}"


def check_means(mean_0: float, mean_1: float, highest: int) -> None:
    """Refuse hypotheses that no match can tell apart.

    Args:
        mean_0: points a deal under H0.
        mean_1: points a deal under H1.
        highest: the most points that one deal can score.

    Raises:
        ValueError: they are not in order, or no deal can score them.
    """
    if not -highest < mean_0 < mean_1 < highest:
        raise ValueError(
            f"sequential={mean_0:g} {mean_1:g}: two means in points a deal, the lower first, "
            f"between -{highest} and {highest}"
        )


def _tilt(
    values: npt.NDArray[np.float64], shares: npt.NDArray[np.float64], mean: float
) -> npt.NDArray[np.float64]:
    """Observed over fitted chances under a mean: ``1 + theta (a_i - mean)``, by bisection."""
    distances = values - mean
    # every chance is positive for theta between the two; the sum falls from +inf to -inf
    low, high = -1 / distances.max(), -1 / distances.min()
    for _ in range(_BISECTIONS):
        theta = (low + high) / 2
        if theta in (low, high):
            break
        if (shares * distances / (1 + theta * distances)).sum() > 0:
            low = theta
        else:
            high = theta
    tilt: npt.NDArray[np.float64] = 1 + (low + high) / 2 * distances
    return tilt


def log_likelihood_ratio(
    scores: npt.NDArray[np.float64], mean_0: float, mean_1: float, highest: int
) -> float:
    """How much likelier the scores are under H1's best chances than under H0's, as a logarithm.

    Args:
        scores: of the pairs so far, shape (n,).
        mean_0: points a deal under H0.
        mean_1: points a deal under H1.
        highest: the most points that one deal can score.
    """
    values, counts = np.unique(np.append(scores, [-highest, highest]), return_counts=True)
    numbers = counts.astype(np.float64)
    numbers[[0, -1]] += _PSEUDO_COUNT - 1
    shares = numbers / numbers.sum()
    ratio = np.log(_tilt(values, shares, mean_0)) - np.log(_tilt(values, shares, mean_1))
    return float(numbers @ ratio)


def looks(before: int, now: int, cap: int) -> Iterator[int]:
    """Numbers of pairs, above ``before`` and up to ``now``, after which the test looks."""
    yield from range((before // STEP + 1) * STEP, now + 1, STEP)
    if now == cap and cap % STEP:
        yield cap


def judge(
    scores: npt.NDArray[np.float64], mean_0: float, mean_1: float, highest: int, cap: int
) -> SequentialTest:
    """The test after these pairs; call it after every `STEP` pairs and at the cap."""
    llr = log_likelihood_ratio(scores, mean_0, mean_1, highest)
    lower, upper = BOUNDS
    verdict: Verdict = "H0" if llr <= lower else "H1" if llr >= upper else "undecided"
    return SequentialTest(mean_0, mean_1, ALPHA, BETA, llr, lower, upper, verdict, len(scores), cap)
