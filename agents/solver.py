"""Best play with all hands open: what a position and each legal act in it are worth.

`solve` takes full states at any act of a deal and plays bids, take or leave, the discard and the
cards as two players would who see everything. Both want points; among acts of equal points they
want tricks. A deal thrown in is worth 0 (R11). Once the cards are played points rise with the
maker's tricks (R17), so the best in tricks is the best in points, and positions at the start of a
trick are looked up in the open-hand table (`agents.open_hands`), which covers every deck; above
them stands a plain alpha-beta search. `alpha_beta` is that search without the table: slow, and
the test of the other.

No agent may be built on this: it sees all cards. Search agents ask about deals that they drew.
"""

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.open_hands import fold, open_hands, open_hands_at, own_tricks
from euchre_env.actions import NUM_ACTIONS, Phase
from euchre_env.cards import HAND_SIZE
from euchre_env.engine import apply, legal_actions
from euchre_env.kernel import copy_row, int64, kernel, lowest, popcount
from euchre_env.rules import MAKER_POINTS
from euchre_env.state import MAX_ACTIONS, NOBODY, STATE_DTYPE, States

NO_VALUE: Final = -128
"""In a `Solution`: the act is not legal."""

_PLAY, _DEAL_OVER = int(Phase.PLAY), int(Phase.DEAL_OVER)
_POINT: Final = 16
"""A point in the values searched: more than all that tricks can add."""
_TOP: Final = 1 << 20


class Solution(NamedTuple):
    """What positions are worth to the seat to act when all hands are open."""

    tricks: npt.NDArray[np.int8]
    """(n,): tricks that seat takes in the deal, those it has already included; 0 when the deal is
    thrown in."""
    points: npt.NDArray[np.int8]
    """(n,): its points less the other's: -4 to 4."""
    act_tricks: npt.NDArray[np.int8]
    """(n, 42): the same after each legal act, `NO_VALUE` where it is not legal."""
    act_points: npt.NDArray[np.int8]
    """(n, 42): likewise."""


@kernel
def _worth(state: np.record, tricks: int) -> int:
    """The value of a deal to seat 0: points first, then tricks.

    Args:
        state: trump is made.
        tricks: those that seat 0 takes of the five.
    """
    maker = state.maker
    makers = HAND_SIZE - tricks if maker else tricks
    points = int64(MAKER_POINTS[state.super_euchre & 1, makers & 7])
    return _POINT * (-points if maker else points) + 2 * tricks - HAND_SIZE


@kernel
def _leaf(state: np.record, table_address: int) -> int:
    """The value to seat 0 at the start of a trick, from the table."""
    leader = state.to_act & 1
    own, other = state.hands[leader], state.hands[1 - leader]
    num = popcount(own)
    table = open_hands_at(table_address)
    trump = state.trump
    tricks = own_tricks(table, fold(own, trump), fold(other, trump), num, 0)
    return _worth(state, state.tricks[0] + (num - tricks if leader else tricks))


@kernel
def _is_leaf(state: np.record, table_address: int) -> bool:
    if table_address != 0 and state.phase == _PLAY:
        return state.led_card < 0
    return state.phase >= _DEAL_OVER


@kernel
def _value(state: np.record, table_address: int) -> int:
    """The value to seat 0 of a position that is a leaf."""
    if state.phase < _DEAL_OVER:
        return _leaf(state, table_address)
    return int64(0) if state.maker == NOBODY else _worth(state, state.tricks[0])


@kernel
def _minimax(rows: States, nodes: npt.NDArray[np.int64], table_address: int) -> int:
    """The value to seat 0 of ``rows[0]`` by alpha-beta, depth first, without recursion.

    Args:
        rows: shape (15,): the line of play that is looked at; from row 1 on overwritten.
        nodes: int64, shape (15, 4), overwritten: acts left to try, best value so far, and the
            window (low, high) outside which a value does not matter.
        table_address: where the open-hand table lies; 0 to search on to the last card.
    """
    depth, value, is_new = 0, int64(0), True
    nodes[0, 2], nodes[0, 3] = -_TOP, _TOP
    while True:
        state, node = rows[depth], nodes[depth]
        if is_new and _is_leaf(state, table_address):
            value, is_new, depth = _value(state, table_address), False, depth - 1
            if depth < 0:
                return value
            continue
        seat = state.to_act
        if is_new:
            node[0] = legal_actions(state)
            node[1] = _TOP if seat else -_TOP
        elif seat:
            node[1] = min(node[1], value)
            node[3] = min(node[3], value)
        else:
            node[1] = max(node[1], value)
            node[2] = max(node[2], value)
        if node[0] == 0 or node[2] >= node[3]:
            value, is_new, depth = node[1], False, depth - 1
            if depth < 0:
                return value
            continue
        copy_row(rows[depth + 1], state)
        apply(rows[depth + 1], lowest(node[0]))
        node[0] &= node[0] - 1
        nodes[depth + 1, 2], nodes[depth + 1, 3] = node[2], node[3]
        depth, is_new = depth + 1, True


@kernel
def _solve_all(
    states: States,
    table_address: int,
    rows: States,
    nodes: npt.NDArray[np.int64],
    values: npt.NDArray[np.int64],
) -> int:
    """Write every act's value to the seat to act; returns the first row without an act, or -1."""
    for i in range(states.shape[0]):
        state = states[i]
        seat, left = state.to_act, legal_actions(state)
        if left == 0 or state.seat != NOBODY:
            return i
        while left:
            act = lowest(left)
            left &= left - 1
            copy_row(rows[0], state)
            rows[0].stop_when_decided = 0  # changes no points (R18): all tricks are counted
            apply(rows[0], act)
            value = _minimax(rows, nodes, table_address)
            values[i, act] = -value if seat else value
    return -1


def _solution(states: States, table_address: int) -> Solution:
    given = np.atleast_1d(np.asarray(states))
    are_states = given.dtype.names == STATE_DTYPE.names
    if not are_states or given.ndim != 1:
        raise TypeError(
            f"{'states' if are_states else given.dtype} of shape {given.shape}: expected are full "
            "states, STATE_DTYPE of shape (n,), as new_states and parse_position make them"
        )
    rows = np.require(given, STATE_DTYPE, ["C", "W"])
    values = np.full((len(rows), NUM_ACTIONS), -_TOP, dtype=np.int64)
    line: Any = np.zeros(MAX_ACTIONS + 1, dtype=STATE_DTYPE)
    nodes = np.empty((MAX_ACTIONS + 1, 4), dtype=np.int64)
    refused = _solve_all(rows, table_address, line, nodes, values)
    if refused >= 0:
        raise ValueError(
            f"row {refused} is a view: only full states can be solved"
            if rows[refused].seat != NOBODY
            else f"row {refused} has no act left: its deal is over"
        )
    best = values.max(axis=1)
    act_tricks, act_points = _tricks_and_points(values)
    tricks, points = _tricks_and_points(best)
    is_legal = values > -_TOP
    return Solution(
        tricks,
        points,
        np.where(is_legal, act_tricks, np.int8(NO_VALUE)),
        np.where(is_legal, act_points, np.int8(NO_VALUE)),
    )


def _tricks_and_points(
    values: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
    """Values to a seat, taken apart again."""
    points = (values + _POINT // 2) // _POINT
    difference = values - _POINT * points
    tricks = np.where(difference == 0, 0, (HAND_SIZE + difference) // 2)  # 5 is odd: 0 is no deal
    return tricks.astype(np.int8), points.astype(np.int8)


def solve(states: States) -> Solution:
    """What positions and their legal acts are worth with all hands open.

    Args:
        states: full states with an act to do, shape (n,) (or one row), at any phase.

    Returns:
        Tricks and points for the seat to act, shapes (n,) and (n, 42).

    Raises:
        TypeError: something else than states.
        ValueError: a view, or a row whose deal is over.
    """
    return _solution(states, open_hands().address)


def alpha_beta(states: States) -> Solution:
    """The same as `solve` without the table: every line of play is searched to its end."""
    return _solution(states, 0)
