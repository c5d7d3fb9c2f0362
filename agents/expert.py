"""The scripted expert: hand points against tuned thresholds, then points for every card.

It counts a hand's points for a suit as trump and bids where they reach a threshold; it plays the
card with the most points by a short list of rules of thumb (`agents.thresholds.LEADS`, `FOLLOWS`),
each a number times a weight. All numbers stand in one `Thresholds` there, which the agent carries
in its memory, so that other numbers need no other code. How it bids stands in
`agents.expert_bids`.

What the other player may still hold is counted (``views.may_hold``), so "sure" means sure.

>>> round(points_of("JH JD AH 9C TC", "H"), 1) > round(points_of("9C TC QC KC AS", "H"), 1)
True
"""

import numpy as np
import numpy.typing as npt

from agents.base import CompiledAgent
from agents.expert_bids import expert_bid, hand_points
from agents.thresholds import _BEST_STRENGTH, Thresholds, numbers_at
from euchre_env.actions import Phase
from euchre_env.cards import HAND_SIZE, SUIT_NAMES, card_set
from euchre_env.kernel import kernel, lowest, popcount
from euchre_env.rules import BEATS, EFFECTIVE_SUIT, STRENGTH, SUIT_CARDS
from euchre_env.state import States
from euchre_env.views import COMBINATIONS, hand_size, may_hold, row_at


@kernel
def chance_to_win(view: np.record, card: int) -> float:
    """The chance that a card wins the trick when led, every hand that the other may hold as likely.

    He beats it with a higher card of its suit, or with a trump when he has none of its suit.
    """
    trump, other = view.trump & 3, 1 - view.seat
    suit_cards = SUIT_CARDS[trump, EFFECTIVE_SUIT[trump, card] & 3]
    beats = BEATS[trump, card]
    known = view.hands[other]
    if known & beats & suit_cards:
        return 0.0
    pool = may_hold(view) & ~known
    size, drawn = popcount(pool), hand_size(view, other) - popcount(known)
    all_hands = COMBINATIONS[size, drawn]
    higher = popcount(pool & beats & suit_cards)
    chance = COMBINATIONS[size - higher, drawn] / all_hands
    if known & suit_cards or beats & ~suit_cards == 0:
        return chance  # he can follow for certain, or a trump is led
    none = size - popcount(pool & suit_cards)  # cards left when he has none of the suit
    chance -= COMBINATIONS[none, drawn] / all_hands
    if known & beats == 0:
        trumps = popcount(pool & beats & ~suit_cards)
        chance += COMBINATIONS[none - trumps, drawn] / all_hands
    return chance


@kernel
def _situation(view: np.record) -> int:
    """The row of the weights, one of `SITUATIONS`."""
    trick = min(view.tricks[0] + view.tricks[1], HAND_SIZE - 2)
    return (HAND_SIZE - 1) * (view.maker != view.seat) + trick


@kernel
def _is_lone_side_card(view: np.record, card: int) -> bool:
    """Whether it is the only one of its side suit in a hand that holds trumps."""
    hand, trump = view.hands[view.seat], view.trump & 3
    suit = EFFECTIVE_SUIT[trump, card] & 3
    has_trump = hand & SUIT_CARDS[trump, trump] != 0
    return suit != trump and has_trump and popcount(hand & SUIT_CARDS[trump, suit]) == 1


@kernel
def _chance_of_any(view: np.record, cards: int) -> float:
    """The chance that the other holds one of some cards, a mask."""
    known = view.hands[1 - view.seat]
    if known & cards:
        return 1.0
    pool = may_hold(view) & ~known
    size, drawn = popcount(pool), hand_size(view, 1 - view.seat) - popcount(known)
    return 1.0 - COMBINATIONS[size - popcount(pool & cards), drawn] / COMBINATIONS[size, drawn]


@kernel
def _lead_points(view: np.record, card: int, numbers: np.record) -> float:
    """Points of a card to be led: the weighted sum of `LEADS`."""
    trump, weights = view.trump & 3, numbers.lead[_situation(view)]
    suit = EFFECTIVE_SUIT[trump, card] & 3
    in_suit = popcount(view.hands[view.seat] & SUIT_CARDS[trump, suit])
    chance = chance_to_win(view, card)
    points = weights[0] * chance + weights[3] * STRENGTH[trump, card] / _BEST_STRENGTH
    points += weights[4] * (in_suit - 1) / (HAND_SIZE - 1)
    if suit == trump:
        points += weights[1] + weights[2] * chance
        points += weights[6] * _chance_of_any(view, SUIT_CARDS[trump, trump])
        points += weights[7] * (in_suit == 1)
    elif _is_lone_side_card(view, card):
        points += weights[5]
    return points


@kernel
def _bares_a_card(view: np.record, card: int) -> bool:
    """Whether it is the lower of the two cards held of a side suit, the other not sure yet."""
    trump = view.trump & 3
    suit = EFFECTIVE_SUIT[trump, card] & 3
    others = view.hands[view.seat] & SUIT_CARDS[trump, suit] & ~(np.int64(1) << card)
    if suit == trump or popcount(others) != 1:
        return False
    guarded = lowest(others)
    is_higher = STRENGTH[trump, guarded] > STRENGTH[trump, card]
    return is_higher and BEATS[trump, guarded] & SUIT_CARDS[trump, suit] & may_hold(view) != 0


@kernel
def _control(view: np.record, card: int) -> float:
    """The mean chance that a card left after this one wins when led, 0 where none is left."""
    left = view.hands[view.seat] & ~(np.int64(1) << card)
    num, total = popcount(left), 0.0
    while left:
        total += chance_to_win(view, lowest(left))
        left &= left - 1
    return total / max(num, 1)


@kernel
def _follow_points(view: np.record, card: int, numbers: np.record) -> float:
    """Points of a card to follow with: the weighted sum of `FOLLOWS`."""
    trump, weights = view.trump & 3, numbers.follow[_situation(view)]
    points = weights[4] * STRENGTH[trump, card] / _BEST_STRENGTH
    points += weights[2] * chance_to_win(view, card)
    is_trump = EFFECTIVE_SUIT[trump, card] == trump
    if BEATS[trump, view.led_card & 63] >> card & 1:
        points += weights[0] + weights[8] * _control(view, card)
        if is_trump and EFFECTIVE_SUIT[trump, view.led_card & 63] != trump:
            points += weights[1]
    if is_trump:
        is_last = popcount(view.hands[view.seat] & SUIT_CARDS[trump, trump]) == 1
        return points + weights[3] + weights[7] * is_last
    if _is_lone_side_card(view, card):
        points += weights[5]
    if _bares_a_card(view, card):
        points += weights[6]
    return points


@kernel
def expert_card(view: np.record, cards: int, numbers: np.record) -> int:
    """The card to play, one of ``cards`` (a mask that is not 0): most points, first of equals."""
    if cards & (cards - 1) == 0:
        return lowest(cards)
    best, most = -1, -np.inf
    left = cards
    while left:
        card = lowest(left)
        left &= left - 1
        if view.led_card < 0:
            points = _lead_points(view, card, numbers)
        else:
            points = _follow_points(view, card, numbers)
        if points > most:
            best, most = card, points
    return best


@kernel
def _expert(view: np.record, legal_bits: int, memory_address: int) -> int:
    """The expert's act; always one of ``legal_bits``."""
    numbers = numbers_at(memory_address)
    if view.phase < Phase.PLAY:
        return expert_bid(view, legal_bits, numbers)
    return expert_card(view, legal_bits, numbers)


@kernel
def _expert_batch(
    views: States,
    bits: npt.NDArray[np.int64],
    rng: npt.NDArray[np.uint64],
    memory_address: int,
    actions: npt.NDArray[np.int64],
) -> None:
    for i in range(views.shape[0]):
        actions[i] = _expert(views[i], bits[i], memory_address)


def _expert_policy(
    view_address: int, legal_bits: int, stream: np.uint64, memory_address: int
) -> int:
    return _expert(row_at(view_address), legal_bits, memory_address)


class ExpertAgent(CompiledAgent):
    """Hand points against thresholds, then rules of thumb for every card; nothing at random."""

    name = "expert"
    batch, policy = staticmethod(_expert_batch), staticmethod(_expert_policy)

    def __init__(self, thresholds: Thresholds | None = None) -> None:
        """Take the numbers to play by; the tuned ones when None."""
        self.thresholds = thresholds or Thresholds()
        self.memory = self.thresholds.to_memory()


def expert_agent(argument: str = "") -> ExpertAgent:
    """The agent named ``expert``.

    Raises:
        ValueError: there is an argument.
    """
    if argument:
        raise ValueError("it takes no argument")
    return ExpertAgent()


def points_of(hand: str, trump: str, thresholds: Thresholds | None = None) -> float:
    """Hand points of named cards: ``points_of("JH JD AH 9C TC", "H")``.

    Raises:
        ValueError: no such cards, or no such suit.
    """
    if trump not in tuple(SUIT_NAMES):
        raise ValueError(f"trump={trump!r}: it is one of {', '.join(SUIT_NAMES)}")
    numbers = (thresholds or Thresholds()).to_memory()[0]
    return float(hand_points(card_set(hand), SUIT_NAMES.index(trump), numbers))
