"""How a tournament is played and summed up: pairings, ratings, significance, the mixture.

`round_robin` plays, `summarise` takes results that were played already; what comes out is a
`tournaments.Tournament`.
"""

import math
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from importlib.metadata import version
from itertools import combinations
from typing import Final

import numpy as np

from agents.base import Agent
from agents.evaluation.counts import RoleRates
from agents.evaluation.intervals import Z_95, Estimate
from agents.evaluation.matches import MatchResult
from agents.evaluation.play import agent_name
from agents.evaluation.ratings import (
    Mixture,
    Ratings,
    bradley_terry,
    holm,
    mixture,
    p_value,
    pairs_won,
    payoff_matrix,
)
from agents.evaluation.tournaments import Pairing, Protocol, Standing, Tournament

RATE_NAMES: Final = tuple(f.name for f in fields(RoleRates) if f.name != "deals")
"""The rates that `counts.RoleRates` holds."""


# --- playing ------------------------------------------------------------------------------------


def round_robin(
    players: Sequence[Agent],
    play: Callable[[Agent, Agent], MatchResult],
    *,
    command: str = "",
) -> Tournament:
    """Let every two agents meet, and sum up.

    Args:
        players: two or more.
        play: plays one match, every time on the same list of deals.
        command: what plays it again, for the report.

    Raises:
        ValueError: fewer than two players, or matches that differ in seed, list or rules.
        ImportError: the libraries of the extra ``evaluate`` are missing.
    """
    if len(players) < 2:
        raise ValueError("a tournament takes two agents or more")
    results = [play(first, second) for first, second in combinations(players, 2)]
    return summarise([agent_name(player) for player in players], results, command=command)


def distinct(names: Sequence[str]) -> list[str]:
    """Names told apart: a second ``novice`` is ``novice (2)``."""
    return [
        name if name not in names[:place] else f"{name} ({names[: place + 1].count(name)})"
        for place, name in enumerate(names)
    ]


def summarise(
    names: Sequence[str], results: Sequence[MatchResult], *, command: str = ""
) -> Tournament:
    """What the matches of every two agents say together.

    Args:
        names: of the agents, two or more; equal ones are told apart by numbers.
        results: of every two, in the order of ``itertools.combinations(names, 2)``.
        command: what plays it again, for the report.

    Raises:
        ValueError: other results than those, or results that differ in seed, list or rules.
        ImportError: the libraries of the extra ``evaluate`` are missing.
    """
    meetings = list(combinations(range(len(names)), 2))
    if len(names) < 2 or len(meetings) != len(results):
        raise ValueError(
            f"{len(names)} agents meet in {len(meetings)} pairings, not in {len(results)}"
        )
    for result in results[1:]:
        for name in ("seed", "deals", "rules"):
            one, other = getattr(results[0], name), getattr(result, name)
            if one != other:
                raise ValueError(f"the matches differ in {name}: {one!r} and {other!r}")
    scores = [result.pair_scores for result in results]
    ratings = bradley_terry(len(names), meetings, scores)
    mixed = mixture(len(names), meetings, scores, results[0].seed)
    corrected = holm([p_value(of_pairing) for of_pairing in scores])
    order = [int(place) for place in np.argsort(-ratings.values.round(9), kind="stable")]
    labels = distinct(names)
    place_of = {meeting: place for place, meeting in enumerate(meetings)}
    pairings = []
    for first, second in combinations(order, 2):
        place = place_of[min(first, second), max(first, second)]
        pairings.append(
            _pairing(
                (labels[first], labels[second]),
                results[place],
                1 if first < second else -1,
                float(corrected[place]),
            )
        )
    standings = _standings([labels[k] for k in order], order, pairings, ratings, mixed)
    means = np.array([pairing.points.mean for pairing in pairings])
    halves = np.array([pairing.points.high - pairing.points.mean for pairing in pairings])
    ordered = list(combinations(range(len(order)), 2))
    return Tournament(
        standings=standings,
        pairings=tuple(pairings),
        payoffs=payoff_matrix(len(order), ordered, means),
        half_widths=np.abs(payoff_matrix(len(order), ordered, halves)),
        worst_fit=ratings.worst_fit,
        mixture_is_unique=mixed.is_unique,
        mixture_earns=mixed.earns[order],
        protocol=_protocol(results, command),
        forfeited=_forfeited([[labels[k] for k in meeting] for meeting in meetings], results),
        faults=tuple(dict.fromkeys(text for result in results for text in result.faults)),
    )


def _forfeited(meetings: Sequence[Sequence[str]], results: Sequence[MatchResult]) -> dict[str, int]:
    """Deals and games that each agent lost by faults; who has none is left out."""
    counts: Counter[str] = Counter()
    for names, result in zip(meetings, results, strict=True):
        counts.update(dict(zip(names, result.forfeited, strict=True)))
    return {name: num for name, num in counts.items() if num}


# --- summing up ---------------------------------------------------------------------------------


def _turn(estimate: Estimate, sign: int) -> Estimate:
    """The same seen from the other agent, when ``sign`` is -1."""
    if sign > 0:
        return estimate
    return Estimate(0.0 - estimate.mean, 0.0 - estimate.high, 0.0 - estimate.low)


def _pairing(names: tuple[str, str], result: MatchResult, sign: int, p_holm: float) -> Pairing:
    scores = sign * result.pair_scores + 0.0
    wins = pairs_won(scores)
    share = result.game_share
    if share is not None and sign < 0:
        share = Estimate(1 - share.mean, 1 - share.high, 1 - share.low)
    # in a pair each agent deals once: what one scores as dealer the other loses as nondealer
    dealt, spoke = result.as_dealer, result.as_nondealer
    return Pairing(
        first=names[0],
        second=names[1],
        points=_turn(Estimate(result.mean, result.low, result.high), sign),
        sd=result.sd,
        pairs=result.pairs,
        won=float((wins == 1).mean()),
        drawn=float((wins == 0.5).mean()),
        as_dealer=_turn(dealt if sign > 0 else spoke, sign),
        as_nondealer=_turn(spoke if sign > 0 else dealt, sign),
        # where the first agent sits in seat 0 the second sits in seat 1
        by_seat=result.by_seat
        if sign > 0
        else (_turn(result.by_seat[1], sign), _turn(result.by_seat[0], sign)),
        game_share=share,
        p_value=p_value(result.pair_scores),
        p_holm=p_holm,
        rates=result.rates if sign > 0 else (result.rates[1], result.rates[0]),
        pair_scores=scores,
    )


def _standings(
    labels: Sequence[str],
    order: Sequence[int],
    pairings: Sequence[Pairing],
    ratings: Ratings,
    mixed: Mixture,
) -> tuple[Standing, ...]:
    estimates = ratings.estimates()
    standings = []
    for label, place in zip(labels, order, strict=True):
        own = [(p, 1 if p.first == label else -1) for p in pairings if label in (p.first, p.second)]
        worst, sign = min(own, key=lambda pair: pair[1] * pair[0].points.mean)
        rates = _mean_rates(own)
        standings.append(
            Standing(
                agent=label,
                rating=estimates[place],
                field=_against_field(own),
                worst=_turn(worst.points, sign),
                worst_against=worst.second if sign > 0 else worst.first,
                num_beaten=sum(p.is_significant and s * p.points.mean > 0 for p, s in own),
                num_beaten_by=sum(p.is_significant and s * p.points.mean < 0 for p, s in own),
                game_share=_mean(
                    (p.game_share.mean if s > 0 else 1 - p.game_share.mean)
                    for p, s in own
                    if p.game_share is not None
                ),
                as_dealer=_mean(
                    p.as_dealer.mean if s > 0 else -p.as_nondealer.mean for p, s in own
                ),
                as_nondealer=_mean(
                    p.as_nondealer.mean if s > 0 else -p.as_dealer.mean for p, s in own
                ),
                weight=float(mixed.weights[place]),
                weight_low=float(mixed.low[place]),
                weight_high=float(mixed.high[place]),
                support=float(mixed.support[place]),
                dealer_rates=rates[0],
                nondealer_rates=rates[1],
            )
        )
    return tuple(standings)


def _mean(values: Iterable[float]) -> float:
    """Mean of what is not NaN; NaN for nothing."""
    counted = [value for value in values if not math.isnan(value)]
    return math.fsum(counted) / len(counted) + 0.0 if counted else math.nan


def _against_field(own: Sequence[tuple[Pairing, int]]) -> Estimate:
    """Mean over the opponents; the error is over deals, which all the pairings share."""
    longest = max(pairing.pairs for pairing, _ in own)
    pulls = np.zeros(longest)
    for pairing, sign in own:
        scores = sign * pairing.pair_scores
        pulls[: pairing.pairs] += (scores - scores.mean()) / (pairing.pairs * len(own))
    mean = _mean(sign * pairing.points.mean for pairing, sign in own)
    half = Z_95 * float(np.sqrt((pulls**2).sum())) if longest > 1 else math.nan
    return Estimate(mean, mean - half, mean + half)


def _mean_rates(own: Sequence[tuple[Pairing, int]]) -> tuple[dict[str, float], dict[str, float]]:
    """Rates as dealer and as nondealer, each opponent counting alike."""
    both = [pairing.rates[0 if sign > 0 else 1] for pairing, sign in own]
    return (
        {name: _mean(getattr(rates.as_dealer, name) for rates in both) for name in RATE_NAMES},
        {name: _mean(getattr(rates.as_nondealer, name) for rates in both) for name in RATE_NAMES},
    )


def _protocol(results: Sequence[MatchResult], command: str) -> Protocol:
    one = max(results, key=lambda result: result.pairs)
    return Protocol(
        pairs=one.pairs,
        games=max(result.games for result in results),
        deals=one.deals,
        seed=one.seed,
        deals_hash=one.deals_hash,
        rules=one.rules,
        versions={
            "euchre-env": version("euchre-env"),
            "numpy": version("numpy"),
            "numba": version("numba"),
            "python": platform.python_version(),
        },
        partial=any(result.partial for result in results),
        command=command,
        decisions=sum(result.decisions for result in results),
        seconds=math.fsum(result.seconds for result in results),
    )
