"""Mirrored play: every deal (or game) of a list twice, the seats swapped.

Compiled agents play inside one kernel; any other agent is asked for all the rows that wait for
it at once. Either way the acts, and so the results, are the same.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents.base import Agent
from agents.evaluation.deals import act_stream
from euchre_env.actions import NUM_ACTIONS, Phase, action_name
from euchre_env.actions import action_list as acts_in
from euchre_env.dealing import seed_streams
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
from euchre_env.rules import Rules
from euchre_env.state import STATE_DTYPE, States, new_states
from euchre_env.views import blank, blank_into

_DEAL_OVER, _GAME_OVER = int(Phase.DEAL_OVER), int(Phase.GAME_OVER)
_FINISHED, _BROKEN = -1, -2


class AgentError(RuntimeError):
    """An agent's answer cannot be used; the message names the agent and the position."""


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
            stream = act_stream(state, keys[i])
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
        rng[k] = act_stream(states[rows[k]], keys[rows[k]])


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
            f"agent {agent_name(agent)!r} answered {actions.dtype} of shape {actions.shape} for "
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
        f"agent {agent_name(agent)!r} answered {action} ({said}), legal are {legal}: at the "
        f"position {_seen(states)}"
    )


@dataclass(frozen=True)
class Played:
    """Mirrored rows after play: the first half with the first agent in seat 0, then the swap."""

    states: States
    """Shape (2n,), each over."""
    acts: int
    """Acts that agents chose."""
    deals: int
    """Deals played."""


def play(
    players: tuple[Agent, Agent],
    words: npt.NDArray[np.uint64],
    keys: npt.NDArray[np.uint64],
    rules: Rules,
    max_deals: int,
) -> Played:
    """Play every word's deal (or game) twice, the seats swapped.

    Args:
        players: the first agent and the second.
        words: seeds of the deals, shape (n,), from `deals.deal_words`.
        keys: of the agents' random numbers, shape (n,), from `deals.agent_keys`.
        rules: what is played.
        max_deals: 1 for single deals; a game is broken off after so many.

    Raises:
        AgentError: an answer is no legal act.
    """
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
            return Played(states, int(counts[0]), int(counts[1]))
        for player, rows in zip(players, waiting, strict=True):
            if len(rows):
                _ask(player, states, rows, both_keys)
                counts[0] += len(rows)


def agent_name(agent: Agent) -> str:
    """What tables call an agent; its class where it has no name."""
    return str(getattr(agent, "name", type(agent).__name__))


def _address(agent: Agent) -> int:
    return int(getattr(agent, "policy_address", 0)) if IS_COMPILED else 0
