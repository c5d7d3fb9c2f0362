"""What comes out of a tournament: every agent against every other on the same deals.

The pairings are ordinary matches (`matches.match`), so each is mirrored and reproducible. As all
of them play the same list of deals, differences between pairings are differences on the same
cards. `standings` makes these records, `tournament_tables` and `report` show them.
"""

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

import numpy as np

from agents.evaluation.counts import AgentRates
from agents.evaluation.intervals import Estimate
from agents.evaluation.ratings import (
    SIGNIFICANT,
    Floats,
)


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
    by_seat: tuple[Estimate, Estimate]
    """Points per deal of the first in seat 0 and in seat 1, which differ by chance alone."""
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
    deals_hash: str
    """What was dealt, see `deals.deals_hash`: the same hash, the same deals."""
    rules: dict[str, Any]
    """The options that differ from the 24-card game."""
    versions: dict[str, str]
    """Of the package and of what its numbers could depend on."""
    partial: bool
    """True where it was broken off."""
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
    forfeited: dict[str, int] = field(default_factory=dict)
    """Deals and games lost by faults, by agent; who has none is not in it. Guests only."""
    faults: tuple[str, ...] = ()
    """The first of these faults: who, at which position, what."""

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
            "forfeited": self.forfeited,
            "faults": list(self.faults),
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
