"""A mean and how far it may be off: normal, bootstrap and Wilson intervals over pairs."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from agents.evaluation.deals import BOOTSTRAP
from euchre_env.dealing import seed_word, substream

Z_95: Final = 1.959963984540054
"""Half width of a 95% interval in standard errors."""
NUM_RESAMPLES: Final = 2_000
"""Bootstrap samples of the pairs."""


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% interval."""

    mean: float
    low: float
    high: float


def normal_interval(scores: npt.NDArray[np.float64]) -> Estimate:
    """Mean of independent scores with the normal 95% interval; NaN ends for a single score."""
    num = len(scores)
    mean = float(scores.mean())
    error = Z_95 * float(scores.std(ddof=1)) / math.sqrt(num) if num > 1 else math.nan
    return Estimate(mean, mean - error, mean + error)


def bootstrap_interval(scores: npt.NDArray[np.float64], seed: int) -> tuple[float, float]:
    """Ends of the 95% percentile bootstrap interval of the mean.

    Scores take few values, so samples are drawn as counts of the values.
    """
    values, counts = np.unique(scores, return_counts=True)
    rng = np.random.default_rng(int(substream(seed_word(seed), BOOTSTRAP, 0)))
    drawn = rng.multinomial(len(scores), counts / len(scores), size=NUM_RESAMPLES)
    low, high = np.quantile(drawn @ values / len(scores), [0.025, 0.975])
    return float(low), float(high)


def share_interval(shares: npt.NDArray[np.float64]) -> Estimate:
    """Mean of shares (0, 1/2 or 1 a mirrored pair) with a Wilson 95% interval.

    Wilson's interval for as many independent games as would have the pairs' error, so mirroring
    counts, and the ends stay inside 0 and 1. Where all was won, or lost, or for a
    single pair, a pair counts as one game.
    """
    num, mean = len(shares), float(shares.mean())
    spread = float(shares.var(ddof=1)) if num > 1 else 0.0
    if num == 1 or mean in (0.0, 1.0):
        games = float(num)
    elif spread == 0:  # every pair was split: nothing is left to chance
        return Estimate(mean, mean, mean)
    else:
        games = mean * (1 - mean) / (spread / num)
    scale = 1 + Z_95**2 / games
    centre = (mean + Z_95**2 / (2 * games)) / scale
    half = Z_95 * math.sqrt(mean * (1 - mean) / games + Z_95**2 / (4 * games**2)) / scale
    return Estimate(mean, max(0.0, centre - half), min(1.0, centre + half))
