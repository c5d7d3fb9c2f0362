"""A deal gone through again: what the other player saw at each of his acts, had he been dealt that.

A *candidate* is what the other player may have been dealt, with what he may have laid away: the
history was public, so the five cards dealt and the discard tell all that he saw at any moment.
Rules: R9, R15, R22.

`deals_into` writes every candidate that fits a view; `lay_out_again` goes back to the beginning of
the deal; `pose` puts a candidate's cards into the view that the other player had.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.worlds import has_hidden_discard, is_upcard_open, subsets_into
from euchre_env.actions import Phase
from euchre_env.cards import HAND_SIZE, NUM_SUITS
from euchre_env.dealing import lay_out
from euchre_env.kernel import copy_row, int64, kernel, lowest, popcount
from euchre_env.rules import SUIT_CARDS
from euchre_env.state import NO_CARD, NOBODY, UpcardPlace
from euchre_env.views import COMBINATIONS, discard_place, unseen

_BLIND, _PLAY = int(Phase.NAME_BLIND), int(Phase.PLAY)
_TAKEN = int(UpcardPlace.TAKEN)

MAX_DEALT: Final = int(COMBINATIONS[27, HAND_SIZE])
"""Hands that may have been dealt, at most: all that fit the first view of 33 cards."""


@kernel
def dealt_cards(state: np.record, seat: int) -> int:
    """The five cards that a seat was dealt, a mask (of a view: those known).

    Args:
        state: a full state, or a view.
        seat: 0 or 1.
    """
    hand: int = state.hands[seat & 1] | state.played[seat & 1]
    if seat == state.dealer and state.upcard_place == _TAKEN:
        if state.discard != NO_CARD:
            hand |= int64(1) << state.discard
        hand &= ~(int64(1) << state.upcard)
    return hand


@kernel
def barred_cards(view: np.record, seat: int) -> int:
    """The cards, a mask, that a seat has shown not to hold any more. R15."""
    barred = int64(0)
    if view.voids[seat & 1]:
        for suit in range(NUM_SUITS):
            if view.voids[seat & 1] >> suit & 1:
                barred |= SUIT_CARDS[view.trump & 3, suit]
    return barred


@kernel
def deals_into(
    view: np.record,
    dealt: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
) -> int:
    """Write every candidate that fits a view: what he was dealt, and each discard that then fits.

    Args:
        view: a view whose seat knows its own hand.
        dealt: int64, the five cards as a mask, written; `MAX_DEALT` places are enough.
        firsts: int64, one longer: where in ``discards`` those of each hand begin; the last end.
        discards: int8, six times as long; `NO_CARD` where he laid away none unseen.

    Returns:
        How many hands were written.
    """
    other = 1 - view.seat
    upcard = int64(1) << view.upcard
    shown = view.played[other & 1]
    is_taken = view.dealer == other and view.upcard_place == _TAKEN
    if is_taken:
        shown &= ~upcard
    num_open = HAND_SIZE - popcount(shown)
    hidden = unseen(view)
    barred = barred_cards(view, other)
    firsts[0] = 0
    if not has_hidden_discard(view):
        num = subsets_into(hidden & ~barred, num_open, shown, dealt, 0)
        for i in range(num):
            discards[i] = NO_CARD
            firsts[i + 1] = i + 1
        return num
    in_hand = upcard & ~view.played[other & 1]
    is_open = is_upcard_open(view)
    num_all = subsets_into(hidden, num_open, shown, dealt, 0)
    num, place = int64(0), int64(0)
    for i in range(num_all):
        cards = dealt[i] & ~shown
        start = place
        if is_open and cards & barred == 0:
            discards[place] = view.upcard
            place += 1
        left = cards
        while left and in_hand & barred == 0:
            laid_away = left & -left
            left ^= laid_away
            if cards & ~laid_away & barred == 0:
                discards[place] = lowest(laid_away)
                place += 1
        if place > start:
            dealt[num] = dealt[i]
            num += 1
            firsts[num] = place
    return num


@kernel
def lay_out_again(view: np.record, dealt: int, state: np.record) -> None:
    """Write the state at the beginning of the deal: both hands as dealt, no act done.

    Args:
        view: a view, or a full state, at any moment of the deal.
        dealt: mask, what the other player was dealt.
        state: overwritten; it has no random stream.
    """
    seat = view.seat & 1
    copy_row(state, view)
    state.seat = NOBODY
    for each in range(2):
        state.scores[each] -= view.points[each]
    state.deal_number -= 1
    state.hands[seat] = dealt_cards(view, seat)
    state.hands[seat ^ 1] = dealt
    lay_out(state, view.upcard)


@kernel
def act_at(view: np.record, place: int, discard: int) -> int:
    """The act at a place of a view's history; where it is hidden, the candidate's discard."""
    action = view.history[place]
    return discard if action < 0 else action


@kernel
def cards_left(state: np.record, other: int, dealt: int, discard: int) -> int:
    """What a candidate leaves in the other player's hand by now, a mask. See `pose`."""
    hand = dealt
    if state.dealer == other and state.upcard_place == _TAKEN:
        hand |= int64(1) << state.upcard
        if discard != NO_CARD:
            hand &= ~(int64(1) << discard)
    return hand & ~state.played[other & 1]


@kernel
def pose(state: np.record, other: int, dealt: int, discard: int, asked: np.record) -> None:
    """Put a candidate's cards into the view that the other player has of a state.

    Args:
        state: the full state (or the view of the seat that thinks), for what is public.
        other: the seat that is thought about.
        dealt: mask, what it was dealt.
        discard: what it has laid away; `NO_CARD` before that, or where it laid away nothing.
        asked: its view of the state, with any cards (``views.blank_into``); changed in place.
    """
    if state.phase == _BLIND and state.dealer == other:
        return  # he has not seen his hand
    if discard != NO_CARD and state.dealer == other and state.upcard_place == _TAKEN:
        asked.discard = discard
        asked.history[discard_place(state)] = discard
    asked.hands[other & 1] = cards_left(state, other, dealt, discard)
