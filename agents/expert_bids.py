"""Hand points and bids: a hand counted for a suit as trump, against thresholds.

The scripted expert bids so, and other agents do with numbers of their own (`agents.thresholds`).
"""

import numpy as np

from euchre_env.actions import ACCEPT, CARD_ACTIONS, LEAVE, NAME, ORDER_UP, PASS, TAKE, Phase
from euchre_env.cards import NUM_RANKS, NUM_SUITS
from euchre_env.kernel import kernel, lowest, popcount
from euchre_env.rules import EFFECTIVE_SUIT, STRENGTH, SUIT_CARDS

_ORDER = int(Phase.ORDER)
_ACCEPT = int(Phase.ACCEPT)
_TAKE = int(Phase.TAKE)
_DISCARD = int(Phase.DISCARD)
_NAME_FIRST = int(Phase.NAME_FIRST)
_NAME_BLIND = int(Phase.NAME_BLIND)


@kernel
def card_points(card: int, trump: int, numbers: np.record) -> float:
    """Points of one card when a suit is trump."""
    if EFFECTIVE_SUIT[trump, card] == trump:
        return numbers.trump_points[STRENGTH[trump, card] - NUM_RANKS]
    rank = card % NUM_RANKS
    is_twins_ace = rank == NUM_RANKS - 1 and card // NUM_RANKS == 3 - trump
    return numbers.side_points[rank] + (numbers.twin if is_twins_ace else 0.0)


@kernel
def hand_points(cards: int, trump: int, numbers: np.record) -> float:
    """Points of a hand, a mask, when a suit is trump."""
    points = 0.0
    left = cards
    while left:
        points += card_points(lowest(left), trump, numbers)
        left &= left - 1
    num_trumps = popcount(cards & SUIT_CARDS[trump, trump])
    if num_trumps > 2:
        points += (num_trumps - 2) * numbers.length
    if num_trumps > 0:
        for suit in range(NUM_SUITS):
            if cards & SUIT_CARDS[trump, suit] == 0:
                points += numbers.void
    return points


@kernel
def best_discard(cards: int, may_go: int, trump: int, numbers: np.record) -> int:
    """The card whose loss leaves the most hand points; among equals the weakest, then the first.

    Args:
        cards: all cards held, a mask.
        may_go: those that may be laid away, a mask that is not 0.
        trump: suit 0..3.
        numbers: a record of dtype `NUMBERS_DTYPE`.
    """
    best, most = -1, -np.inf
    left = may_go
    while left:
        card = lowest(left)
        left &= left - 1
        points = hand_points(cards & ~(np.int64(1) << card), trump, numbers)
        points -= 1e-6 * STRENGTH[trump, card]
        if points > most:
            best, most = card, points
    return best


@kernel
def points_with_upcard(view: np.record, trump: int, numbers: np.record) -> float:
    """The dealer's hand points after he took the upcard and laid a card away. R7, R8, R9."""
    hand = view.hands[view.seat]
    both = hand | (np.int64(1) << view.upcard)
    away = best_discard(both, both if view.discard_upcard else hand, trump, numbers)
    return hand_points(both & ~(np.int64(1) << away), trump, numbers)


@kernel
def _named_suit(view: np.record, legal_bits: int, numbers: np.record) -> int:
    """The suit to name, with the most hand points (the first of equals), or the pass. R10, R12."""
    hand = view.hands[view.seat]
    best, most = -1, -np.inf
    for suit in range(NUM_SUITS):
        if legal_bits >> (NAME + suit) & 1:
            points = hand_points(hand, suit, numbers)
            if suit == 3 - view.turned_suit:
                points += numbers.next_suit
            if points > most:
                best, most = suit, points
    enough = numbers.name_first if view.phase == _NAME_FIRST else numbers.name_second
    if legal_bits >> PASS & 1 and most < enough:
        return PASS
    return NAME + best


@kernel
def expert_bid(view: np.record, legal_bits: int, numbers: np.record) -> int:
    """The bid, or the card to lay away, by hand points; always one of ``legal_bits``.

    Args:
        view: in any phase before play.
        legal_bits: mask of the legal acts, not 0.
        numbers: a record of dtype `NUMBERS_DTYPE` (`numbers_at`).
    """
    hand = view.hands[view.seat]
    phase = view.phase
    action = PASS
    if phase == _DISCARD:
        action = best_discard(hand, legal_bits & CARD_ACTIONS, view.trump, numbers)
    elif phase == _ORDER:
        points = hand_points(hand, view.turned_suit, numbers)
        points -= numbers.order_upcard * card_points(view.upcard, view.turned_suit, numbers)
        action = ORDER_UP if points >= numbers.order else PASS
    elif phase == _ACCEPT:
        points = points_with_upcard(view, view.turned_suit, numbers)
        action = ACCEPT if points >= numbers.accept else PASS
    elif phase == _TAKE:
        gain = points_with_upcard(view, view.trump, numbers)
        gain -= hand_points(hand, view.trump, numbers)
        action = TAKE if gain >= numbers.take_gain else LEAVE
    elif phase != _NAME_BLIND:
        action = _named_suit(view, legal_bits, numbers)
    return action if legal_bits >> action & 1 else lowest(legal_bits)
