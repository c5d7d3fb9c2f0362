"""Every world that fits a view: what the other player may hold, and have laid away, in full.

``views.fill`` draws one such world at random; here they are all written out, each once. With 24
cards there are at most 8,568 hands: few enough for exact beliefs (`agents.beliefs`), exact best
responses (`agents.best_response`) and search over all of them. Rules: R9, R15, R22.

Kernels call `hands_into` or `worlds_into`; Python calls `worlds`.

>>> from euchre_env.notation import parse_position
>>> view = parse_position("9CTCQCKC9S/??????????/TH d1 0-0 - seat=0")[0]
>>> len(worlds(view))
8568
"""

from dataclasses import dataclass
from math import comb
from typing import Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import Phase
from euchre_env.cards import NUM_CARDS
from euchre_env.kernel import copy_row, int64, kernel, lowest, popcount
from euchre_env.state import NO_CARD, NOBODY, STATE_DTYPE, States
from euchre_env.views import COMBINATIONS, discard_place, hand_size, may_hold, unseen

_BLIND = int(Phase.NAME_BLIND)

MAX_HANDS: Final = comb(NUM_CARDS - 5, 5)
"""No view of any deck leaves more hands open: 98,280 with 33 cards, where the dealer may have laid
the upcard away; 80,730 where he may not."""


# --- subsets of a set of cards -------------------------------------------------------------------


@kernel
def subsets_into(pool: int, num: int, always: int, sets: npt.NDArray[np.int64], start: int) -> int:
    """Write every set of ``num`` cards of a pool, each joined with the same further cards.

    Args:
        pool: mask of the cards to choose from.
        num: how many to choose, 0..6; more than there are chooses nothing.
        always: mask of cards that are in every set.
        sets: int64, written from ``start`` on.
        start: first place written.

    Returns:
        The first place not written.
    """
    size = popcount(pool)
    if num > size:
        return start
    chosen = (int64(1) << num) - 1  # which cards of the pool, by their place in it
    place = start
    while chosen >> size == 0:
        cards, left, places = always, pool, chosen
        while places:
            bit = left & -left
            if places & 1:
                cards |= bit
            left ^= bit
            places >>= 1
        sets[place] = cards
        place += 1
        if num == 0:
            break
        low = chosen & -chosen  # the next larger number with as many bits (Gosper's hack)
        carried = chosen + low
        chosen = carried | ((chosen ^ carried) // low >> 2)
    return place


# --- hands ---------------------------------------------------------------------------------------


@kernel
def has_hidden_discard(view: np.record) -> bool:
    """Whether the other player has laid a card away that the seat of the view did not see."""
    is_other: bool = view.dealer != view.seat
    return is_other and discard_place(view) >= 0


@kernel
def is_upcard_open(view: np.record) -> bool:
    """Whether the other player may have laid the upcard itself away: nobody has seen it since."""
    other = 1 - view.seat
    is_played: bool = view.played[other] >> view.upcard & 1 == 1
    return bool(view.discard_upcard) and not is_played and has_hidden_discard(view)


@kernel
def hands_into(
    view: np.record, hands: npt.NDArray[np.int64], weights: npt.NDArray[np.int64]
) -> int:
    """Write every hand that the other player may hold, and in how many ways he may.

    Args:
        view: a view; its seat knows its own hand (not in the phase ``NAME_BLIND`` of a dealer).
        hands: int64, `MAX_HANDS` places are always enough; masks of cards, written.
        weights: int64, as long; written: the cards that he may have laid away beside this hand,
            1 where he laid away none.

    Returns:
        How many hands were written.
    """
    other = 1 - view.seat
    size = hand_size(view, other)
    known = view.hands[other]
    upcard = int64(1) << view.upcard
    held = may_hold(view)
    num = int64(0)
    if is_upcard_open(view):
        others = held & ~upcard
        num = subsets_into(others, size, 0, hands, 0)
        for i in range(num):
            weights[i] = 1  # the upcard is what he laid away
        known = upcard
        if not held & upcard or size == 0:
            return num
    first = num
    num = subsets_into(held & ~known, size - popcount(known), known, hands, first)
    ways = int64(1)
    if has_hidden_discard(view):
        ways = popcount(unseen(view)) - size + popcount(known)
    for i in range(first, num):
        weights[i] = ways
    return num


@kernel
def count_hands(view: np.record) -> int:
    """How many hands `hands_into` writes."""
    other = 1 - view.seat
    size = hand_size(view, other)
    known = view.hands[other]
    held = may_hold(view)
    num: int = int64(0)
    if is_upcard_open(view):
        upcard = int64(1) << view.upcard
        num = COMBINATIONS[popcount(held & ~upcard), size]
        known = upcard
        if not held & upcard or size == 0:
            return num
    num += COMBINATIONS[popcount(held & ~known), size - popcount(known)]
    return num


# --- worlds: a hand and what was laid away -------------------------------------------------------


@kernel
def worlds_into(
    view: np.record,
    hands: npt.NDArray[np.int64],
    ways: npt.NDArray[np.int64],
    world_hands: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
) -> int:
    """Write every pair of hand and discard of the other player, each once.

    Args:
        view: as for `hands_into`.
        hands: as `hands_into` has written them.
        ways: the weights that `hands_into` has written.
        world_hands: int64, shape (sum of ``ways``,), written.
        discards: int8, as long, written: the card he laid away, `NO_CARD` where there is none
            that the seat has not seen.

    Returns:
        How many pairs were written.
    """
    hidden = unseen(view)
    is_hidden = has_hidden_discard(view)
    is_open = is_upcard_open(view)
    place = int64(0)
    for i in range(hands.shape[0]):
        hand = hands[i]
        if not is_hidden or (is_open and not hand >> view.upcard & 1):
            world_hands[place] = hand
            discards[place] = view.upcard if is_hidden else NO_CARD
            place += 1
            continue
        left = hidden & ~hand
        for _ in range(ways[i]):
            world_hands[place] = hand
            discards[place] = lowest(left)
            left &= left - 1
            place += 1
    return place


@kernel
def _enumerate(
    view: np.record, hands: npt.NDArray[np.int64], weights: npt.NDArray[np.int64]
) -> int:
    return hands_into(view, hands, weights)


@kernel
def _count(view: np.record) -> int:
    return count_hands(view)


@kernel
def complete_into(view: np.record, hand: int, discard: int, state: np.record) -> None:
    """Write the full state of one world: the view with the other's hand and discard in it.

    Args:
        view: a view.
        hand: mask, the other player's hand.
        discard: the card he laid away, or `NO_CARD` where the view knows of none.
        state: overwritten; it has no random stream (the next deal cannot be dealt from it).
    """
    copy_row(state, view)
    state.seat = NOBODY
    state.hands[1 - view.seat] = hand
    if discard != NO_CARD:
        state.discard = discard
        state.history[discard_place(view)] = discard


@kernel
def _complete_all(
    view: np.record,
    hands: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
    states: States,
) -> None:
    for i in range(hands.shape[0]):
        complete_into(view, hands[i], discards[i], states[i])


@dataclass(frozen=True, eq=False)
class Worlds:
    """All that the other player may hold and have laid away, as far as a view tells.

    Every pair of hand and discard stands here once and is as likely as the next before his acts
    are weighed: just what `views.fill` draws from.
    """

    view: States
    """The view: shape (1,)."""
    hands: npt.NDArray[np.int64]
    """Masks of the cards in the other player's hand; int64, shape (n,)."""
    discards: npt.NDArray[np.int8]
    """The card he laid away, `NO_CARD` where there is none unseen; int8, shape (n,)."""

    def __len__(self) -> int:
        """How many worlds there are."""
        return len(self.hands)

    def states(self) -> States:
        """The worlds as full states, shape (n,), without a random stream for deals to come."""
        states = np.empty(len(self), dtype=STATE_DTYPE)
        _complete_all(self.view[0], self.hands, self.discards, states)
        return states


def one_view(view: States | np.record) -> States:
    """One view as an array of shape (1,) whose own hand is known to its seat.

    Raises:
        ValueError: no single view, a full state, or a dealer who has not seen his hand (R13).
    """
    rows = np.atleast_1d(np.asarray(view))
    if rows.shape != (1,) or rows.dtype != STATE_DTYPE:
        raise ValueError(f"one view is expected, not an array of shape {rows.shape}")
    row = rows[0]
    if row.seat == NOBODY:
        raise ValueError("this is a full state, not a view: nothing is open (views.blank)")
    if row.phase == _BLIND and row.dealer == row.seat:
        raise ValueError("the dealer names trump blind: he has not seen his own hand yet")
    return rows.copy()


def worlds(view: States | np.record) -> Worlds:
    """Every hand and discard of the other player that fits a view.

    Args:
        view: one view (a row, or shape (1,)).

    Returns:
        The worlds: at most 8,568 hands with 24 cards (80,730 with 33), five times as many pairs
        where the other player has laid a card away.

    Raises:
        ValueError: no single view; a full state; a dealer who has not seen his hand (R13).
    """
    rows = one_view(view)
    row = rows[0]
    num = int(_count(row))
    hands = np.empty(num, dtype=np.int64)
    ways = np.empty(num, dtype=np.int64)
    _enumerate(row, hands, ways)
    total = int(ways.sum())
    world_hands = np.empty(total, dtype=np.int64)
    discards = np.empty(total, dtype=np.int8)
    worlds_into(row, hands, ways, world_hands, discards)
    return Worlds(rows, world_hands, discards)
