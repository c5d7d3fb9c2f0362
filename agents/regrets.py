"""Counterfactual regret over bids and discards: one deal looked at, tables of regrets and averages.

External-sampling Monte Carlo counterfactual regret minimisation (Lanctot et al., NIPS 2009) over
bids, take or leave and the discard; what follows is worth what searching players got in like deals
(`agents.leaves`). Every deal is looked at from both seats: all acts of the one, the drawn acts
of the other. Suits are folded: `agents.bid_table` has the rows. `agents.cfr` trains with it.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.bid_table import (
    DECISIONS,
    MOST_ACTS,
    NUM_ROWS,
    NUM_SLOTS,
    act_slot,
    dealt_cards,
    decision_start,
    every_hand,
    hand_row,
    suit_order,
)
from agents.expert_bids import expert_bid
from agents.leaves import leaf_cell
from agents.thresholds import Thresholds
from euchre_env.actions import ACCEPT, ORDER_UP, PASS, TAKE, Phase
from euchre_env.cards import ACE, NINE
from euchre_env.dealing import AGENTS, deal, lay_out, mix, seed_streams, seed_word, substream
from euchre_env.engine import apply, legal_actions
from euchre_env.kernel import copy_row, kernel, lowest
from euchre_env.rules import Rules
from euchre_env.state import NOBODY, STATE_DTYPE, States, new_states

_PLAY: Final = int(Phase.PLAY)
MAX_BIDS: Final = 5
"""Acts of the longest bidding; the state after each has a frame."""
REGRET, AVERAGE = 0, 1
Tables = npt.NDArray[np.float32]
"""``[row, regret or average, slot]``: float32, shape (`NUM_ROWS`, 2, `NUM_SLOTS`)."""
_UNIT: Final = 2.0**-53
_11: Final = np.uint64(11)


@kernel
def _leaf(
    state: np.record, seat: int, table_address: int, leaves: npt.NDArray[np.float64]
) -> float:
    """What a seat scores less what the other does, once the bidding is over."""
    if state.maker == NOBODY:
        return 0.0
    points = leaves[leaf_cell(state, table_address)]
    return points if state.maker == seat else -points


@kernel
def _match_regrets(
    regrets: npt.NDArray[np.float32],
    slots: npt.NDArray[np.int64],
    num: int,
    strategy: npt.NDArray[np.float64],
) -> None:
    """Probabilities in proportion to the regrets above 0; all alike where there are none."""
    total = 0.0
    for k in range(num):
        regret = max(float(regrets[slots[k]]), 0.0)
        strategy[k] = regret
        total += regret
    for k in range(num):
        strategy[k] = strategy[k] / total if total > 0 else 1.0 / num


@kernel
def _open(
    frames: States,
    depth: int,
    regrets: npt.NDArray[np.float32],
    order: int,
    acts: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int64],
    strategy: npt.NDArray[np.float64],
) -> int:
    """Write what a decision is: its acts, their slots and the present strategy.

    Returns:
        How many acts there are.
    """
    state = frames[depth]
    hand, upcard = dealt_cards(state), state.upcard
    start = decision_start(state)
    left, num = legal_actions(state), 0
    while left:
        action = lowest(left)
        left &= left - 1
        acts[depth, num] = action
        slots[depth, num] = start + act_slot(hand, upcard, order, action)
        num += 1
    _match_regrets(regrets, slots[depth], num, strategy[depth])
    return num


@kernel
def _drawn(strategy: npt.NDArray[np.float64], num: int, word: np.uint64) -> int:
    """One of ``num`` acts by their probabilities."""
    left = float(word >> _11) * _UNIT
    for k in range(num - 1):
        left -= strategy[k]
        if left < 0:
            return k
    return num - 1


@kernel
def _look_at(
    frames: States,
    seat: int,
    word: np.uint64,
    tables: Tables,
    table_address: int,
    leaves: npt.NDArray[np.float64],
    rows: npt.NDArray[np.int64],
    orders: npt.NDArray[np.int64],
    acts: npt.NDArray[np.int64],
    slots: npt.NDArray[np.int64],
    strategy: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
    counts: npt.NDArray[np.int64],
) -> float:
    """Look at one deal from one seat: every act of its, drawn acts of the other; learn from it.

    Depth first, a frame a decision, without recursion.

    Args:
        frames: shape (6,); the deal stands in the first.
        seat: whose regrets are learned; the other's average strategy is.
        word: what the other's acts are drawn from.
        tables: learned, in place.
        table_address: the open-hand table's.
        leaves: float64, from `measure_leaves`.
        rows: int64, shape (2,): by seat, the hand's row of the tables.
        orders: int64, shape (2,): by seat, how the hand's suits are sorted.
        acts: int64, shape (6, 6), scratch.
        slots: int64, shape (6, 6), scratch.
        strategy: float64, shape (6, 6), scratch.
        values: float64, shape (6, 6), scratch: what each act is worth.
        counts: int64, shape (6, 2), scratch: acts there are, and the one looked at.

    Returns:
        What the deal is worth to the seat.
    """
    depth, value, is_new = 0, 0.0, True
    while True:
        state = frames[depth]
        if is_new and state.phase >= _PLAY:
            value, is_new, depth = _leaf(state, seat, table_address, leaves), False, depth - 1
            continue
        count, actor = counts[depth], state.to_act & 1
        table = tables[rows[actor]]
        if is_new:
            count[0] = _open(frames, depth, table[REGRET], orders[actor], acts, slots, strategy)
            count[1] = 0
            if actor != seat:
                for k in range(count[0]):
                    table[AVERAGE, slots[depth, k]] += strategy[depth, k]
                count[1] = _drawn(strategy[depth], count[0], substream(word, AGENTS, depth))
        elif actor == seat:
            values[depth, count[1]] = value
            count[1] += 1
        if not is_new and (actor != seat or count[1] == count[0]):
            if actor == seat:
                value = _learn(table[REGRET], depth, slots, strategy, values, count)
            if depth == 0:
                return value
            depth -= 1
            continue
        copy_row(frames[depth + 1], state)
        apply(frames[depth + 1], acts[depth, count[1]])
        depth, is_new = depth + 1, True


@kernel
def _learn(
    regrets: npt.NDArray[np.float32],
    depth: int,
    slots: npt.NDArray[np.int64],
    strategy: npt.NDArray[np.float64],
    values: npt.NDArray[np.float64],
    count: npt.NDArray[np.int64],
) -> float:
    """Add what each act would have gained over the strategy; returns what that is worth."""
    mean = 0.0
    for k in range(count[0]):
        mean += strategy[depth, k] * values[depth, k]
    for k in range(count[0]):
        regrets[slots[depth, k]] += values[depth, k] - mean
    return mean


@kernel
def learn_deals(
    states: States,
    num_deals: int,
    first: int,
    tables: Tables,
    table_address: int,
    leaves: npt.NDArray[np.float64],
) -> None:
    """Learn from so many deals, each seen from both seats.

    Args:
        states: one row with a stream; the deals follow from it.
        num_deals: how many.
        first: the number of deals learned from before.
        tables: changed in place.
        table_address: the open-hand table's.
        leaves: float64, from `measure_leaves`.
    """
    frames = np.empty(MAX_BIDS + 1, dtype=STATE_DTYPE)
    rows, orders = np.empty(2, dtype=np.int64), np.empty(2, dtype=np.int64)
    acts = np.empty((MAX_BIDS + 1, MOST_ACTS), dtype=np.int64)
    slots = np.empty((MAX_BIDS + 1, MOST_ACTS), dtype=np.int64)
    strategy = np.empty((MAX_BIDS + 1, MOST_ACTS))
    values = np.empty((MAX_BIDS + 1, MOST_ACTS))
    counts = np.empty((MAX_BIDS + 1, 2), dtype=np.int64)
    state = states[0]
    for number in range(first, first + num_deals):
        deal(state)
        for seat in range(2):
            orders[seat] = suit_order(state.hands[seat], state.upcard)
            rows[seat] = hand_row(state.hands[seat], state.upcard, orders[seat])
        for seat in range(2):
            copy_row(frames[0], state)
            word = substream(mix(state.stream), AGENTS, 2 * number + seat)
            _look_at(
                frames, seat, word, tables, table_address, leaves,
                rows, orders, acts, slots, strategy, values, counts,
            )  # fmt: skip


def new_learner(rules: Rules, seed: int) -> tuple[States, Tables]:
    """A row to deal from, and tables in which the expert's bids stand first.

    Raises:
        ValueError: the rules have a joker or another deck than the 24 cards.
    """
    if rules.num_cards != 24:
        raise ValueError(f"{rules!r}: bids are learned for the deck of 24 cards")
    states = new_states(1, rules)
    seed_streams(states, np.array([seed_word(seed)], dtype=np.uint64))
    states["dealer"] = 1
    tables = np.zeros((NUM_ROWS, 2, NUM_SLOTS), dtype=np.float32)
    frames = np.empty(MAX_BIDS + 1, dtype=STATE_DTYPE)
    for rank in range(NINE, ACE + 1):
        begin_with_expert(states, rank, every_hand(rank), frames, Thresholds().to_memory(), tables)
    return states, tables


_PATHS: Final = np.full((len(DECISIONS), MAX_BIDS), -1, dtype=np.int64)
for _decision, _path in enumerate(
    (
        (),
        (PASS,),
        (ORDER_UP,),
        (PASS, PASS),
        (PASS, PASS, PASS),
        (PASS, ACCEPT),
        (ORDER_UP, TAKE),
    )
):
    _PATHS[_decision, : len(_path)] = _path
START_WEIGHT: Final = 5.0
"""The expert's bids count as if each had been the better one so often, by a point each time."""


@kernel
def _begin_with(state: np.record, numbers: np.record, tables: Tables) -> None:
    """Let the expert's act at a decision be the first strategy."""
    hand = dealt_cards(state)
    order = suit_order(hand, state.upcard)
    state.seat = state.to_act
    action = expert_bid(state, legal_actions(state), numbers)
    slot = decision_start(state) + act_slot(hand, state.upcard, order, action)
    row = hand_row(hand, state.upcard, order)
    tables[row, REGRET, slot] = START_WEIGHT
    tables[row, AVERAGE, slot] = START_WEIGHT


@kernel
def begin_with_expert(
    states: States,
    upcard: int,
    hands: npt.NDArray[np.int64],
    frames: States,
    memory: npt.NDArray[Any],
    tables: Tables,
) -> None:
    """Let the expert's bids be the first strategy, as if each had been looked at before.

    Args:
        states: one row with the rules.
        upcard: one of clubs.
        hands: masks, `every_hand` with that upcard.
        frames: scratch rows.
        memory: of `Thresholds`.
        tables: changed in place.
    """
    for path in range(_PATHS.shape[0]):
        for i in range(hands.shape[0]):
            state, is_met = frames[0], True
            copy_row(state, states[0])
            state.hands[0] = hands[i]  # whoever is to act holds it: the other's is not asked for
            state.hands[1] = hands[i]
            lay_out(state, upcard)
            for k in range(MAX_BIDS):
                action = _PATHS[path, k]
                if action >= 0:
                    is_met = is_met and legal_actions(state) >> action & 1 != 0
                    if is_met:
                        apply(state, action)
            if is_met and state.phase < _PLAY:
                _begin_with(state, memory[0], tables)
