"""From the pairs of a tournament to ratings, significance and the mixture nobody beats.

Three questions about the same scores, each answered by a library: how strong is each agent on one
line (`bradley_terry`), which differences are more than luck (`holm`), and which agents would a
player choose from who knows the whole table (`nash_mixture`). Every pairing plays the same deals,
so a deal, with the scores of all pairings in it, is the unit of chance: the covariance of the
ratings and every bootstrap here go over deals, not over single scores.

Needs statsmodels and SciPy: ``pip install 'euchre-env[evaluate]'``.
"""

import importlib.util
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.evaluation.intervals import Z_95, Estimate

Floats = npt.NDArray[np.float64]
Pairing = tuple[int, int]
"""Numbers of the two agents of a pairing; its scores are the first's."""

ELO_PER_LOGIT: Final = 400 / math.log(10)
"""Elo's scale: 400 points more mean ten won for each one lost."""
SIGNIFICANT: Final = 0.05
"""Chance, over the whole family of pairings, of calling any difference real that is not."""
NUM_RESAMPLES: Final = 500
"""Bootstrap samples of the deals for the mixture."""
SUPPORTED: Final = 1e-4
"""Weights below this are rounding of the solver, not support."""
_CELLS: Final = 4_000_000
"""Numbers held at once while the deals are drawn again."""


def need(*libraries: str) -> None:
    """Make sure, before anything is played, that libraries are there.

    Raises:
        ImportError: one is not installed; the message names the extra that brings it.
    """
    for library in libraries:
        if importlib.util.find_spec(library) is None:
            raise ImportError(
                f"a tournament needs {library}: pip install 'euchre-env[evaluate]'", name=library
            )


# --- ratings ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ratings:
    """Bradley-Terry strengths on Elo's scale; their mean is 0."""

    values: Floats
    """Shape (n,)."""
    errors: Floats
    """Standard errors, shape (n,)."""
    worst_fit: float
    """Largest difference, over the pairings, between the share of pairs won and what the ratings
    say; large means that one line does not tell who beats whom."""

    def estimates(self) -> list[Estimate]:
        """Each rating with its 95% interval."""
        return [
            Estimate(float(value), float(value - Z_95 * error), float(value + Z_95 * error))
            for value, error in zip(self.values, self.errors, strict=True)
        ]


def pairs_won(scores: Floats) -> Floats:
    """1 for each pair won (a score above 0), 1/2 for a drawn one, 0 for a lost one."""
    return (np.sign(scores) + 1) / 2


def bradley_terry(
    num_agents: int, pairings: Sequence[Pairing], scores: Sequence[Floats]
) -> Ratings:
    """Fit ``P(i wins the pair against k) = 1 / (1 + exp(strength[k] - strength[i]))``.

    A *win* is a mirrored pair with a score above 0; a drawn pair is half a win (Bradley and Terry
    1952; as a logistic regression: Agresti, Categorical Data Analysis). The covariance is the
    cluster-robust one with the deal as cluster, because all pairings play the same deals and
    draws make the scores tighter than coin flips. One drawn pair is added to each pairing, so
    that an agent that won every pair has a rating all the same.

    Args:
        num_agents: how many agents there are, each in some pairing.
        pairings: whose scores they are.
        scores: of each pairing, pair by pair, shape (pairs,); score j belongs to deal j.

    Returns:
        The ratings.

    Raises:
        ImportError: statsmodels is not installed.
    """
    need("statsmodels")
    import statsmodels.api as sm

    wins = [np.append(pairs_won(of_pairing), 0.5) for of_pairing in scores]
    sizes = [len(of_pairing) for of_pairing in wins]
    contrasts = np.zeros((len(pairings), num_agents))
    for place, (first, second) in enumerate(pairings):
        contrasts[place, [first, second]] = 1, -1
    # one strength can be chosen: the last agent's is 0 while fitting, the mean is afterwards
    design = np.repeat(contrasts[:, :-1], sizes, axis=0)
    longest = max(sizes)
    deals = [np.append(np.arange(size - 1), longest + k) for k, size in enumerate(sizes)]
    model = sm.GLM(np.concatenate(wins), design, family=sm.families.Binomial())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where all was drawn the fit is perfect, and rightly so
        fit = model.fit(cov_type="cluster", cov_kwds={"groups": np.concatenate(deals)})
    centre = np.eye(num_agents) - 1 / num_agents
    to_elo = ELO_PER_LOGIT * centre[:, :-1]
    strengths = np.append(fit.params, 0.0)
    covariance = to_elo @ np.asarray(fit.cov_params()) @ to_elo.T
    said = 1 / (1 + np.exp(-contrasts @ strengths))
    won = np.array([float(of_pairing.mean()) for of_pairing in wins])
    return Ratings(
        values=to_elo @ fit.params,
        errors=np.sqrt(np.maximum(np.diag(covariance), 0)),
        worst_fit=float(np.abs(said - won).max()),
    )


# --- significance -------------------------------------------------------------------------------


def p_value(scores: Floats) -> float:
    """Two-sided chance of a mean so far from 0 if the agents were equal (t test over pairs).

    Never below the sign test's 2^(1 - pairs): a few pairs that all say the same prove little. 1
    for a single pair.

    Raises:
        ImportError: SciPy is not installed.
    """
    need("scipy")
    from scipy import stats

    num = len(scores)
    if num < 2 or not scores.any():
        return 1.0
    error = float(scores.std(ddof=1)) / math.sqrt(num)
    tail = 2 * float(stats.t.sf(abs(scores.mean()) / error, num - 1)) if error else 0.0
    return float(min(1.0, max(tail, 2.0 ** (1 - num))))


def holm(p_values: Sequence[float]) -> Floats:
    """P values made larger for being many: Holm's step-down correction (1979).

    A pairing whose corrected value is under `SIGNIFICANT` counts as different, and the chance that
    any of those so called is not, is under `SIGNIFICANT` too.

    Raises:
        ImportError: statsmodels is not installed.
    """
    need("statsmodels")
    from statsmodels.stats.multitest import multipletests

    return np.asarray(multipletests(p_values, alpha=SIGNIFICANT, method="holm")[1], dtype=float)


# --- the mixture --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mixture:
    """A way of choosing among the agents at random that no agent of the table beats."""

    weights: Floats
    """Chance of each agent, shape (n,), sum 1."""
    earns: Floats
    """Points per deal of the mixture against each agent, shape (n,); none below 0."""
    is_unique: bool
    """No other mixture is as good. Where some are, this is the most even one."""
    low: Floats
    """Lower ends of the weights' 95% bootstrap intervals, shape (n,)."""
    high: Floats
    """Upper ends, shape (n,)."""
    support: Floats
    """Share of the bootstrap samples whose mixture has the agent in it, shape (n,)."""


def nash_mixture(payoffs: Floats) -> tuple[Floats, bool]:
    """The equilibrium of the game in which both players choose an agent to play for them.

    The table is antisymmetric, so the value is 0. Where many mixtures are optimal, the one of
    greatest entropy is given: copies of an agent share its weight, and adding a copy changes
    nothing else (Balduzzi et al. 2018, arXiv 1806.02643).

    Args:
        payoffs: points per deal of the row's agent against the column's, antisymmetric, (n, n).

    Returns:
        Chance of each agent, shape (n,), and whether no other mixture is as good.

    Raises:
        ImportError: SciPy is not installed.
    """
    num = len(payoffs)
    others = ~np.eye(num, dtype=bool)
    for row in range(num):
        if (payoffs[row, others[row]] > 0).all():
            return np.eye(num)[row], True  # one agent beats all: the common case, at once
    tilt = np.random.default_rng(0).normal(size=num)  # two corners of a face differ along it
    corners = [_optimal_corner(payoffs, sign * tilt) for sign in (1, -1)]
    if np.abs(corners[0] - corners[1]).max() < SUPPORTED:
        return corners[0], True
    return _most_even(payoffs, (corners[0] + corners[1]) / 2), False


def _optimal_corner(payoffs: Floats, objective: Floats) -> Floats:
    """The mixture that no column beats and that is lowest in ``objective``."""
    need("scipy")
    from scipy.optimize import linprog

    num = len(payoffs)
    answer = linprog(
        objective,
        A_ub=-payoffs.T,
        b_ub=np.zeros(num),
        A_eq=np.ones((1, num)),
        b_eq=[1.0],
        bounds=(0, 1),
    )
    if not answer.success:
        raise ValueError(f"no mixture found: {answer.message}; is the table antisymmetric?")
    return _as_chances(answer.x)


def _most_even(payoffs: Floats, start: Floats) -> Floats:
    from scipy.optimize import minimize

    num = len(payoffs)

    def negative_entropy(weights: Floats) -> float:
        return float(weights @ np.log(np.maximum(weights, 1e-12)))

    answer: Any = minimize(
        negative_entropy,
        start,
        jac=lambda weights: np.log(np.maximum(weights, 1e-12)) + 1,
        bounds=[(0, 1)] * num,
        constraints=[
            {"type": "eq", "fun": lambda weights: weights.sum() - 1},
            {"type": "ineq", "fun": lambda weights: weights @ payoffs + 1e-12},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 300},
    )
    return _as_chances(answer.x if answer.success else start)


def _as_chances(weights: Any) -> Floats:
    chances = np.where(np.asarray(weights) < SUPPORTED, 0.0, weights)
    return np.asarray(chances / chances.sum(), dtype=float)


def payoff_matrix(num_agents: int, pairings: Sequence[Pairing], means: Floats) -> Floats:
    """Means of the pairings as a table, row against column; shape (n, n), antisymmetric."""
    matrix = np.zeros((num_agents, num_agents))
    for (first, second), mean in zip(pairings, means, strict=True):
        matrix[first, second], matrix[second, first] = mean, -mean
    return matrix


def resampled_means(scores: Sequence[Floats], seed: int, num: int = NUM_RESAMPLES) -> Floats:
    """Means of the pairings when the deals are drawn again, with repetition.

    One draw of deals serves all pairings, as they played the same ones. A pairing that played
    fewer of them (the first ones of the list) has its mean over those.

    Returns:
        Shape (num, pairings).
    """
    longest = max(len(of_pairing) for of_pairing in scores)
    table = np.zeros((longest, len(scores)))
    was_played = np.zeros_like(table)
    for place, of_pairing in enumerate(scores):
        table[: len(of_pairing), place] = of_pairing
        was_played[: len(of_pairing), place] = 1
    rng = np.random.default_rng(seed)
    means = np.empty((num, len(scores)))
    step = max(1, _CELLS // longest)
    for first in range(0, num, step):
        chunk = slice(first, min(num, first + step))
        times = np.stack(
            [
                np.bincount(rng.integers(longest, size=longest), minlength=longest)
                for _ in range(chunk.stop - chunk.start)
            ]
        ).astype(float)
        means[chunk] = (times @ table) / np.maximum(times @ was_played, 1)
    return means


def mixture(
    num_agents: int, pairings: Sequence[Pairing], scores: Sequence[Floats], seed: int = 0
) -> Mixture:
    """The Nash mixture of the table of means, and how sure it is (bootstrap over deals).

    Args:
        num_agents: how many agents there are.
        pairings: whose scores they are; every two agents.
        scores: of each pairing, pair by pair, shape (pairs,); score j belongs to deal j.
        seed: of the bootstrap.
    """
    means = np.array([float(of_pairing.mean()) for of_pairing in scores])
    payoffs = payoff_matrix(num_agents, pairings, means)
    weights, is_unique = nash_mixture(payoffs)
    samples, which = np.unique(resampled_means(scores, seed), axis=0, return_inverse=True)
    answers = [nash_mixture(payoff_matrix(num_agents, pairings, means))[0] for means in samples]
    drawn = np.stack(answers)[which]
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return Mixture(
        weights=weights,
        earns=weights @ payoffs + 0.0,
        is_unique=is_unique,
        low=low,
        high=high,
        support=(drawn > SUPPORTED).mean(axis=0),
    )
