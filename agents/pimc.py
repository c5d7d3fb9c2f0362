"""What a seat's cards are worth on average over worlds: perfect-information Monte Carlo.

A *world* is a hand of the other player that fits the view. In each world both hands lie open, so
the open-hand table says what every card takes; the mean over worlds, in points, is what a card is
worth (Ginsberg, JAIR 2001). The kernels here write down worlds, drawn or all of them, and average
over them; `agents.search` plays by them, and whoever knows better than uniform brings weights.

All hands here are folded (`agents.open_hands.fold`).
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.open_hands import (
    CARD_AT,
    NUM_PLACES,
    TRUMP_PLACES,
    Table,
    fold,
    lead_tricks,
    own_tricks,
    position,
)
from agents.worlds import hands_into, is_upcard_open
from euchre_env.actions import Phase
from euchre_env.cards import HAND_SIZE, NUM_CARDS, NUM_RANKS
from euchre_env.dealing import AGENTS, mix, substream
from euchre_env.engine import MAX_LEGAL
from euchre_env.kernel import int64, kernel, lowest, popcount
from euchre_env.rules import BEATS, MAKER_POINTS
from euchre_env.views import COMBINATIONS, hand_size, may_hold, unseen

_PLAY = int(Phase.PLAY)
_GAMMA: Final = np.uint64(0x9E3779B97F4A7C15)
_DRAW_BITS: Final = np.uint64(16)
_DRAW_ONES: Final = np.uint64((1 << 16) - 1)
_DRAWS_A_WORD: Final = 4

NUM_GAINS: Final = HAND_SIZE + 1
"""Tricks to come: 0 to 5."""
MAX_CHOICES: Final = MAX_LEGAL


def _suit_bits() -> npt.NDArray[np.int64]:
    fields = [(1 << TRUMP_PLACES) - 1]
    fields += [((1 << NUM_RANKS) - 1) << (TRUMP_PLACES + k * NUM_RANKS) for k in range(3)]
    bits = [field for place in range(NUM_PLACES) for field in fields if field >> place & 1]
    return np.array(bits, dtype=np.int64)


_SUIT_BITS: Final = _suit_bits()
"""``[place] -> mask`` of the places of its suit. int64, shape (34,)."""


# --- worlds -------------------------------------------------------------------------------------


@kernel
def _share_with_upcard(view: np.record, others: int, size: int) -> np.uint64:
    """Of 2**53 worlds, those in which the other still holds the upcard he may have laid away. R9.

    Args:
        view: one in which that is open.
        others: how many other cards he may hold.
        size: cards in his hand.
    """
    if size == 0 or not may_hold(view) >> view.upcard & 1:
        return np.uint64(0)
    held = COMBINATIONS[others, size - 1] * (popcount(unseen(view)) - size + 1)
    laid_away = COMBINATIONS[others, size]
    return np.uint64(held / (held + laid_away) * 2.0**53)


@kernel
def draw_hands(
    view: np.record, trump: int, stream: np.uint64, hands: npt.NDArray[np.int64]
) -> None:
    """Draw hands of the other player, each of those that fit the view as likely (R15, R22).

    The cards he may hold are shuffled, and hands are dealt from them one after the other until
    too few are left, then shuffled again: hands of one shuffle share no card, so together they
    tell more than as many hands drawn apart. The bias of a draw is under 0.05 %.

    Args:
        view: its seat knows its own hand.
        trump: the suit to fold by, 0..3.
        stream: key of the random stream.
        hands: int64, all of it written, folded.
    """
    other = 1 - view.seat
    size = hand_size(view, other)
    held, known = may_hold(view), view.hands[other]
    is_open = is_upcard_open(view)
    upcard = int64(1) << view.upcard
    pool = fold(held & ~upcard if is_open else held & ~known, trump)
    cards = np.empty(NUM_CARDS, dtype=np.int64)
    num = int64(0)
    while pool:
        cards[num] = pool & -pool
        pool &= pool - 1
        num += 1
    always, missing = fold(known, trump), size - popcount(known)
    share = _share_with_upcard(view, num, size) if is_open else np.uint64(0)
    word, left, start = mix(stream), int64(0), num
    bits = word
    for i in range(hands.shape[0]):
        if is_open:
            holds_it = substream(stream, AGENTS, i) >> np.uint64(11) < share
            always, missing = (fold(upcard, trump), size - 1) if holds_it else (int64(0), size)
        if start + missing > num:
            start = 0
        hand = always
        for _ in range(missing):
            if left == 0:
                word += _GAMMA
                bits, left = mix(word), int64(_DRAWS_A_WORD)
            skip = int64((bits & _DRAW_ONES) * np.uint64(num - start) >> _DRAW_BITS)
            bits >>= _DRAW_BITS
            left -= 1
            card = cards[start + skip]
            cards[start + skip] = cards[start]
            cards[start] = card
            hand |= card
            start += 1
        hands[i] = hand


@kernel
def all_hands(
    view: np.record,
    trump: int,
    hands: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
) -> int:
    """Write every hand that fits the view, folded, with the number of ways he may hold it.

    Args:
        view: its seat knows its own hand.
        trump: the suit to fold by, 0..3.
        hands: int64, ``worlds.count_hands(view)`` places or more, written.
        weights: float64, as long, written.

    Returns:
        How many.
    """
    ways = np.empty(hands.shape[0], dtype=np.int64)
    num = hands_into(view, hands, ways)
    for i in range(num):
        hands[i] = fold(hands[i], trump)
        weights[i] = ways[i]
    return num


# --- what cards are worth in them ---------------------------------------------------------------


@kernel
def write_gains(view: np.record, trick_weight: float, gains: npt.NDArray[np.float64]) -> None:
    """What tricks still to come are worth to the view's seat: ``gains[tricks]``. R17.

    Args:
        view: trump is made.
        trick_weight: points that a trick counts for beside the points of the deal.
        gains: float64, shape (6,) or more; written as far as tricks can come.
    """
    seat = view.seat & 1
    is_maker = view.maker == seat
    for tricks in range(HAND_SIZE - view.tricks[0] - view.tricks[1] + 1):
        own = view.tricks[seat] + tricks
        makers = own if is_maker else HAND_SIZE - own
        points = float(MAKER_POINTS[view.super_euchre & 1, makers & 7])
        gains[tricks] = (points if is_maker else -points) + trick_weight * tricks


@kernel
def _add_leads(
    table: Table,
    own: int,
    hands: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    gains: npt.NDArray[np.float64],
    totals: npt.NDArray[np.float64],
) -> None:
    """Add up what each own card gains when led, in place order."""
    num = popcount(own)
    for i in range(hands.shape[0]):
        packed = lead_tricks(table, position(table, own, hands[i], num, 0))
        for k in range(num):
            totals[k] += weights[i] * gains[packed >> 3 * k & 7]


@kernel
def _sum_after(
    table: Table,
    own: int,
    tricks: int,
    hands: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    gains: npt.NDArray[np.float64],
) -> float:
    """What own cards gain from the start of a trick on.

    Args:
        table: the open-hand table.
        own: the cards left after the choice.
        tricks: 1 when the choice wins a trick: then this seat leads on; 0: the other leads.
        hands: the other's, as many cards as ``own``.
        weights: of the hands.
        gains: by tricks, from `write_gains`.
    """
    total, num = 0.0, popcount(own)
    for i in range(hands.shape[0]):
        after = own_tricks(table, own, hands[i], num, 1 - tricks)
        total += weights[i] * gains[tricks + after & 7]
    return total


@kernel
def value_cards(
    view: np.record,
    cards: int,
    table: Table,
    hands: npt.NDArray[np.int64],
    weights: npt.NDArray[np.float64],
    gains: npt.NDArray[np.float64],
    totals: npt.NDArray[np.float64],
) -> None:
    """What each card is worth: its gain summed over worlds, times their weights.

    Cards that touch (nothing between them is still out) are worth the same, and valued once.

    Args:
        view: to play or to lay away.
        cards: the legal ones, a mask (not folded).
        table: the open-hand table.
        hands: int64, worlds, folded by trump.
        weights: float64, one a world.
        gains: from `write_gains`.
        totals: float64, shape (6,) or more; written, the cards in place order.
    """
    trump, seat = view.trump & 3, view.seat & 1
    own, left = fold(view.hands[seat], trump), fold(cards, trump)
    for k in range(MAX_CHOICES):
        totals[k] = 0.0
    if view.phase == _PLAY and view.led_card < 0:
        _add_leads(table, own, hands, weights, gains, totals)
        return
    out, wins = fold(may_hold(view), trump), int64(0)
    if view.phase == _PLAY:
        out |= fold(int64(1) << view.led_card, trump)
        wins = fold(cards & BEATS[trump, view.led_card & 63], trump)
    before, k = int64(0), int64(0)
    while left:
        bit = left & -left
        left ^= bit
        between = bit - before  # the places from the last choice up to this one
        is_alike = before & _SUIT_BITS[lowest(bit) & 63] != 0 and between & out == 0
        if is_alike:
            totals[k] = totals[k - 1]
        else:
            tricks = int64(wins & bit != 0)
            totals[k] = _sum_after(table, own ^ bit, tricks, hands, weights, gains)
        before = bit
        k += 1


@kernel
def best_card(trump: int, cards: int, totals: npt.NDArray[np.float64]) -> int:
    """The card of the highest total; of equals the last in place order: side cards, low cards.

    Args:
        trump: suit 0..3.
        cards: the legal ones, a mask that is not 0 (not folded).
        totals: from `value_cards`.
    """
    left, best, place, k = fold(cards, trump), totals[0], int64(0), int64(0)
    while left:
        if totals[k] >= best:
            best, place = totals[k], lowest(left)
        left &= left - 1
        k += 1
    return int64(CARD_AT[trump & 3, place & 63])
