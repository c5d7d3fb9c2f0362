"""The scripted expert: hand points against tuned thresholds, then points for every card.

It counts a hand's points for a suit as trump and bids where they reach a threshold; it plays the
card with the most points by a short list of rules of thumb (`LEADS`, `FOLLOWS`), each a number
times a weight. All numbers stand in one `Thresholds`, which the agent carries in its memory, so
that other numbers need no other code: ``benchmarks/tune_expert.py`` finds them by playing.

What the other player may still hold is counted (``views.may_hold``), so "sure" means sure.

Other agents bid by the same kernel with numbers of their own: `expert_bid`.

>>> round(points_of("JH JD AH 9C TC", "H"), 1) > round(points_of("9C TC QC KC AS", "H"), 1)
True
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from agents.base import CompiledAgent
from euchre_env.actions import ACCEPT, CARD_ACTIONS, LEAVE, NAME, ORDER_UP, PASS, TAKE, Phase
from euchre_env.cards import HAND_SIZE, NUM_RANKS, NUM_SUITS, SUIT_NAMES, card_set
from euchre_env.kernel import as_pointer, kernel, lowest, popcount
from euchre_env.rules import BEATS, EFFECTIVE_SUIT, STRENGTH, SUIT_CARDS
from euchre_env.state import States
from euchre_env.views import COMBINATIONS, hand_size, may_hold, row_at

_ORDER, _ACCEPT = int(Phase.ORDER), int(Phase.ACCEPT)
_TAKE, _DISCARD = int(Phase.TAKE), int(Phase.DISCARD)
_NAME_FIRST, _NAME_BLIND = int(Phase.NAME_FIRST), int(Phase.NAME_BLIND)

NUM_TRUMP_RANKS: Final = 11
"""Places of a trump: 7 8 9 T - Q K A, left bower, right bower, joker (the jack's own is empty)."""
_BEST_STRENGTH: Final = NUM_RANKS + NUM_TRUMP_RANKS - 1

LEADS: Final = (
    ("chance", "lead what is likely to win: certain side cards, then the next best"),
    ("trump", "lead trumps, or keep them"),
    ("trump_chance", "lead the trump that is likely to win while others are out"),
    ("strength", "lead high, or keep high cards back"),
    ("length", "lead from a long suit"),
    ("singleton", "lead a lone side card while trumps are held, to trump that suit later"),
    ("draws", "lead a trump where the other is likely to have one to be drawn"),
    ("last_trump", "lead the only trump, or keep it"),
)
"""``(number, rule)`` of a card to be led; each number is 0 to 1."""
FOLLOWS: Final = (
    ("wins", "win the trick"),
    ("ruffs", "win it with a trump, or keep the trump"),
    ("chance", "keep what is likely to win when led later"),
    ("trump", "keep trumps"),
    ("strength", "of those that do alike play the lowest"),
    ("singleton", "throw a lone side card while trumps are held, to trump that suit later"),
    ("guard", "do not bare a side card that is not sure yet"),
    ("last_trump", "keep the only trump"),
    ("control", "win the trick where the cards left are likely to win when led"),
)
"""``(number, rule)`` of a card to follow with; each number is 0 to 1."""
SITUATIONS: Final = tuple(
    f"{role}, trick {trick}" for role in ("maker", "defender") for trick in range(1, HAND_SIZE)
)
"""Rows of the weights; in the last trick there is nothing to choose."""

Row = tuple[float, ...]


@dataclass(frozen=True)
class Thresholds:
    """All numbers of the expert; a hand's points are in the same unit as the thresholds.

    Raises:
        ValueError: a number is not finite, or there are more or fewer of them.
    """

    trump_points: Row = (2.81, 2.26, 5.65, 5.74, 0.0, 6.25, 5.74, 6.51, 6.88, 8.42, 11.19)
    """A trump's points: 7 8 9 T - Q K A left right joker."""
    side_points: Row = (0.28, 0.78, -1.59, -0.81, -1.36, 0.15, 1.3, 2.77)
    """Any other card's points: 7 8 9 T J Q K A."""
    twin: float = -0.3
    """Added to the ace of the trump's colour twin: one card fewer can follow it."""
    void: float = 2.14
    """For each side suit that is not held, while a trump is."""
    length: float = 1.13
    """For each trump beyond the second."""
    order: float = 23.81
    """The nondealer orders up from so many points on. R6."""
    order_upcard: float = 0.78
    """Times the upcard's points are taken off before: the dealer may take it. R8."""
    accept: float = 12.42
    """The dealer accepts from so many points on, counted after the discard. R7."""
    take_gain: float = -0.54
    """The dealer takes an ordered-up card that gains so many points or more. R8."""
    name_first: float = 9.49
    """The nondealer names a suit from so many points on. R10."""
    name_second: float = 8.43
    """The dealer names a suit from so many points on. R10."""
    next_suit: float = 2.74
    """Added when the suit to be named is the colour twin of the one turned down."""
    lead: tuple[Row, ...] = (
        (0.79, -0.29, 0.74, -0.48, 0.59, -0.28, -0.04, -0.12),
        (0.59, -0.63, 0.72, -0.4, 0.61, -0.23, 0.02, -0.33),
        (0.94, -0.33, 0.32, -0.32, 0.94, 0.11, 0.04, -0.18),
        (1.16, -0.35, 0.55, -0.37, 0.67, 0.06, -0.23, -0.18),
        (0.29, -0.67, -0.27, 0.14, 0.53, -0.13, -0.27, 0.1),
        (0.6, -0.89, -0.36, -0.0, 0.36, 0.2, -0.07, 0.03),
        (0.56, -0.53, -0.48, -0.24, 0.7, 0.42, -0.22, -0.03),
        (1.09, -0.37, 0.06, 0.1, 0.33, 0.23, 0.06, 0.16),
    )
    """Weights of `LEADS` by `SITUATIONS`."""
    follow: tuple[Row, ...] = (
        (1.92, 0.09, -0.39, 0.07, -1.16, 0.07, 0.12, -0.15, 0.09),
        (1.97, 0.18, -0.18, -0.16, -1.21, 0.21, -0.07, -0.07, 0.0),
        (2.1, 0.03, -0.24, -0.36, -0.94, -0.08, -0.05, -0.08, 0.12),
        (2.3, -0.13, -0.27, -0.37, -0.99, -0.25, 0.17, 0.07, 0.15),
        (1.64, -0.08, -0.24, -0.37, -0.93, 0.27, -0.28, -0.02, 0.01),
        (1.71, -0.02, -0.27, -0.03, -0.84, -0.04, 0.26, -0.08, -0.13),
        (2.2, 0.06, -0.14, 0.01, -1.18, 0.38, 0.07, -0.14, -0.21),
        (2.6, 0.22, 0.1, 0.2, -1.43, 0.23, -0.11, 0.11, 0.11),
    )
    """Weights of `FOLLOWS` by `SITUATIONS`."""

    def __post_init__(self) -> None:
        """Check every number."""
        for field in dataclasses.fields(self):
            value, shape = getattr(self, field.name), SHAPES[field.name]
            try:
                numbers = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError):
                numbers = np.empty(0)
            if numbers.shape != shape:
                raise ValueError(f"{field.name}={value!r}: numbers of shape {shape} are expected")
            if not np.isfinite(numbers).all():
                raise ValueError(f"{field.name}={value!r}: every number is finite")

    def to_memory(self) -> npt.NDArray[Any]:
        """The numbers as kernels read them: one record, dtype `NUMBERS_DTYPE`, shape (1,)."""
        memory = np.zeros(1, dtype=NUMBERS_DTYPE)
        for field in dataclasses.fields(self):
            memory[field.name][0] = getattr(self, field.name)
        return memory


SHAPES: Final[dict[str, tuple[int, ...]]] = {
    **{field.name: () for field in dataclasses.fields(Thresholds)},
    "trump_points": (NUM_TRUMP_RANKS,),
    "side_points": (NUM_RANKS,),
    "lead": (len(SITUATIONS), len(LEADS)),
    "follow": (len(SITUATIONS), len(FOLLOWS)),
}
"""``name -> shape`` of the numbers of `Thresholds`."""
NUMBERS_DTYPE: Final = np.dtype(
    (np.record, np.dtype([(name, np.float64, shape) for name, shape in SHAPES.items()]))
)
"""`Thresholds` in memory."""


@kernel
def numbers_at(address: int) -> np.record:
    """The `Thresholds` at an address, as `expert_bid` and the like take them."""
    return numba.carray(as_pointer(address), (1,), NUMBERS_DTYPE)[0]


# --- hand points --------------------------------------------------------------------------------


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


# --- bids ---------------------------------------------------------------------------------------


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


# --- play ---------------------------------------------------------------------------------------


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


# --- the agent ----------------------------------------------------------------------------------


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
