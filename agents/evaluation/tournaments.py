"""A tournament: every agent against every other on the same deals, and what follows from it.

The pairings are ordinary matches (`matches.match`), so each is mirrored and reproducible. As all
of them play the same list of deals, differences between pairings are differences on the same
cards. From the single pairs come ratings, corrected significance and the Nash mixture
(`ratings`); `standings` puts them together by agent.
"""

import csv
import hashlib
import io
import math
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from itertools import combinations
from typing import Any, Final

import numpy as np

from agents.base import Agent
from agents.evaluation.counts import AgentRates, RoleRates
from agents.evaluation.deals import deal_words
from agents.evaluation.intervals import Z_95, Estimate
from agents.evaluation.matches import MatchResult
from agents.evaluation.ratings import (
    SIGNIFICANT,
    Floats,
    Mixture,
    Ratings,
    bradley_terry,
    holm,
    mixture,
    p_value,
    pairs_won,
    payoff_matrix,
)

RATE_NAMES: Final = tuple(f.name for f in fields(RoleRates) if f.name != "deals")
"""The rates that `counts.RoleRates` holds."""


@dataclass(frozen=True)
class Pairing:
    """Two agents of the table; every figure is the first's, who is rated at least as high."""

    first: str
    second: str
    points: Estimate
    """Points per deal, first's minus second's, with the 95% interval over pairs."""
    sd: float
    """Standard deviation of a pair's score; NaN for a single pair."""
    pairs: int
    """Pairs played."""
    won: float
    """Share of the pairs with a score above 0."""
    drawn: float
    """Share of the pairs with a score of 0."""
    as_dealer: Estimate
    """Points per deal in the deals that the first dealt."""
    as_nondealer: Estimate
    """Points per deal in the deals that the second dealt."""
    game_share: Estimate | None
    """Share of the games won; None when none were played."""
    p_value: float
    """Chance of so large a difference between equal agents."""
    p_holm: float
    """The same, corrected for the number of pairings."""
    rates: tuple[AgentRates, AgentRates]
    """Bids and makes of both."""
    pair_scores: Floats = field(compare=False, repr=False)
    """Score of every pair, shape (pairs,), in the order of the deals; not in the JSON."""

    @property
    def lost(self) -> float:
        """Share of the pairs with a score below 0."""
        return 1 - self.won - self.drawn

    @property
    def score_counts(self) -> dict[str, int]:
        """How many pairs had each score, lowest first."""
        values, counts = np.unique(self.pair_scores, return_counts=True)
        return {f"{value:g}": int(num) for value, num in zip(values, counts, strict=True)}

    @property
    def is_significant(self) -> bool:
        """The difference is more than luck, corrected for the number of pairings."""
        return self.p_holm < SIGNIFICANT


@dataclass(frozen=True)
class Standing:
    """One agent among the others."""

    agent: str
    rating: Estimate
    """Bradley-Terry rating on Elo's scale, mean of all agents 0, 95% interval."""
    field: Estimate
    """Points per deal against all others, each counting alike, 95% interval over deals."""
    worst: Estimate
    """Points per deal against the opponent it does worst against."""
    worst_against: str
    """Who that is."""
    num_beaten: int
    """Opponents it is significantly better than."""
    num_beaten_by: int
    """Opponents significantly better than it."""
    game_share: float
    """Share of its games won, each opponent counting alike; NaN when none were played."""
    as_dealer: float
    """Points per deal in the deals it dealt, each opponent counting alike."""
    as_nondealer: float
    """Points per deal in the deals its opponents dealt."""
    weight: float
    """Chance in the Nash mixture of the table."""
    weight_low: float
    """Lower end of the weight's 95% bootstrap interval."""
    weight_high: float
    """Upper end."""
    support: float
    """Share of the bootstrap samples whose mixture has the agent in it."""
    dealer_rates: dict[str, float]
    """Rates of `counts.RoleRates` as dealer, mean over the opponents; NaN where none count."""
    nondealer_rates: dict[str, float]
    """Rates as nondealer, likewise."""


@dataclass(frozen=True)
class Protocol:
    """What was played, so that anybody can play it again."""

    pairs: int
    """Mirrored pairs of deals a pairing: the most, where some played fewer."""
    games: int
    """Mirrored pairs of games a pairing."""
    deals: str
    """The list of deals."""
    seed: int
    """What deals and random acts follow from."""
    deals_sha256: str
    """Hash of the deals' seeds: the same hash, the same deals."""
    rules: dict[str, Any]
    """The options that differ from the 24-card game."""
    versions: dict[str, str]
    """Of the package and of what its numbers could depend on."""
    command: str
    """What plays it again; empty when it was not played from the command line."""
    decisions: int
    """Acts that agents chose, in all."""
    seconds: float = field(compare=False)
    """Time that the matches took, together."""


@dataclass(frozen=True)
class Tournament:
    """Everyone against everyone; agents stand in the order of their ratings."""

    standings: tuple[Standing, ...]
    pairings: tuple[Pairing, ...]
    """Of every two agents, in the order of ``itertools.combinations`` of the standings."""
    payoffs: Floats
    """Points per deal of the row's agent against the column's; shape (n, n), antisymmetric."""
    half_widths: Floats
    """Half of each payoff's 95% interval; shape (n, n), 0 on the diagonal."""
    worst_fit: float
    """Largest error of the ratings' share of pairs won in any pairing: 0.1 is ten in a hundred."""
    mixture_is_unique: bool
    """The Nash mixture of the table is the only one."""
    mixture_earns: Floats
    """Points per deal of the mixture against each agent, shape (n,)."""
    protocol: Protocol

    @property
    def agents(self) -> tuple[str, ...]:
        """Names, best rated first."""
        return tuple(standing.agent for standing in self.standings)

    def to_json(self) -> dict[str, Any]:
        """Everything but the single pairs, as JSON values; NaN becomes null."""
        pairings = [
            {f.name: getattr(pairing, f.name) for f in fields(pairing) if f.name != "pair_scores"}
            | {"score_counts": pairing.score_counts, "rates": list(map(asdict, pairing.rates))}
            for pairing in self.pairings
        ]
        plain = {
            "headline": headline(self),
            "protocol": asdict(self.protocol),
            "standings": [asdict(standing) for standing in self.standings],
            "pairings": pairings,
            "payoffs": self.payoffs.tolist(),
            "half_widths": self.half_widths.tolist(),
            "worst_fit": self.worst_fit,
            "mixture_is_unique": self.mixture_is_unique,
            "mixture_earns": self.mixture_earns.tolist(),
        }
        cleaned = _plain(plain)
        assert isinstance(cleaned, dict)
        return cleaned

    def pairings_csv(self) -> str:
        """One line a pairing, with a heading."""
        return _csv(
            {
                "first": pairing.first,
                "second": pairing.second,
                **_ends("points", pairing.points),
                "sd": pairing.sd,
                "pairs": pairing.pairs,
                "won": pairing.won,
                "drawn": pairing.drawn,
                "lost": pairing.lost,
                **_ends("as_dealer", pairing.as_dealer),
                **_ends("as_nondealer", pairing.as_nondealer),
                **_ends("game_share", pairing.game_share or _NO_ESTIMATE),
                "p_value": pairing.p_value,
                "p_holm": pairing.p_holm,
            }
            for pairing in self.pairings
        )

    def agents_csv(self) -> str:
        """One line an agent, with a heading."""
        return _csv(_standing_row(standing) for standing in self.standings)


_NO_ESTIMATE: Final = Estimate(math.nan, math.nan, math.nan)


def _standing_row(standing: Standing) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for name, value in vars(standing).items():
        if isinstance(value, Estimate):
            row |= _ends(name, value)
        elif isinstance(value, dict):
            role = name.removesuffix("_rates")
            row |= {f"{role}_{rate}": share for rate, share in value.items()}
        else:
            row[name] = value
    return row


def _ends(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}


def _csv(rows: Any) -> str:
    listed = list(rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, listed[0].keys(), lineterminator="\n")
    writer.writeheader()
    for row in listed:
        writer.writerow(
            {k: "" if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
        )
    return text.getvalue()


def _plain(value: Any) -> Any:
    if isinstance(value, Estimate):
        return _plain(asdict(value))
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


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
    names = [str(getattr(player, "name", type(player).__name__)) for player in players]
    return summarise(names, results, command=command)


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
    )


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


def _mean(values: Any) -> float:
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


def deals_sha256(seed: int, deals: Any, num: int) -> str:
    """Hash of the seeds of a list's first deals: equal hashes mean equal deals."""
    words = deal_words(seed, deals, 0, num).astype("<u8")
    return hashlib.sha256(words.tobytes()).hexdigest()


def _protocol(results: Sequence[MatchResult], command: str) -> Protocol:
    one = max(results, key=lambda result: result.pairs)
    return Protocol(
        pairs=one.pairs,
        games=max(result.games for result in results),
        deals=one.deals,
        seed=one.seed,
        deals_sha256=deals_sha256(one.seed, one.deals, one.pairs),
        rules=one.rules,
        versions={
            "euchre-env": version("euchre-env"),
            "numpy": version("numpy"),
            "numba": version("numba"),
            "python": platform.python_version(),
        },
        command=command,
        decisions=sum(result.decisions for result in results),
        seconds=math.fsum(result.seconds for result in results),
    )


# --- one sentence -------------------------------------------------------------------------------


def headline(tournament: Tournament) -> str:
    """The result in one sentence, with its error and what it rests on."""
    best = tournament.standings[0]
    num = len(tournament.standings)
    basis = f"{tournament.protocol.pairs:,} mirrored pairs a pairing"
    if num == 2:
        (pairing,) = tournament.pairings
        verb = "beats" if pairing.is_significant else "cannot be told from"
        return f"{pairing.first} {verb} {pairing.second}: {points(pairing.points)}, {basis}."
    champion = next((s for s in tournament.standings if s.num_beaten == num - 1), None)
    if champion is not None:
        return (
            f"{champion.agent} beats every other agent; closest is {champion.worst_against}, "
            f"{points(champion.worst)} ({basis}, Holm-corrected at {SIGNIFICANT:.0%})."
        )
    rivals = [
        p.second if p.first == best.agent else p.first
        for p in tournament.pairings
        if best.agent in (p.first, p.second)
        and (not p.is_significant or (p.points.mean < 0) == (p.first == best.agent))
    ]
    return (
        f"No agent beats all the others: {best.agent} is rated highest, but is not "
        f"significantly better than {_listed(rivals)} ({basis})."
    )


def points(estimate: Estimate) -> str:
    """``+0.289 [+0.270, +0.308] points per deal``; no interval where there is none."""
    if math.isnan(estimate.low):
        return f"{estimate.mean:+.3f} points per deal"
    return f"{estimate.mean:+.3f} [{estimate.low:+.3f}, {estimate.high:+.3f}] points per deal"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
