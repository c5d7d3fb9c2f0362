"""A match: two agents head to head on mirrored deals and games, and all that is counted.

One *pair* is one deal at 0-0 played twice with the seats swapped; its score is the mean of both,
in points won minus points lost. So luck in the cards cancels, and the interval over pairs is far
narrower than that of separate deals. ``docs/evaluation.md``.
"""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from agents import make_agent
from agents.base import Agent
from agents.evaluation.backends import SERIAL, Crew, in_order, run
from agents.evaluation.counts import (
    COUNT,
    THROWN_IN,
    AgentRates,
    count_calls,
    dealer_rates,
    nondealer_rates,
    share,
)
from agents.evaluation.deals import Deals, deals_hash
from agents.evaluation.intervals import (
    Estimate,
    bootstrap_interval,
    normal_interval,
    share_interval,
)
from agents.evaluation.parts import (
    FAULTS_TOLD,
    GAME_DTYPE,
    PAIR_DTYPE,
    Part,
    Plan,
    highest_score,
    join,
    play_games,
    play_pairs,
    shares_of,
    with_match_lost,
)
from agents.evaluation.play import FIRST_LOST, SECOND_LOST, agent_name, warm_up
from agents.evaluation.sequential import SequentialTest, check_means, judge, looks
from agents.guests import TIME_LIMIT
from euchre_env.rules import Rules
from euchre_env.state import NOBODY, States


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
    by_seat: tuple[Estimate, Estimate]
    """Points per deal of the first agent in seat 0 and in seat 1: no seat is better than the other,
    so these differ by chance alone."""
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
    deals_hash: str
    """What was dealt in the pairs, see `deals.deals_hash`: equal for equal deals."""
    seed: int
    """What deals and random acts follow from."""
    rules: dict[str, Any]
    """The options that differ from the 24-card game."""
    score_counts: dict[str, int]
    """How many pairs had each score: the whole distribution."""
    sequential: SequentialTest | None
    """How a match that stops by itself went; None where the pairs were fixed in advance."""
    partial: bool
    """True where it was broken off: the result is that of the pairs and games it tells, the first
    of those asked for."""
    forfeited: tuple[int, int]
    """Deals of the pairs, and games, that each agent lost by a fault of its own: guests only."""
    faults: tuple[str, ...]
    """The first of these faults: who, at which position, what."""
    seconds: float = field(compare=False)
    """Time taken, agents included."""
    deals_per_second: float = field(compare=False)
    """Deals, those inside games counted, in a second."""
    decisions_per_second: float = field(compare=False)
    """Acts in a second of one core's time in play."""
    pair_scores: npt.NDArray[np.float64] = field(compare=False, repr=False)
    """Score of every pair, shape (pairs,); not in the JSON."""

    def to_json(self) -> dict[str, Any]:
        """Everything but the single pairs, as JSON values; NaN becomes null."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "pair_scores"}
        for name in ("rates", "by_seat"):
            plain[name] = [asdict(value) for value in plain[name]]
        for name in ("as_dealer", "as_nondealer", "game_share", "sequential"):
            plain[name] = plain[name] and asdict(plain[name])
        cleaned = _without_nan(plain)
        assert isinstance(cleaned, dict)
        return cleaned

    def __str__(self) -> str:
        """The result in a line; all of it is in the attributes."""
        interval = "" if math.isnan(self.low) else f" [{self.low:+.3f}, {self.high:+.3f}]"
        share = self.game_share
        games = "" if share is None else f", {share.mean:.1%} of {2 * self.games:,} games"
        pairs = f"{self.pairs:,} pair{'s' * (self.pairs != 1)}"
        points = f"{self.mean:+.3f}{interval} points per deal"
        return f"{self.agents[0]} against {self.agents[1]}: {points} (95%, {pairs}){games}"


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
    sequential: tuple[float, float] | None = None,
    batch: int = 4_096,
    crew: Crew = SERIAL,
    salts: tuple[int, int] = (0, 0),
    time_limit: float = TIME_LIMIT,
    progress: Callable[[int], None] | None = None,
    record: Callable[[int, States], None] | None = None,
) -> MatchResult:
    """Play two agents head to head on mirrored deals, and on mirrored games.

    Ctrl-C ends it early: the result is then that of the pairs and games played in full so far,
    and says that it is partial.

    Args:
        agent_a: the first agent, or its name.
        agent_b: the second; points are the first's minus the second's.
        pairs: mirrored pairs of deals, 1 or more, fixed in advance.
        games: mirrored pairs of whole games to the target, 0 for none.
        seed: what deals and random acts follow from.
        deals: the list of deals: ``"dev"`` to work with, ``"heldout"`` for claims.
        rules: what is played; the 24-card game when None.
        sequential: two means in points a deal, between which `sequential` decides as soon as it
            can; ``pairs`` is then the most that are played.
        batch: most pairs played at once; changes no result.
        crew: who plays: this process, or others; changes no result.
        salts: mixed into the random numbers of each agent, see `play.play`.
        time_limit: seconds that a guest given by name may take for a batch (`agents.guests`).
        progress: called with the number of pairs played since the last call.
        record: called with the first pair of a range, in order, and the deals played, shape
            (2, n): those with the first agent in seat 0, and the same with the seats swapped.

    Returns:
        The result; equal for equal arguments (times apart), whatever ``batch`` and ``crew`` are.

    Raises:
        ValueError: an unknown agent, or a number out of range.
        ImportError: a guest cannot be made.
        AgentError: an answer is no legal act, and its agent no guest.
        LostWorkersError: the crew's processes die again and again.
        KeyboardInterrupt: stopped before the first pair was played.
    """
    for name, value, least in (("pairs", pairs, 1), ("games", games, 0), ("batch", batch, 1)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"{name}={value!r}: it is a whole number, {least} or more")
    if rules is not None and not isinstance(rules, Rules):
        raise ValueError(f"rules={rules!r}: they are a Rules object (see parse_rules)")
    plan = Plan(
        (agent_a, agent_b),
        seed,
        deals,
        rules or Rules(),
        salts,
        keep_states=record is not None,
        time_limit=time_limit,
    )
    if sequential is not None:
        check_means(*sequential, highest_score(plan.rules))
    deals_hash(seed, deals, 1, plan.rules)  # a wrong seed or list is told before play
    players = (
        make_agent(agent_a, time_limit=time_limit),
        make_agent(agent_b, time_limit=time_limit),
    )
    vars(plan)["players"] = players
    warm_up(players)
    started = time.perf_counter()
    table = _Table(plan, batch, crew, progress or (lambda num: None))
    table.play(play_pairs, pairs, table.taker(pairs, sequential, record))
    table.play(play_games, games, table.take_games)
    return _summary(table, table.is_stopped, time.perf_counter() - started)


class _Table:
    """A match in the making: the parts played so far, in the order of the list."""

    def __init__(self, plan: Plan, batch: int, crew: Crew, progress: Callable[[int], None]) -> None:
        self.plan, self.batch, self.crew, self.progress = plan, batch, crew, progress
        self.pairs: list[Part] = []
        self.games: list[Part] = []
        self.test: SequentialTest | None = None
        self.is_stopped = False

    def play(
        self, kind: Callable[[Plan, int, int], Part], total: int, take: Callable[[Part], bool]
    ) -> None:
        """Have parts played until ``take`` has enough, or until Ctrl-C.

        Raises:
            KeyboardInterrupt: before the first pair was played.
        """
        if self.is_stopped:
            return
        pieces = run(functools.partial(kind, self.plan), total, batch=self.batch, crew=self.crew)
        try:
            with closing(pieces):
                for part in in_order(self._told(pieces), lambda part: part.num):
                    if take(part):
                        break
        except KeyboardInterrupt:
            if not self.pairs:
                raise
            self.is_stopped = True

    def _told(self, pieces: Iterable[tuple[int, Part]]) -> Iterator[tuple[int, Part]]:
        for first, part in pieces:
            self.progress(part.num)
            yield first, part

    def taker(
        self,
        total: int,
        sequential: tuple[float, float] | None,
        record: Callable[[int, States], None] | None,
    ) -> Callable[[Part], bool]:
        """What takes a part with pairs, and tells whether there are enough now."""
        highest = highest_score(self.plan.rules)

        def take(part: Part) -> bool:
            before = sum(known.num for known in self.pairs)
            self.pairs.append(part)
            if sequential is not None:
                scores = join(self.pairs, PAIR_DTYPE).rows["difference"].mean(axis=0)
                for num in looks(before, before + part.num, total):
                    self.test = judge(scores[:num], *sequential, highest, total)
                    if self.test.verdict != "undecided":
                        self.pairs[-1] = part = part.head(num - before)
                        break
            if record is not None and part.states is not None:
                record(before, part.states)
            self.pairs[-1] = dataclasses.replace(part, states=None)
            if sequential is not None and part.out:
                return True
            return self.test is not None and self.test.verdict != "undecided"

        return take

    def take_games(self, part: Part) -> bool:
        """Take a part with games; there are never too many."""
        self.games.append(part)
        return False


def _summary(table: _Table, is_partial: bool, seconds: float) -> MatchResult:
    """All that was played, in numbers."""
    plan = table.plan
    pairs, games = join(table.pairs, PAIR_DTYPE), join(table.games, GAME_DTYPE)
    out = pairs.out | games.out
    pairs, games = (
        dataclasses.replace(part, rows=with_match_lost(part.rows, out, plan.rules))
        for part in (pairs, games)
    )
    lost = np.concatenate([pairs.rows["lost"].ravel(), games.rows["lost"].ravel()])
    differences = pairs.rows["difference"].astype(np.float64)
    is_dealer = pairs.rows["is_dealer"]
    scores = differences.mean(axis=0)
    overall = normal_interval(scores)
    bootstrap = bootstrap_interval(scores, plan.seed)
    values, frequencies = np.unique(scores, return_counts=True)
    # in a pair, each agent deals once: exactly one of the two rows is the dealer's
    dealt = np.where(is_dealer[0], differences[0], differences[1])
    spoke = np.where(is_dealer[0], differences[1], differences[0])
    counts = count_calls(pairs.rows["call"], is_dealer, pairs.rows["difference"])
    num_deals = 2 * pairs.num + int(games.rows["deals"].sum())
    decisions = int(pairs.rows["acts"].sum()) + int(games.rows["acts"].sum())
    return MatchResult(
        agents=(agent_name(plan.players[0]), agent_name(plan.players[1])),
        mean=overall.mean,
        low=overall.low,
        high=overall.high,
        bootstrap_low=bootstrap[0],
        bootstrap_high=bootstrap[1],
        sd=float(scores.std(ddof=1)) if pairs.num > 1 else math.nan,
        pairs=pairs.num,
        as_dealer=normal_interval(dealt),
        as_nondealer=normal_interval(spoke),
        by_seat=(normal_interval(differences[0]), normal_interval(differences[1])),
        thrown_in=share(counts[:, THROWN_IN, COUNT].sum(), 2 * pairs.num),
        rates=(
            AgentRates(dealer_rates(counts[1]), nondealer_rates(counts[0])),
            AgentRates(dealer_rates(counts[0]), nondealer_rates(counts[1])),
        ),
        games=games.num,
        game_share=share_interval(shares_of(games.rows)) if games.num else None,
        unfinished_games=int(((games.rows["winner"] == NOBODY) & (games.rows["lost"] == 0)).sum()),
        deals_per_game=share(games.rows["deals"].sum(), 2 * games.num),
        decisions=decisions,
        deals=plan.deals,
        deals_hash=deals_hash(plan.seed, plan.deals, pairs.num, plan.rules),
        seed=plan.seed,
        rules=plan.rules.changed(),
        score_counts={
            f"{value:g}": int(number) for value, number in zip(values, frequencies, strict=True)
        },
        sequential=table.test,
        partial=is_partial,
        forfeited=(int((lost & FIRST_LOST != 0).sum()), int((lost & SECOND_LOST != 0).sum())),
        # who is out is so in every part
        faults=tuple(dict.fromkeys(t for _, t in (*pairs.faults, *games.faults)))[:FAULTS_TOLD],
        seconds=seconds,
        deals_per_second=share(num_deals, seconds),
        decisions_per_second=share(decisions, pairs.seconds + games.seconds),
        pair_scores=scores,
    )
