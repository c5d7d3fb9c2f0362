"""Parts of a match: ranges of the deal list, played anywhere in any order, put together exactly.

A part holds whole numbers only (points, counts), so parts that were played one by one, in other
processes or on other machines add up to just what a single run gives.
"""

import functools
import itertools
import operator
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents import make_agent
from agents.base import Agent
from agents.evaluation.counts import FORFEITED, calls_of
from agents.evaluation.deals import DEAL_KEYS, GAME_KEYS, Deals, agent_keys, deal_words
from agents.evaluation.play import BOTH_LOST, FIRST_LOST, NOBODY_LOST, SECOND_LOST, Played, play
from agents.guests import TIME_LIMIT
from euchre_env.rules import Rules
from euchre_env.state import NOBODY, States

MAX_DEALS: Final = 10_000
"""A game not over after so many deals counts as half won (both may pass for ever)."""

FAULTS_TOLD: Final = 5
"""Faults of guests that are told, position and all; the others are counted."""

_tokens: Final = itertools.count()


@functools.lru_cache(maxsize=4)  # those of the match at hand; others' processes shall end
def _made(name: str, token: object, time_limit: float) -> Agent:
    """The agent of a name, made once a process and match."""
    return make_agent(name, time_limit=time_limit)


@dataclass(frozen=True)
class Plan:
    """What a match plays, but for how much of it: all that another process must be told."""

    agents: tuple[str | Agent, str | Agent]
    """The two, or their names. Names travel to other processes as names, agents by pickling."""
    seed: int
    deals: Deals
    rules: Rules
    salts: tuple[int, int] = (0, 0)
    """Mixed into the agents' random numbers, see `play`."""
    keep_states: bool = False
    """Whether parts bring the deals played with them, for records."""
    time_limit: float = TIME_LIMIT
    """Seconds that a guest may take for a batch."""
    max_deals: int = field(default_factory=lambda: MAX_DEALS)
    """Deals after which a game is broken off."""
    token: tuple[float, int] = field(default_factory=lambda: (time.time(), next(_tokens)))
    """Tells matches apart, so that no process plays with an agent it made for another match."""

    @functools.cached_property
    def players(self) -> tuple[Agent, Agent]:
        """The two agents, made in this process."""
        first, second = (
            _made(agent, self.token, self.time_limit) if isinstance(agent, str) else agent
            for agent in self.agents
        )
        return first, second

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: not the agents that this process has made.

        Raises:
            ValueError: an agent whose memory holds addresses, which mean nothing elsewhere.
        """
        for agent in self.agents:
            memory = getattr(agent, "memory", None)
            names = getattr(getattr(memory, "dtype", None), "names", None) or ()
            has_own = type(agent).__reduce__ is not object.__reduce__
            if any("address" in name for name in names) and not has_own:
                raise ValueError(
                    f"agent {agent!r} cannot go to another process, its memory holds addresses: "
                    "give it by name, define its __reduce__, or play with --backend serial"
                )
        return {name: value for name, value in vars(self).items() if name != "players"}


PAIR_DTYPE: Final = np.dtype(
    [
        ("difference", np.int8),  # the first agent's points minus the second's
        ("is_dealer", np.bool_),  # whether the first agent dealt
        ("call", np.int8),  # how trump was made, see counts.calls_of
        ("lost", np.int8),  # who lost by a fault of its own, see play.FIRST_LOST
        ("acts", np.int16),  # that agents chose
    ]
)
"""A deal played."""
GAME_DTYPE: Final = np.dtype(
    [
        ("winner", np.int8),  # 1: the first agent, 0: the second, NOBODY: broken off
        ("lost", np.int8),  # who lost by a fault of its own
        ("acts", np.int32),
        ("deals", np.int32),
    ]
)
"""A game played."""


@dataclass(frozen=True)
class Part:
    """Neighbouring mirrored deals, or games, played."""

    rows: npt.NDArray[Any]
    """Of `PAIR_DTYPE` or `GAME_DTYPE`, shape (2, n): the first agent in seat 0, then in seat 1."""
    seconds: float
    """Time it took, on one core."""
    states: States | None = None
    """The deals played, shape (2, n), where the plan keeps them."""
    faults: tuple[tuple[int, str], ...] = ()
    """The first faults of guests: the pair, counted from 0, and what happened."""
    out: int = NOBODY_LOST
    """Whose process died or was late."""

    @property
    def num(self) -> int:
        """Mirrored pairs."""
        return int(self.rows.shape[1])

    def head(self, num: int) -> "Part":
        """The first pairs of it."""
        states = None if self.states is None else self.states[:, :num]
        faults = tuple(fault for fault in self.faults if fault[0] < num)
        return Part(self.rows[:, :num], self.seconds * num / self.num, states, faults, self.out)


def join(parts: Sequence[Part], dtype: np.dtype[Any]) -> Part:
    """Neighbouring parts as one, without their states."""
    none = np.zeros((2, 0), dtype=dtype)
    rows = np.concatenate([none, *(part.rows for part in parts)], axis=1)
    starts = itertools.accumulate((part.num for part in parts), initial=0)
    faults = [
        (start + pair, text)
        for start, part in zip(starts, parts, strict=False)
        for pair, text in part.faults
    ]
    out = functools.reduce(operator.or_, (part.out for part in parts), NOBODY_LOST)
    return Part(rows, sum(part.seconds for part in parts), None, tuple(faults[:FAULTS_TOLD]), out)


def highest_score(rules: Rules) -> int:
    """The most points that a deal can score; what a fault in it costs. R17."""
    return 4 if rules.super_euchre else 2


def with_match_lost(rows: npt.NDArray[Any], out: int, rules: Rules) -> npt.NDArray[Any]:
    """Rows of a match that someone lost as a whole, `FIRST_LOST` and so on."""
    found = rows.copy()
    if out != NOBODY_LOST:
        found["lost"] = out
        _score_lost(found, rules)
    return found


def _score_lost(rows: npt.NDArray[Any], rules: Rules) -> None:
    """Score the rows that were lost by a fault, in place."""
    lost = rows["lost"]
    if "winner" in (rows.dtype.names or ()):
        known = [lost == FIRST_LOST, lost == SECOND_LOST, lost == BOTH_LOST]
        rows["winner"] = np.select(known, [0, 1, NOBODY], default=rows["winner"])
        return
    is_lost = lost != NOBODY_LOST
    gained = (lost >> 1).astype(np.int8) - (lost & 1)
    rows["difference"][is_lost] = highest_score(rules) * gained[is_lost]
    rows["call"][is_lost] = FORFEITED


def _first_faults(played: Played, num: int) -> tuple[tuple[int, str], ...]:
    """The first faults by their place in the list."""
    told = sorted((row % num, row, text) for row, text in played.faults.items())
    return tuple((pair, text) for pair, _, text in told[:FAULTS_TOLD])


def _played(plan: Plan, first: int, num: int, purpose: np.uint64, max_deals: int) -> Played:
    words = deal_words(plan.seed, plan.deals, first, num, purpose)
    keys = agent_keys(plan.seed, first, num, purpose)
    return play(plan.players, words, keys, plan.rules, max_deals, plan.salts)


def play_pairs(plan: Plan, first: int, num: int) -> Part:
    """Play pairs ``first .. first + num - 1`` of the plan's list.

    Raises:
        AgentError: an agent's answer is no legal act.
    """
    started = time.perf_counter()
    played = _played(plan, first, num, DEAL_KEYS, 1)
    seats, deals = np.repeat([0, 1], num), np.arange(2 * num)
    points = played.states["points"]
    rows = np.empty(2 * num, dtype=PAIR_DTYPE)
    rows["difference"] = points[deals, seats] - points[deals, 1 - seats]
    rows["is_dealer"] = played.states["dealer"] == seats
    rows["call"] = calls_of(played.states)
    rows["acts"] = played.acts
    rows["lost"] = played.lost
    _score_lost(rows, plan.rules)
    states = played.states.reshape(2, num) if plan.keep_states else None
    seconds = time.perf_counter() - started
    return Part(rows.reshape(2, num), seconds, states, _first_faults(played, num), played.out)


def play_games(plan: Plan, first: int, num: int) -> Part:
    """Play the mirrored games ``first .. first + num - 1`` of the plan's list.

    Raises:
        AgentError: an agent's answer is no legal act.
    """
    started = time.perf_counter()
    played = _played(plan, first, num, GAME_KEYS, plan.max_deals)
    winners = played.states["winner"]
    rows = np.empty(2 * num, dtype=GAME_DTYPE)
    rows["winner"] = np.where(winners == NOBODY, NOBODY, winners == np.repeat([0, 1], num))
    rows["acts"] = played.acts
    rows["deals"] = played.states["deal_number"]
    rows["lost"] = played.lost
    _score_lost(rows, plan.rules)
    seconds = time.perf_counter() - started
    return Part(rows.reshape(2, num), seconds, None, _first_faults(played, num), played.out)


def shares_of(games: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Share of each mirrored pair of games that the first agent won: 0, 1/4, ... 1; shape (n,).

    Args:
        games: of `GAME_DTYPE`, shape (2, n); a game broken off is half won.
    """
    won = np.where(games["winner"] == NOBODY, 0.5, games["winner"])
    shares: npt.NDArray[np.float64] = won.mean(axis=0)
    return shares
