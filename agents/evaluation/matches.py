"""A match: two agents head to head on mirrored deals and games, and all that is counted.

One *pair* is one deal at 0-0 played twice with the seats swapped; its score is the mean of both,
in points won minus points lost. So luck in the cards cancels, and the interval over pairs is far
narrower than that of separate deals. ``docs/evaluation.md``.
"""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents import make_agent
from agents.base import Agent
from agents.evaluation.counts import (
    COUNT,
    THROWN_IN,
    AgentRates,
    count_calls,
    dealer_rates,
    nondealer_rates,
    share,
)
from agents.evaluation.deals import GAME_KEYS, Deals, agent_keys, deal_words
from agents.evaluation.intervals import (
    Estimate,
    bootstrap_interval,
    normal_interval,
    share_interval,
)
from agents.evaluation.play import agent_name, play
from euchre_env.rules import Rules
from euchre_env.state import NOBODY

MAX_DEALS: Final = 10_000
"""A game not over after so many deals counts as half won (both may pass for ever)."""


@dataclass(frozen=True)
class MatchResult:
    """The first agent against the second; points are the first's minus the second's."""

    agents: tuple[str, str]
    """Names of the two."""
    mean: float
    """Points per deal."""
    low: float
    """Lower end of the 95% interval of ``mean`` (normal, over pairs)."""
    high: float
    """Upper end."""
    bootstrap_low: float
    """Lower end of the bootstrap's 95% interval."""
    bootstrap_high: float
    """Upper end."""
    sd: float
    """Standard deviation of a pair's score; NaN for a single pair."""
    pairs: int
    """Pairs played: twice as many deals."""
    as_dealer: Estimate
    """Points per deal of the first agent in the deals that it dealt."""
    as_nondealer: Estimate
    """Likewise in the deals that the second dealt."""
    thrown_in: float
    """Share of the deals that both passed to the end. R11."""
    rates: tuple[AgentRates, AgentRates]
    """Bids and makes of each agent."""
    games: int
    """Mirrored pairs of whole games played: twice as many games."""
    game_share: Estimate | None
    """Share of the games that the first agent won, or None when none were played."""
    unfinished_games: int
    """Games broken off after `MAX_DEALS` deals, counted as half won."""
    deals_per_game: float
    """Mean deals in a game; NaN when none were played."""
    decisions: int
    """Acts that agents chose, in all."""
    deals: Deals
    """The list that the deals come from."""
    seed: int
    """What deals and random acts follow from."""
    rules: dict[str, Any]
    """The options that differ from the 24-card game."""
    score_counts: dict[str, int]
    """How many pairs had each score: the whole distribution."""
    seconds: float = field(compare=False)
    """Time taken, agents included."""
    deals_per_second: float = field(compare=False)
    """Deals, those inside games counted, in a second."""
    pair_scores: npt.NDArray[np.float64] = field(compare=False, repr=False)
    """Score of every pair, shape (pairs,); not in the JSON."""

    def to_json(self) -> dict[str, Any]:
        """Everything but the single pairs, as JSON values; NaN becomes null."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "pair_scores"}
        plain["rates"] = [asdict(rates) for rates in self.rates]
        for name in ("as_dealer", "as_nondealer", "game_share"):
            plain[name] = plain[name] and asdict(plain[name])
        cleaned = _without_nan(plain)
        assert isinstance(cleaned, dict)
        return cleaned


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def match(
    agent_a: str | Agent,
    agent_b: str | Agent,
    *,
    pairs: int = 10_000,
    games: int = 0,
    seed: int = 0,
    deals: Deals = "dev",
    rules: Rules | None = None,
    batch: int = 4_096,
    progress: Callable[[int], None] | None = None,
) -> MatchResult:
    """Play two agents head to head on mirrored deals, and on mirrored games.

    Args:
        agent_a: the first agent, or its name.
        agent_b: the second; points are the first's minus the second's.
        pairs: mirrored pairs of deals, 1 or more, fixed in advance.
        games: mirrored pairs of whole games to the target, 0 for none.
        seed: what deals and random acts follow from.
        deals: the list of deals: ``"dev"`` to work with, ``"heldout"`` for claims.
        rules: what is played; the 24-card game when None.
        batch: pairs played at once; changes no result.
        progress: called with the number of pairs played since the last call.

    Returns:
        The result; equal for equal arguments (times apart), whatever ``batch`` is.

    Raises:
        ValueError: an unknown agent, or a number out of range.
        AgentError: an agent's answer is no legal act.
    """
    for name, value, least in (("pairs", pairs, 1), ("games", games, 0), ("batch", batch, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name}={value!r}: it is a whole number, {least} or more")
    if rules is not None and not isinstance(rules, Rules):
        raise ValueError(f"rules={rules!r}: they are a Rules object (see parse_rules)")
    rules = rules or Rules()
    players = (make_agent(agent_a), make_agent(agent_b))
    started = time.perf_counter()

    differences = np.empty((2, pairs))
    is_dealer = np.empty((2, pairs), dtype=np.bool_)
    counts = np.zeros((2, 6, 4), dtype=np.int64)
    num_acts = num_deals = 0
    for first in range(0, pairs, batch):
        num = min(batch, pairs - first)
        words = deal_words(seed, deals, first, num)
        played = play(players, words, agent_keys(seed, first, num), rules, 1)
        chunk = slice(first, first + num)
        seats = np.repeat([0, 1], num)
        points = played.states["points"].astype(np.float64)
        rows = np.arange(2 * num)
        differences[:, chunk] = (points[rows, seats] - points[rows, 1 - seats]).reshape(2, num)
        is_dealer[:, chunk] = (played.states["dealer"] == seats).reshape(2, num)
        count_calls(played.states, is_dealer[:, chunk].ravel(), counts)
        num_acts, num_deals = num_acts + played.acts, num_deals + played.deals
        if progress:
            progress(num)

    shares = np.empty(games)
    unfinished = game_deals = 0
    for first in range(0, games, batch):
        num = min(batch, games - first)
        words = deal_words(seed, deals, first, num, GAME_KEYS)
        keys = agent_keys(seed, first, num, GAME_KEYS)
        played = play(players, words, keys, rules, MAX_DEALS)
        winners = played.states["winner"].reshape(2, num)
        won = np.where(winners == NOBODY, 0.5, winners == np.array([[0], [1]]))
        shares[first : first + num] = won.mean(axis=0)
        unfinished += int((winners == NOBODY).sum())
        num_acts, game_deals = num_acts + played.acts, game_deals + played.deals
        if progress:
            progress(num)

    seconds = time.perf_counter() - started
    scores = differences.mean(axis=0)
    overall = normal_interval(scores)
    bootstrap = bootstrap_interval(scores, seed)
    values, frequencies = np.unique(scores, return_counts=True)
    # in a pair, each agent deals once: exactly one of the two rows is the dealer's
    dealt = np.where(is_dealer[0], differences[0], differences[1])
    spoke = np.where(is_dealer[0], differences[1], differences[0])
    return MatchResult(
        agents=(agent_name(players[0]), agent_name(players[1])),
        mean=overall.mean,
        low=overall.low,
        high=overall.high,
        bootstrap_low=bootstrap[0],
        bootstrap_high=bootstrap[1],
        sd=float(scores.std(ddof=1)) if pairs > 1 else math.nan,
        pairs=pairs,
        as_dealer=normal_interval(dealt),
        as_nondealer=normal_interval(spoke),
        thrown_in=share(counts[:, THROWN_IN, COUNT].sum(), 2 * pairs),
        rates=(
            AgentRates(dealer_rates(counts[1]), nondealer_rates(counts[0])),
            AgentRates(dealer_rates(counts[0]), nondealer_rates(counts[1])),
        ),
        games=games,
        game_share=share_interval(shares) if games else None,
        unfinished_games=unfinished,
        deals_per_game=share(game_deals, 2 * games),
        decisions=num_acts,
        deals=deals,
        seed=seed,
        rules=rules.changed(),
        score_counts={
            f"{value:g}": int(number) for value, number in zip(values, frequencies, strict=True)
        },
        seconds=seconds,
        deals_per_second=(num_deals + game_deals) / seconds,
        pair_scores=scores,
    )
