"""Mirrored play: every deal (or game) of a list twice, the seats swapped.

Compiled agents play inside one kernel; any other agent is asked for all the rows that wait for
it at once. Either way the acts, and so the results, are the same. A fault of an agent of our own
is an error; a guest (`agents.guests`) loses by it: the deal or game at hand, or, when its process
dies or is late, all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from agents.base import Agent, AgentError
from agents.evaluation.deals import act_stream, dealt
from agents.guests import Guest, GuestOutError
from euchre_env.actions import NUM_ACTIONS, Phase, action_name
from euchre_env.actions import action_list as acts_in
from euchre_env.engine import (
    action_bits,
    action_masks,
    apply,
    find_illegal,
    legal_actions,
    next_deal,
)
from euchre_env.kernel import IS_COMPILED, call_policy, int64, kernel
from euchre_env.notation import format_position
from euchre_env.rules import Rules
from euchre_env.state import STATE_DTYPE, States
from euchre_env.views import blank, blank_into

_DEAL_OVER, _GAME_OVER = int(Phase.DEAL_OVER), int(Phase.GAME_OVER)
_FINISHED, _BROKEN = -1, -2

NOBODY_LOST, FIRST_LOST, SECOND_LOST = 0, 1, 2
BOTH_LOST: Final = FIRST_LOST | SECOND_LOST
"""Who lost a row by a fault of its own: as sets, so that both can."""


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
    acts: npt.NDArray[np.int64],
) -> int:
    """Play every row on until it is over or an agent that is not compiled must be asked.

    Args:
        states: shape (n,), changed in place.
        swaps: 0 where the first agent has seat 0, 1 where it has seat 1.
        keys: of each agent's random numbers, by row; shape (2, n).
        addresses: of each agent's compiled policy, 0 where it has none; shape (2,).
        memories: of what each agent's policy reads, 0 where it reads nothing; shape (2,).
        max_deals: deals after which a row is over.
        scratch: one row, where views are written, at ``scratch_address``.
        scratch_address: where that row lies in memory.
        asked: written: the agent to ask, `_FINISHED` or `_BROKEN`.
        acts: acts of each row so far, counted on.

    Returns:
        0; or, when a row is `_BROKEN`, the policy's act that is not legal there.
    """
    for i in range(states.shape[0]):
        if asked[i] == _FINISHED:
            continue
        state = states[i]
        while True:
            if state.phase >= _DEAL_OVER:
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
            stream = act_stream(state, keys[agent, i])
            action = call_policy(addresses[agent], scratch_address, bits, stream, memories[agent])
            if not (0 <= action < NUM_ACTIONS and bits >> action & 1):
                asked[i] = _BROKEN
                return int64(action)
            apply(state, action)
            acts[i] += 1
    return 0


@kernel
def _streams_of(
    states: States,
    rows: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
    rng: npt.NDArray[np.uint64],
) -> None:
    for k in range(rows.shape[0]):
        rng[k] = act_stream(states[rows[k]], keys[rows[k]])


@kernel
def _apply_rows(
    states: States, rows: npt.NDArray[np.int64], actions: npt.NDArray[np.int64]
) -> None:
    for k in range(rows.shape[0]):
        apply(states[rows[k]], actions[k])


def _ask(
    agent: Agent, states: States, rows: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]
) -> dict[int, str]:
    """Let an agent act in all the rows that wait for it; what a guest did wrong, by row."""
    waiting = states[rows]
    masks = np.empty((len(rows), NUM_ACTIONS), dtype=np.int8)
    action_masks(waiting, masks)
    rng = np.empty(len(rows), dtype=np.uint64)
    _streams_of(states, rows, keys, rng)
    views = blank(waiting, waiting["to_act"])
    if isinstance(agent, Guest):
        answer = agent.answer(views, masks, rng)
        good = answer.actions >= 0
        _apply_rows(states, rows[good], answer.actions[good])
        return {int(rows[k]): text for k, text in answer.faults.items()}
    actions = np.asarray(agent.act(views, masks, rng))
    if actions.shape != rows.shape or not np.issubdtype(actions.dtype, np.integer):
        raise AgentError(
            f"agent {agent_name(agent)!r} answered {actions.dtype} of shape {actions.shape} for "
            f"{len(rows)} views: whole numbers of shape ({len(rows)},) are expected; the first "
            f"position was {_seen(waiting[:1])}"
        )
    acts = np.ascontiguousarray(actions, dtype=np.int64)
    bad = int(find_illegal(waiting, acts))
    if bad >= 0:
        raise _illegal(agent, waiting[bad : bad + 1], int(acts[bad]))
    _apply_rows(states, rows, acts)
    return {}


def _seen(states: States) -> str:
    """The position of one row, shape (1,), as the agent saw it."""
    return repr(format_position(blank(states, states["to_act"])[0]))


def _illegal(agent: Agent, states: States, action: int) -> AgentError:
    legal = ", ".join(action_name(act) for act in acts_in(int(action_bits(states)[0])))
    said = action_name(action) if 0 <= action < NUM_ACTIONS else "no act at all"
    return AgentError(
        f"agent {agent_name(agent)!r} answered {action} ({said}), legal are {legal}: at the "
        f"position {_seen(states)}"
    )


@dataclass(frozen=True)
class Played:
    """Mirrored rows after play: the first half with the first agent in seat 0, then the swap."""

    states: States
    """Shape (2n,), each over."""
    acts: npt.NDArray[np.int64]
    """Acts that agents chose, shape (2n,)."""
    lost: npt.NDArray[np.int8]
    """Who lost by a fault of its own, shape (2n,): `NOBODY_LOST`, `FIRST_LOST` ... Such rows stand
    where they were broken off."""
    faults: dict[int, str]
    """What was wrong, by row; in order."""
    out: int = NOBODY_LOST
    """Whose process died or was late: it lost every row, of this part and of the whole match."""


def _fused(players: tuple[Agent, Agent]) -> Callable[..., int]:
    """`_play_on` with the compiled policies of the two, where they have any."""
    addresses = np.array([_address(player) for player in players], dtype=np.int64)
    memories = np.array(
        [int(getattr(player, "memory_address", 0)) for player in players], dtype=np.int64
    )
    scratch: States = np.empty(1, dtype=STATE_DTYPE)

    def play_on(
        states: States,
        swaps: npt.NDArray[np.int64],
        keys: npt.NDArray[np.uint64],
        max_deals: int,
        asked: npt.NDArray[np.int64],
        acts: npt.NDArray[np.int64],
    ) -> int:
        bad: int = _play_on(
            states, swaps, keys, addresses, memories, max_deals,
            scratch, scratch.ctypes.data, asked, acts,
        )  # fmt: skip
        return bad

    return play_on


def warm_up(players: tuple[Agent, Agent]) -> None:
    """Load what is compiled, so that the clock sees play alone; asks no agent anything."""
    none: States = np.zeros(0, dtype=STATE_DTYPE)
    swaps, keys = np.zeros(0, dtype=np.int64), np.zeros((2, 0), dtype=np.uint64)
    _fused(players)(none, swaps, keys, 1, swaps.copy(), swaps.copy())
    dealt(np.zeros(1, dtype=np.uint64), Rules())


def play(
    players: tuple[Agent, Agent],
    words: npt.NDArray[np.uint64],
    keys: npt.NDArray[np.uint64],
    rules: Rules,
    max_deals: int,
    salts: tuple[int, int] = (0, 0),
) -> Played:
    """Play every word's deal (or game) twice, the seats swapped.

    Args:
        players: the first agent and the second.
        words: seeds of the deals, shape (n,), from `deals.deal_words`.
        keys: of the agents' random numbers, shape (n,), from `deals.agent_keys`.
        rules: what is played.
        max_deals: 1 for single deals; a game is broken off after so many.
        salts: mixed into the keys of each agent. Equal ones: in the mirrored deal an agent that
            plays at random draws just what the other drew from that seat.

    Raises:
        AgentError: an answer is no legal act, and its agent no guest.
    """
    num = len(words)
    states = dealt(np.concatenate([words, words]), rules)
    swaps = np.repeat(np.array([0, 1], dtype=np.int64), num)
    keys_of = np.tile(keys, (2, 2)) ^ np.array(salts, dtype=np.uint64)[:, None]
    asked = np.zeros(2 * num, dtype=np.int64)
    acts = np.zeros(2 * num, dtype=np.int64)
    lost = np.zeros(2 * num, dtype=np.int8)
    faults: dict[int, str] = {}
    play_on = _fused(players)
    while True:
        bad = play_on(states, swaps, keys_of, max_deals, asked, acts)
        broken = np.flatnonzero(asked == _BROKEN)
        if len(broken):
            row = int(broken[0])
            agent = players[int(states[row].to_act) ^ int(swaps[row])]
            raise _illegal(agent, states[row : row + 1], bad)
        waiting = [np.flatnonzero(asked == number) for number in (0, 1)]
        if not any(map(len, waiting)):
            return Played(states, acts, lost, dict(sorted(faults.items())))
        for number, (player, rows) in enumerate(zip(players, waiting, strict=True)):
            if not len(rows):
                continue
            try:
                wrong = _ask(player, states, rows, keys_of[number])
            except GuestOutError as problem:
                out = _outs(players, number)
                told = {0: str(problem)}
                return Played(states, acts, np.full(2 * num, out, dtype=np.int8), told, out)
            acts[rows] += 1
            for row, text in wrong.items():
                asked[row], lost[row] = _FINISHED, FIRST_LOST << number
                faults[row] = text


def _outs(players: tuple[Agent, Agent], number: int) -> int:
    """Who is out with one of the two: both, where it plays against itself."""
    names = [agent_name(player) for player in players]
    return BOTH_LOST if names[0] == names[1] else FIRST_LOST << number


def agent_name(agent: Agent) -> str:
    """What tables call an agent; its class where it has no name."""
    return str(getattr(agent, "name", type(agent).__name__))


def _address(agent: Agent) -> int:
    return int(getattr(agent, "policy_address", 0)) if IS_COMPILED else 0
