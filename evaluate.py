"""Agents head to head: points per deal with its error, games won, bids and makes by role.

    python evaluate.py novice random
    python evaluate.py runs/2026-11-30-first novice --pairs 40000 --deals heldout --json out.json

One *pair* is one deal at 0-0 played twice with the seats swapped; its score is the mean of both,
in points won minus points lost. So luck in the cards cancels, and the interval (normal over
pairs, the bootstrap beside it) is far narrower than that of separate deals. Deals and the agents'
own random numbers follow from the seed alone: the same seed gives the same result bit for bit,
whatever the batch size, and an agent against itself scores exactly 0. ``docs/evaluation.md``.
"""

import itertools
import json
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from agents import Agent, make_agent
from euchre_env.actions import ACCEPT, NAME, NUM_ACTIONS, ORDER_UP, PASS, Phase, action_name
from euchre_env.actions import action_list as acts_in
from euchre_env.dealing import AGENTS, mix, seed_streams, seed_word, substream
from euchre_env.engine import (
    action_bits,
    action_masks,
    apply,
    find_illegal,
    legal_actions,
    next_deal,
    start_games,
)
from euchre_env.kernel import IS_COMPILED, call_policy, kernel
from euchre_env.notation import format_position
from euchre_env.rules import OPTION_VALUES, Rules
from euchre_env.state import NOBODY, STATE_DTYPE, States, new_states
from euchre_env.views import blank, blank_into

Deals = Literal["dev", "heldout"]
"""Which list of deals: one to develop against, one to make claims on; they share no deal."""

Z_95: Final = 1.959963984540054
"""Half width of a 95% interval in standard errors."""
NUM_RESAMPLES: Final = 2_000
"""Bootstrap samples of the pairs."""
MAX_DEALS: Final = 10_000
"""A game not over after so many deals counts as half won (both may pass for ever)."""

_DEAL_OVER, _GAME_OVER = int(Phase.DEAL_OVER), int(Phase.GAME_OVER)
_FINISHED, _BROKEN = -1, -2
_DEAL_KEYS, _GAME_KEYS, _BOOTSTRAP = (np.uint64(purpose) for purpose in range(0x101, 0x104))
_TOP: Final = np.uint64(1 << 63)


# --- what comes out -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95% interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class RoleRates:
    """What an agent did in one role, dealer or nondealer; each rate is a share, 0 to 1.

    A rate that nothing could be counted for is NaN (null in JSON).
    """

    deals: int
    """Deals in this role."""
    order_up: float
    """Nondealer: ordered up, of the times it could."""
    accept: float
    """Dealer: accepted, of the times it could."""
    name: float
    """Named a suit in round two, of the times it could."""
    name_blind: float
    """Dealer: the joker made it name a suit, of all deals. R13."""
    maker: float
    """Was maker, of all deals."""
    made: float
    """Took three tricks or more, of the deals it was maker."""
    march: float
    """Took all five, of the deals it was maker."""
    euchred: float
    """Took fewer than three, of the deals it was maker."""


@dataclass(frozen=True)
class AgentRates:
    """What an agent did, by role."""

    as_dealer: RoleRates
    as_nondealer: RoleRates


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


class AgentError(RuntimeError):
    """An agent's answer cannot be used; the message names the agent and the position."""


# --- deals and keys: all that follows from the seed ---------------------------------------------


@kernel
def _words(base: np.uint64, purpose: np.uint64, first: int, words: npt.NDArray[np.uint64]) -> None:
    for i in range(words.shape[0]):
        words[i] = substream(base, purpose, first + i)


def deal_words(
    seed: int, deals: Deals, first: int, num: int, purpose: np.uint64 = _DEAL_KEYS
) -> npt.NDArray[np.uint64]:
    """Seeds of a list's deals ``first .. first + num - 1``, for ``dealing.seed_streams``.

    The top bit is set and the next one tells the list, so the two lists share no seed with one
    another, nor with environments seeded below 2**63.

    Returns:
        uint64, shape ``(num,)``.

    Raises:
        ValueError: a seed that is no whole number from 0 up, or no such list.
    """
    if deals not in get_args(Deals):
        raise ValueError(f"deals={deals!r}: it is one of {', '.join(map(repr, get_args(Deals)))}")
    words = np.empty(num, dtype=np.uint64)
    _words(seed_word(seed), purpose, first, words)
    is_heldout = np.uint64(deals == "heldout")
    return _TOP | (is_heldout << np.uint64(62)) | (words >> np.uint64(2))


def agent_keys(
    seed: int, first: int, num: int, purpose: np.uint64 = _DEAL_KEYS
) -> npt.NDArray[np.uint64]:
    """Keys of the agents' own random numbers in deals ``first .. first + num - 1``."""
    words = np.empty(num, dtype=np.uint64)
    _words(np.uint64(mix(seed_word(seed) ^ _TOP)), purpose, first, words)
    return words


@kernel
def _act_stream(state: np.record, key: np.uint64) -> np.uint64:
    """The stream of one act: of its deal (or game), its seat and its place there, nothing else."""
    place = (np.int64(state.deal_number) * 16 + state.num_actions) * 2 + state.to_act
    return substream(key, AGENTS, place)


# --- play ---------------------------------------------------------------------------------------


@kernel
def _play_on(
    states: States,
    swaps: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
    addresses: npt.NDArray[np.int64],
    memories: npt.NDArray[np.int64],
    max_deals: int,
    scratch: States,
    scratch_address: int,
    asked: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
) -> None:
    """Play every row on until it is over or an agent that is not compiled must be asked.

    Args:
        states: shape (n,), changed in place.
        swaps: 0 where the first agent has seat 0, 1 where it has seat 1.
        keys: of the agents' random numbers, by row.
        addresses: of each agent's compiled policy, 0 where it has none; shape (2,).
        memories: of what each agent's policy reads, 0 where it reads nothing; shape (2,).
        max_deals: deals after which a row is over.
        scratch: one row, where views are written, at ``scratch_address``.
        scratch_address: where that row lies in memory.
        asked: written: the agent to ask, `_FINISHED` or `_BROKEN`.
        counts: acts and deals played, added up; where a policy answered badly, its act at [2].
    """
    for i in range(states.shape[0]):
        if asked[i] == _FINISHED:
            continue
        state = states[i]
        while True:
            if state.phase >= _DEAL_OVER:
                counts[1] += 1
                if state.phase == _GAME_OVER or state.deal_number >= max_deals:
                    asked[i] = _FINISHED
                    break
                next_deal(state)
            agent = np.int64(state.to_act) ^ swaps[i]
            if addresses[agent] == 0:
                asked[i] = agent
                break
            blank_into(state, state.to_act, scratch[0])
            bits = legal_actions(state)
            stream = _act_stream(state, keys[i])
            action = call_policy(addresses[agent], scratch_address, bits, stream, memories[agent])
            if not (0 <= action < NUM_ACTIONS and bits >> action & 1):
                asked[i] = _BROKEN
                counts[2] = action
                return
            apply(state, action)
            counts[0] += 1


@kernel
def _streams_of(
    states: States,
    rows: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
    rng: npt.NDArray[np.uint64],
) -> None:
    for k in range(rows.shape[0]):
        rng[k] = _act_stream(states[rows[k]], keys[rows[k]])


@kernel
def _apply_rows(
    states: States, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]
) -> None:
    for k in range(rows.shape[0]):
        apply(states[rows[k]], actions[k])


def _ask(
    agent: Agent, states: States, rows: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]
) -> None:
    """Let an agent act in all the rows that wait for it."""
    waiting = states[rows]
    masks = np.empty((len(rows), NUM_ACTIONS), dtype=np.int8)
    action_masks(waiting, masks)
    rng = np.empty(len(rows), dtype=np.uint64)
    _streams_of(states, rows, keys, rng)
    answer = agent.act(blank(waiting, waiting["to_act"]), masks, rng)
    actions = np.asarray(answer)
    if actions.shape != rows.shape or not np.issubdtype(actions.dtype, np.integer):
        raise AgentError(
            f"agent {_name(agent)!r} answered {actions.dtype} of shape {actions.shape} for "
            f"{len(rows)} views: whole numbers of shape ({len(rows)},) are expected; the first "
            f"position was {_seen(waiting[:1])}"
        )
    acts = np.ascontiguousarray(actions, dtype=np.int64)
    bad = int(find_illegal(waiting, acts))
    if bad >= 0:
        raise _illegal(agent, waiting[bad : bad + 1], int(acts[bad]))
    _apply_rows(states, rows, acts)


def _seen(states: States) -> str:
    """The position of one row, shape (1,), as the agent saw it."""
    return repr(format_position(blank(states, states["to_act"])[0]))


def _illegal(agent: Agent, states: States, action: int) -> AgentError:
    legal = ", ".join(action_name(act) for act in acts_in(int(action_bits(states)[0])))
    said = action_name(action) if 0 <= action < NUM_ACTIONS else "no act at all"
    return AgentError(
        f"agent {_name(agent)!r} answered {action} ({said}), legal are {legal}: at the position "
        f"{_seen(states)}"
    )


@dataclass(frozen=True)
class _Played:
    """Mirrored rows after play: the first half with the first agent in seat 0, then the swap."""

    states: States
    acts: int
    deals: int


def _play(
    players: tuple[Agent, Agent],
    words: npt.NDArray[np.uint64],
    keys: npt.NDArray[np.uint64],
    rules: Rules,
    max_deals: int,
) -> _Played:
    """Play every word's deal (or game) twice, the seats swapped."""
    num = len(words)
    states = new_states(2 * num, rules)
    seed_streams(states, np.concatenate([words, words]))
    start_games(states)
    swaps = np.repeat(np.array([0, 1], dtype=np.int64), num)
    both_keys = np.concatenate([keys, keys])
    addresses = np.array([_address(player) for player in players], dtype=np.int64)
    memories = np.array(
        [int(getattr(player, "memory_address", 0)) for player in players], dtype=np.int64
    )
    scratch: States = np.empty(1, dtype=STATE_DTYPE)
    asked = np.zeros(2 * num, dtype=np.int64)
    counts = np.zeros(3, dtype=np.int64)
    while True:
        _play_on(
            states, swaps, both_keys, addresses, memories, max_deals,
            scratch, scratch.ctypes.data, asked, counts,
        )  # fmt: skip
        broken = np.flatnonzero(asked == _BROKEN)
        if len(broken):
            row = int(broken[0])
            agent = players[int(states[row].to_act) ^ int(swaps[row])]
            raise _illegal(agent, states[row : row + 1], int(counts[2]))
        waiting = [np.flatnonzero(asked == number) for number in (0, 1)]
        if not any(map(len, waiting)):
            return _Played(states, int(counts[0]), int(counts[1]))
        for player, rows in zip(players, waiting, strict=True):
            if len(rows):
                _ask(player, states, rows, both_keys)
                counts[0] += len(rows)


def _name(agent: Agent) -> str:
    return str(getattr(agent, "name", type(agent).__name__))


def _address(agent: Agent) -> int:
    return int(getattr(agent, "policy_address", 0)) if IS_COMPILED else 0


# --- what is counted ----------------------------------------------------------------------------

_ORDERED, _ACCEPTED, _NAMED_FIRST, _NAMED_SECOND, _NAMED_BLIND, _THROWN_IN = range(6)
_COUNT, _MADE, _MARCH, _EUCHRED = range(4)


def _calls(states: States) -> npt.NDArray[np.int64]:
    """How trump was made in each deal that is over: shape (n,), `_ORDERED` and so on."""
    history = states["history"]
    first, second, third, fourth = (history[:, place] for place in range(4))
    is_name = [(NAME <= acts) & (acts < PASS) for acts in (first, third, fourth)]
    return np.select(
        [
            first == ORDER_UP,
            is_name[0],
            second == ACCEPT,
            is_name[1],
            is_name[2],
        ],
        [_ORDERED, _NAMED_BLIND, _ACCEPTED, _NAMED_FIRST, _NAMED_SECOND],
        default=_THROWN_IN,
    )


def _count(states: States, is_dealer: npt.NDArray[np.bool_], counts: npt.NDArray[np.int64]) -> None:
    """Add deals to ``counts[is the first agent dealer, call, count | made | march | euchred]``."""
    calls = _calls(states)
    makers = np.maximum(states["maker"], 0).astype(np.int64)
    rows = np.arange(len(states))
    maker_points = states["points"][rows, makers]
    has_maker = states["maker"] != NOBODY
    where = (is_dealer.astype(np.int64), calls)
    np.add.at(counts[:, :, _COUNT], where, 1)
    np.add.at(counts[:, :, _MADE], where, has_maker & (maker_points > 0))
    np.add.at(counts[:, :, _MARCH], where, has_maker & (maker_points > 1))
    np.add.at(counts[:, :, _EUCHRED], where, has_maker & (maker_points == 0))


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan


def _dealer_rates(counts: npt.NDArray[np.int64]) -> RoleRates:
    """Rates of the dealer, from counts of shape (6, 4)."""
    num = counts[:, _COUNT]
    made = counts[[_ACCEPTED, _NAMED_SECOND, _NAMED_BLIND]].sum(axis=0)
    could_accept = num.sum() - num[_NAMED_BLIND] - num[_ORDERED]
    could_name = num[_NAMED_SECOND] + num[_THROWN_IN]
    return RoleRates(
        deals=int(num.sum()),
        order_up=math.nan,
        accept=_share(num[_ACCEPTED], could_accept),
        name=_share(num[_NAMED_SECOND], could_name),
        name_blind=_share(num[_NAMED_BLIND], num.sum()),
        **_maker_rates(made, int(num.sum())),
    )


def _nondealer_rates(counts: npt.NDArray[np.int64]) -> RoleRates:
    """Rates of the nondealer, from counts of shape (6, 4)."""
    num = counts[:, _COUNT]
    made = counts[[_ORDERED, _NAMED_FIRST]].sum(axis=0)
    could_name = num[_NAMED_FIRST] + num[_NAMED_SECOND] + num[_THROWN_IN]
    return RoleRates(
        deals=int(num.sum()),
        order_up=_share(num[_ORDERED], num.sum() - num[_NAMED_BLIND]),
        accept=math.nan,
        name=_share(num[_NAMED_FIRST], could_name),
        name_blind=math.nan,
        **_maker_rates(made, int(num.sum())),
    )


def _maker_rates(made: npt.NDArray[np.int64], deals: int) -> dict[str, float]:
    return {
        "maker": _share(made[_COUNT], deals),
        "made": _share(made[_MADE], made[_COUNT]),
        "march": _share(made[_MARCH], made[_COUNT]),
        "euchred": _share(made[_EUCHRED], made[_COUNT]),
    }


# --- intervals ----------------------------------------------------------------------------------


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
    rng = np.random.default_rng(int(substream(seed_word(seed), _BOOTSTRAP, 0)))
    drawn = rng.multinomial(len(scores), counts / len(scores), size=NUM_RESAMPLES)
    low, high = np.quantile(drawn @ values / len(scores), [0.025, 0.975])
    return float(low), float(high)


def share_interval(shares: npt.NDArray[np.float64]) -> Estimate:
    """Mean of shares (0, 1/2 or 1 a mirrored pair) with a Wilson 95% interval.

    Wilson's interval for as many independent games as would have the pairs' error, so mirroring
    counts, and the ends stay inside 0 and 1. Where all was won, or lost, a pair counts as one game.
    """
    num, mean = len(shares), float(shares.mean())
    spread = float(shares.var(ddof=1)) if num > 1 else 0.0
    if mean in (0.0, 1.0):
        games = float(num)
    elif spread == 0:  # every pair was split: nothing is left to chance
        return Estimate(mean, mean, mean)
    else:
        games = mean * (1 - mean) / (spread / num)
    scale = 1 + Z_95**2 / games
    centre = (mean + Z_95**2 / (2 * games)) / scale
    half = Z_95 * math.sqrt(mean * (1 - mean) / games + Z_95**2 / (4 * games**2)) / scale
    return Estimate(mean, max(0.0, centre - half), min(1.0, centre + half))


# --- a match ------------------------------------------------------------------------------------


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
        played = _play(players, words, agent_keys(seed, first, num), rules, 1)
        chunk = slice(first, first + num)
        seats = np.repeat([0, 1], num)
        points = played.states["points"].astype(np.float64)
        rows = np.arange(2 * num)
        differences[:, chunk] = (points[rows, seats] - points[rows, 1 - seats]).reshape(2, num)
        is_dealer[:, chunk] = (played.states["dealer"] == seats).reshape(2, num)
        _count(played.states, is_dealer[:, chunk].ravel(), counts)
        num_acts, num_deals = num_acts + played.acts, num_deals + played.deals
        if progress:
            progress(num)

    shares = np.empty(games)
    unfinished = game_deals = 0
    for first in range(0, games, batch):
        num = min(batch, games - first)
        words = deal_words(seed, deals, first, num, _GAME_KEYS)
        keys = agent_keys(seed, first, num, _GAME_KEYS)
        played = _play(players, words, keys, rules, MAX_DEALS)
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
        agents=(_name(players[0]), _name(players[1])),
        mean=overall.mean,
        low=overall.low,
        high=overall.high,
        bootstrap_low=bootstrap[0],
        bootstrap_high=bootstrap[1],
        sd=float(scores.std(ddof=1)) if pairs > 1 else math.nan,
        pairs=pairs,
        as_dealer=normal_interval(dealt),
        as_nondealer=normal_interval(spoke),
        thrown_in=_share(counts[:, _THROWN_IN, _COUNT].sum(), 2 * pairs),
        rates=(
            AgentRates(_dealer_rates(counts[1]), _nondealer_rates(counts[0])),
            AgentRates(_dealer_rates(counts[0]), _nondealer_rates(counts[1])),
        ),
        games=games,
        game_share=share_interval(shares) if games else None,
        unfinished_games=unfinished,
        deals_per_game=_share(game_deals, 2 * games),
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


# --- the command line ---------------------------------------------------------------------------

PRESETS: Final[dict[str, Callable[[], Rules]]] = {
    "default": Rules,
    "british": Rules.british,
    "32": Rules.with_32_cards,
    "railroad": Rules.railroad_pack,
    "stick": Rules.stick,
}
"""Rules that have a name."""


def parse_rules(text: str) -> Rules:
    """Rules from a text: presets and ``option=value``, separated by commas; later ones win.

    >>> parse_rules("32,target_score=5")
    Rules(lowest_rank='7', target_score=5)

    Raises:
        ValueError: an unknown preset, option or value, or a combination that means nothing.
    """
    options: dict[str, Any] = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals:
            if name not in PRESETS:
                raise ValueError(
                    f"rules {text!r}: {name!r} is no preset: there are {', '.join(PRESETS)}, "
                    "and option=value"
                )
            options.update(PRESETS[name]().changed())
        elif name == "target_score":
            if not value.isdecimal():
                raise ValueError(f"rules {text!r}: target_score={value!r} is no whole number")
            options[name] = int(value)
        elif name in OPTION_VALUES:
            known = {str(allowed).lower(): allowed for allowed in OPTION_VALUES[name]}
            if value.lower() not in known:
                raise ValueError(
                    f"rules {text!r}: {name}={value!r}: it is one of {', '.join(known)}"
                )
            options[name] = known[value.lower()]
        else:
            raise ValueError(
                f"rules {text!r}: there is no option {name!r}: there are target_score, "
                f"{', '.join(OPTION_VALUES)}"
            )
    return Rules(**options)


@dataclass(frozen=True)
class Args:
    """Play agents head to head on mirrored deals; more than two: everyone against everyone."""

    agents: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="AGENT ...")]
    """two or more: names (random, novice, ...) or folders that train.py has written"""
    pairs: int = 10_000
    """mirrored pairs of deals; fix the number before you look at results"""
    games: int = 1_000
    """mirrored pairs of whole games to the target score; 0: none"""
    seed: int = 0
    """the deals and the agents' random numbers follow from it"""
    deals: Deals = "dev"
    """list of deals: dev to work with, heldout for claims"""
    rules: str = "default"
    """presets (default, british, 32, railroad, stick) and option=value, separated by commas"""
    batch: int = 4_096
    """pairs played at once; changes memory and speed, never a result"""
    json: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """write every number to this file"""


def _interval(estimate: Estimate, form: str = "+.3f") -> str:
    return f"{estimate.mean:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}%"


def result_table(result: MatchResult) -> Table:
    """A match as a table for the terminal."""
    first, second = result.agents
    table = Table(
        title=f"{first} against {second}",
        title_justify="left",
        show_header=False,
        box=SIMPLE_HEAD,
        padding=0,
    )
    table.add_column(style="bold")
    table.add_column()
    overall = Estimate(result.mean, result.low, result.high)
    table.add_row("points per deal", f"{_interval(overall)} (95%)")
    table.add_row("  bootstrap", f"[{result.bootstrap_low:+.3f}, {result.bootstrap_high:+.3f}]")
    table.add_row("  as dealer", _interval(result.as_dealer))
    table.add_row("  as nondealer", _interval(result.as_nondealer))
    if result.game_share is not None:
        share = result.game_share
        interval = f"[{_percent(share.low)}, {_percent(share.high)}] (95%)"
        note = f", {result.unfinished_games} unfinished" if result.unfinished_games else ""
        table.add_row("games won", f"{_percent(share.mean)} {interval}")
        table.add_row("  of", f"{2 * result.games:,}, {result.deals_per_game:.1f} deals each{note}")
    table.add_row("pairs", f"{result.pairs:,}, sd of a pair {result.sd:.3f}")
    table.add_row("deals thrown in", _percent(result.thrown_in))
    table.add_row("deals", f"{result.deals}, seed {result.seed}, {_rules_text(result.rules)}")
    table.add_row("speed", f"{result.deals_per_second:,.0f} deals per second")
    return table


def _rules_text(rules: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in rules.items()) or "24 cards"


def rates_table(result: MatchResult) -> Table:
    """Bids and makes of both agents, by role, as a table for the terminal.

    Round 1 is the nondealer's order_up and the dealer's accept, round 2 the naming of a suit; the
    dealer's naming blind has a column where it happened.
    """
    rows = [
        (name, role, rates)
        for name, both in zip(result.agents, result.rates, strict=True)
        for role, rates in (("dealer", both.as_dealer), ("nondealer", both.as_nondealer))
    ]
    has_blind = any(rates.name_blind > 0 for _, _, rates in rows)
    headings = ["agent", "role", "round 1", "round 2", "maker", "made", "march", "euchred"]
    table = Table(
        *headings,
        *(["blind"] if has_blind else []),
        title="bids and makes",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
    )
    for name, role, rates in rows:
        first = rates.accept if role == "dealer" else rates.order_up
        shares = [first, rates.name, rates.maker, rates.made, rates.march, rates.euchred]
        shares += [rates.name_blind] if has_blind else []
        table.add_row(name, role, *map(_percent, shares))
    return table


def matrix_table(names: Sequence[str], results: Sequence[MatchResult]) -> Table:
    """Everyone against everyone: points per deal of the row's agent against the column's."""
    table = Table(
        "",
        *names,
        title="points per deal, row against column",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
    )
    cells = [["-" if i == k else "" for k in range(len(names))] for i in range(len(names))]
    for (i, k), result in zip(itertools.combinations(range(len(names)), 2), results, strict=True):
        half = (result.high - result.low) / 2
        cells[i][k], cells[k][i] = (f"{s * result.mean + 0.0:+.3f} ± {half:.3f}" for s in (1, -1))
    for name, row in zip(names, cells, strict=True):
        table.add_row(name, *row)
    return table


def run(args: Args, console: Console) -> list[MatchResult]:
    """Play all the matches that the arguments ask for, and print them.

    Raises:
        ValueError: arguments that mean nothing; nothing was played then.
        OSError: the JSON file, or an agent's, cannot be opened.
        AgentError: an agent's answer is no legal act.
    """
    if len(args.agents) < 2:
        raise ValueError("name at least two agents, like: evaluate.py novice random")
    rules = parse_rules(args.rules)
    players = [make_agent(name) for name in args.agents]
    if args.json is not None and not args.json.parent.is_dir():
        raise ValueError(f"--json {args.json}: there is no folder {args.json.parent}")
    meetings = list(itertools.combinations(players, 2))
    results = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,} pairs"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("playing", total=len(meetings) * (args.pairs + args.games))
        for first, second in meetings:
            bar.update(task, description=f"{_name(first)} - {_name(second)}")
            result = match(
                first,
                second,
                pairs=args.pairs,
                games=args.games,
                seed=args.seed,
                deals=args.deals,
                rules=rules,
                batch=args.batch,
                progress=lambda num: bar.advance(task, num),
            )
            results.append(result)
    for result in results:
        console.print(result_table(result))
        console.print(rates_table(result))
    if len(players) > 2:
        console.print(matrix_table([_name(player) for player in players], results))
    if args.json is not None:
        text = json.dumps([result.to_json() for result in results], indent=2, allow_nan=False)
        args.json.write_text(text + "\n", encoding="utf-8")
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code, 2 for what cannot be played."""
    args = tyro.cli(Args, description=__doc__, args=arguments)
    try:
        run(args, Console())
    except (ValueError, OSError, ImportError, AgentError) as problem:
        print(f"evaluate.py: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("evaluate.py: stopped; no result", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    # under its own name, so that a script and whoever imports it share one cache of kernels
    import evaluate

    sys.exit(evaluate.main())
