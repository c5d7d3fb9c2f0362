"""The open-hand table: how many tricks the leader takes when all cards lie open.

What a position of two open hands is worth depends on little: for each effective suit, who owns
its cards in order of strength, and which suit is trump. Cards that are out of play, and the gaps
that they leave, make no difference, nor does which of the other suits is which.

A hand is therefore *folded* by trump into four short fields, so that order is all that is left of
its cards: trump at places 0 to 9 (joker, right bower, left bower, ace, king ... seven), then
the other three suits, ace to seven, at 10 to 17, 18 to 25 and 26 to 33. The strongest card of a
field has the lowest place. The owners of the cards in place order (1 for the leader's) are a
string of 2n bits, n of them 1; where it is cut into suits is one of C(2n + 3, 3) ways. String and
cuts are counted off as combinations, so every position has one number::

    index = start of n + cuts * C(2n, n) + rank of the string

1 + 20 + 210 + 1,680 + 11,550 + 72,072 = 85,533 positions of 0 to 5 cards each: those of every
deck, joker included (a 24-card deck meets 62,762 of them). Each is solved once, from one card
up, by trying every lead and every answer (R14 to R16), in some hundredths of a second.
Perfect-information ("double dummy") values by retrograde analysis: Kupferschmid and Helmert 2006.

Kernels read the table at an address (`OpenHands.address`, `open_hands_at`), so that it is no
constant compiled into each of them.
"""

import functools
from math import comb
from typing import Any, Final, NamedTuple

import numba
import numpy as np
import numpy.typing as npt

from euchre_env.cards import HAND_SIZE, JOKER, NUM_CARDS, NUM_RANKS, NUM_SUITS
from euchre_env.kernel import as_pointer, int64, kernel, popcount
from euchre_env.rules import EFFECTIVE_SUIT, STRENGTH

# --- folding: a hand as four fields in order of strength ----------------------------------------

TRUMP_PLACES: Final = NUM_RANKS + 2
"""Trumps with joker and both bowers: places 0 to 9 of a folded hand."""
NUM_PLACES: Final = TRUMP_PLACES + 3 * NUM_RANKS
_FIELD_STARTS: Final = (
    0,
    TRUMP_PLACES,
    TRUMP_PLACES + NUM_RANKS,
    TRUMP_PLACES + 2 * NUM_RANKS,
    NUM_PLACES,
)
_SECOND, _THIRD, _FOURTH = _FIELD_STARTS[1:4]
_TRUMP_BITS, _SIDE_BITS = (1 << TRUMP_PLACES) - 1, (1 << NUM_RANKS) - 1


def _places() -> npt.NDArray[np.int8]:
    """``[trump, card] -> place``: within a suit by strength, from the strongest down."""
    places = np.zeros((NUM_SUITS, NUM_CARDS), dtype=np.int8)
    for trump in range(NUM_SUITS):
        order = [trump, *(suit for suit in range(NUM_SUITS) if suit != trump)]
        for start, suit in zip(_FIELD_STARTS, order, strict=False):
            cards = np.flatnonzero(EFFECTIVE_SUIT[trump] == suit)
            strongest_first = cards[np.argsort(-STRENGTH[trump, cards])]
            places[trump, strongest_first] = start + np.arange(len(cards))
    return places


PLACES: Final = _places()
"""``[trump, card] -> place`` of the card in a folded hand, 0 to 33. int8, shape (4, 33). R3, R4."""


def _card_at() -> npt.NDArray[np.int8]:
    cards = np.full((NUM_SUITS, NUM_PLACES), -1, dtype=np.int8)
    for trump in range(NUM_SUITS):
        cards[trump, PLACES[trump]] = np.arange(NUM_CARDS)
    return cards


CARD_AT: Final = _card_at()
"""``[trump, place] -> card``, -1 where there is none. int8, shape (4, 34)."""


def _folded_suits() -> npt.NDArray[np.int64]:
    folded = np.zeros((NUM_SUITS, NUM_SUITS, 1 << NUM_RANKS), dtype=np.int64)
    for trump in range(NUM_SUITS):
        for card in range(JOKER):
            suit, rank = divmod(card, NUM_RANKS)
            holds = np.arange(1 << NUM_RANKS) >> rank & 1
            folded[trump, suit] |= holds << int(PLACES[trump, card])
    return folded


_FOLDED_SUITS: Final = _folded_suits()
"""``[trump, printed suit, its eight cards as a mask] -> folded``. int64, shape (4, 4, 256)."""


@kernel
def fold(cards: int, trump: int) -> int:
    """A set of cards, folded by trump: bit ``PLACES[trump, card]`` for each card.

    Args:
        cards: mask of cards.
        trump: suit 0..3.

    Returns:
        Mask of places.
    """
    suits = _FOLDED_SUITS[trump & 3]
    return (
        suits[0, cards & 255]
        | suits[1, cards >> 8 & 255]
        | suits[2, cards >> 16 & 255]
        | suits[3, cards >> 24 & 255]
        | cards >> JOKER & 1  # the joker is at place 0 under every trump
    )


# --- the number of a position -------------------------------------------------------------------

_SIZES: Final = range(HAND_SIZE + 1)
_STRING_BITS: Final = 2 * HAND_SIZE
_STRINGS: Final = 1 << _STRING_BITS
_NUM_STRINGS: Final = np.array([comb(2 * n, n) for n in _SIZES], dtype=np.int64)
_NUM_CUTS: Final = np.array([comb(2 * n + 3, 3) for n in _SIZES], dtype=np.int64)
NUM_POSITIONS: Final = int((_NUM_STRINGS * _NUM_CUTS).sum())
"""Positions of 0 to 5 cards each: 85,533."""
_SECOND_CUT: Final = np.array([comb(x + 1, 2) for x in range(_STRING_BITS + 1)], dtype=np.int64)
_THIRD_CUT: Final = np.array([comb(x + 2, 3) for x in range(_STRING_BITS + 1)], dtype=np.int64)

# one array of 16-bit words holds all: where its parts begin
_SUITS: Final = 0
"""``[own cards of a suit << 10 | the other's] -> owners in order | number << 10``."""
_RANKS: Final = 1 << 2 * TRUMP_PLACES
"""``[string] -> rank`` among those with as many ones."""
_VALUES: Final = _RANKS + _STRINGS
"""``[index] -> tricks`` the leader takes."""
_LEADS: Final = _VALUES + NUM_POSITIONS
"""``[index] -> tricks`` the leader takes with each of its cards led, three bits a card, in place
order from the low end."""
TABLE_SIZE: Final = _LEADS + NUM_POSITIONS
_STARTS: Final = np.cumsum([0, *(_NUM_STRINGS * _NUM_CUTS)])[:-1]
_INDEX_BITS: Final = (1 << 21) - 1  # says to the compiler: not negative
_LENGTH: Final = TRUMP_PLACES  # where a suit's entry holds its number of cards

Table = npt.NDArray[np.uint16]


@kernel
def position(table: Table, own: int, other: int, num: int, other_leads: int) -> int:
    """The number of a position of two open hands at the start of a trick.

    What belongs to ``own`` alone is moved out of a loop over other hands by the compiler.

    Args:
        table: `open_hands_at`.
        own: a folded hand.
        other: the other folded hand, of as many cards and none of the same.
        num: cards of each, 0..5.
        other_leads: 0 when ``own`` leads, 1 when the other does.

    Returns:
        0..85,532.
    """
    first = int64(table[(own & _TRUMP_BITS) << 10 | (other & _TRUMP_BITS)])
    second = int64(table[(own >> _SECOND & _SIDE_BITS) << 10 | (other >> _SECOND & _SIDE_BITS)])
    third = int64(table[(own >> _THIRD & _SIDE_BITS) << 10 | (other >> _THIRD & _SIDE_BITS)])
    fourth = int64(table[(own >> _FOURTH & _SIDE_BITS) << 10 | (other >> _FOURTH & _SIDE_BITS)])
    cut_1 = first >> _LENGTH
    cut_2 = cut_1 + (second >> _LENGTH)
    cut_3 = cut_2 + (third >> _LENGTH)
    owners = (
        (first & _TRUMP_BITS)
        | (second & _TRUMP_BITS) << cut_1
        | (third & _TRUMP_BITS) << cut_2
        | (fourth & _TRUMP_BITS) << cut_3
    )
    owners ^= ((int64(1) << 2 * num) - 1) * other_leads
    cuts = cut_1 + _SECOND_CUT[cut_2 & 15] + _THIRD_CUT[cut_3 & 15]
    rank = int64(table[_RANKS + (owners & (_STRINGS - 1))])
    return _STARTS[num & 7] + cuts * _NUM_STRINGS[num & 7] + rank


@kernel
def leader_tricks(table: Table, index: int) -> int:
    """Tricks still to come that the leader takes in a position (`position`), 0..5."""
    return int64(table[(_VALUES + index) & _INDEX_BITS])


@kernel
def own_tricks(table: Table, own: int, other: int, num: int, other_leads: int) -> int:
    """Tricks still to come that ``own`` takes: arguments as for `position`."""
    tricks = leader_tricks(table, position(table, own, other, num, other_leads))
    return num - tricks if other_leads else tricks


@kernel
def lead_tricks(table: Table, index: int) -> int:
    """What each lead takes, packed: bits 3k to 3k + 2 for the k-th own card in place order."""
    return int64(table[(_LEADS + index) & _INDEX_BITS])


@kernel
def open_hands_at(address: int) -> Table:
    """The table at an address in memory: how compiled kernels read it."""
    return numba.carray(as_pointer(address), (TABLE_SIZE,), np.uint16)


# --- building it --------------------------------------------------------------------------------


@kernel
def _compress(bits: int, mask: int) -> int:
    """The bits at the places of a mask, moved together to the low end."""
    packed, place = int64(0), int64(0)
    for k in range(_STRING_BITS):
        packed |= (bits >> k & 1) << place if mask >> k & 1 else int64(0)
        place += mask >> k & 1
    return packed


@kernel
def _write_suits(table: Table) -> None:
    for own in range(1 << TRUMP_PLACES):
        others = ~own & _TRUMP_BITS
        other = others
        while True:
            length = popcount(own | other)
            if length <= _STRING_BITS:
                table[own << 10 | other] = _compress(own, own | other) | length << _LENGTH
            if other == 0:
                break
            other = (other - 1) & others


@kernel
def _write_ranks(table: Table, combinations: npt.NDArray[np.int64]) -> None:
    for owners in range(_STRINGS):
        rank, ones = int64(0), int64(0)
        for k in range(_STRING_BITS):
            if owners >> k & 1:
                ones += 1
                rank += combinations[k, ones]
        table[_RANKS + owners] = rank


@kernel
def _suit_of(place: int, cut_1: int, cut_2: int, cut_3: int) -> int:
    """Which of the four suits a place of the string lies in."""
    return int64(place >= cut_1) + int64(place >= cut_2) + int64(place >= cut_3)


@kernel
def _without(owners: int, place: int) -> int:
    """The string without one card."""
    below = owners & ((int64(1) << place) - 1)
    return below | (owners >> (place + 1)) << place


@kernel
def _after(
    table: Table, owners: int, num: int, cuts: npt.NDArray[np.int64], led: int, answer: int
) -> int:
    """Tricks the leader takes, this one included, from a lead and the answer to it.

    Args:
        table: its positions of ``num - 1`` cards are solved.
        owners: the string, 1 for the leader's cards.
        num: cards of each.
        cuts: int64, shape (3,): where the second, third and fourth suit begin.
        led: the place of the leader's card in the string.
        answer: the place of the follower's.
    """
    led_suit = _suit_of(led, cuts[0], cuts[1], cuts[2])
    suit = _suit_of(answer, cuts[0], cuts[1], cuts[2])
    answer_wins = (suit == led_suit and answer < led) or (suit == 0 and led_suit != 0)
    high, low = max(led, answer), min(led, answer)
    rest = _without(_without(owners, high), low)
    cut_1 = cuts[0] - (led < cuts[0]) - (answer < cuts[0])
    cut_2 = cuts[1] - (led < cuts[1]) - (answer < cuts[1])
    cut_3 = cuts[2] - (led < cuts[2]) - (answer < cuts[2])
    if answer_wins:
        rest ^= (int64(1) << (2 * num - 2)) - 1
    cut = cut_1 + _SECOND_CUT[cut_2] + _THIRD_CUT[cut_3]
    rank = int64(table[_RANKS + rest])
    index = _STARTS[num - 1] + cut * _NUM_STRINGS[num - 1] + rank
    tricks = int64(table[_VALUES + index])
    return num - 1 - tricks if answer_wins else tricks + 1


@kernel
def _lead_value(table: Table, owners: int, num: int, cuts: npt.NDArray[np.int64], led: int) -> int:
    """Tricks the leader takes with a card led, against the best answer. R15, R16."""
    led_suit = _suit_of(led, cuts[0], cuts[1], cuts[2])
    can_follow = False
    for place in range(2 * num):
        if not owners >> place & 1 and _suit_of(place, cuts[0], cuts[1], cuts[2]) == led_suit:
            can_follow = True
    fewest = num
    for place in range(2 * num):
        if owners >> place & 1:
            continue
        if can_follow and _suit_of(place, cuts[0], cuts[1], cuts[2]) != led_suit:
            continue
        fewest = min(fewest, _after(table, owners, num, cuts, led, place))
    return fewest


@kernel
def _solve_position(
    table: Table, owners: int, num: int, cuts: npt.NDArray[np.int64], index: int
) -> None:
    """Write what a position and each of its leads are worth."""
    most, packed, count = int64(0), int64(0), int64(0)
    for place in range(2 * num):
        if owners >> place & 1:
            tricks = _lead_value(table, owners, num, cuts, place)
            packed |= tricks << 3 * count
            count += 1
            most = max(most, tricks)
    table[_VALUES + index] = most
    table[_LEADS + index] = packed


@kernel
def _write_positions(table: Table, num: int) -> None:
    """Solve all positions of ``num`` cards each; those of fewer are solved."""
    cuts = np.zeros(3, dtype=np.int64)
    for cut_3 in range(2 * num + 1):
        for cut_2 in range(cut_3 + 1):
            for cut_1 in range(cut_2 + 1):
                cuts[0], cuts[1], cuts[2] = cut_1, cut_2, cut_3
                cut = cut_1 + _SECOND_CUT[cut_2] + _THIRD_CUT[cut_3]
                start = _STARTS[num] + cut * _NUM_STRINGS[num]
                for owners in range(1 << 2 * num):
                    if popcount(owners) == num:
                        index = start + int64(table[_RANKS + owners])
                        _solve_position(table, owners, num, cuts, index)


class OpenHands(NamedTuple):
    """The table of all open-hand positions, and where it lies."""

    table: Table
    """uint16, shape (`TABLE_SIZE`,), read-only; 2.4 MB."""
    address: int
    """Where kernels find it (`open_hands_at`); true in this process only."""


@functools.cache
def open_hands() -> OpenHands:
    """The table, built at the first call of a process and kept."""
    table = np.zeros(TABLE_SIZE, dtype=np.uint16)
    combinations: Any = np.array(
        [[comb(k, ones) for ones in range(_STRING_BITS + 1)] for k in range(_STRING_BITS)],
        dtype=np.int64,
    )
    _write_suits(table)
    _write_ranks(table, combinations)
    for num in range(1, HAND_SIZE + 1):
        _write_positions(table, num)
    table.flags.writeable = False
    return OpenHands(table, int(table.ctypes.data))
