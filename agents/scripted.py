"""Agents by rule of thumb, compiled: ``random`` and ``novice``, under every set of rules."""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.base import CompiledAgent, at_the_door
from euchre_env.actions import ACCEPT, CARD_ACTIONS, NAME, ORDER_UP, PASS, TAKE, Phase
from euchre_env.cards import NUM_SUITS
from euchre_env.dealing import mix
from euchre_env.engine import draw_action
from euchre_env.kernel import kernel, lowest, popcount
from euchre_env.rules import BEATS, STRENGTH, SUIT_CARDS
from euchre_env.state import States
from euchre_env.views import row_at

_ORDER, _ACCEPT = int(Phase.ORDER), int(Phase.ACCEPT)
_TAKE, _PLAY = int(Phase.TAKE), int(Phase.PLAY)

ENOUGH_TRUMPS: Final = 3
"""Trumps with which the novice makes trump."""


# --- random -------------------------------------------------------------------------------------


@kernel
def _random(view: np.record, legal_bits: int, stream: np.uint64) -> int:
    """One of the legal acts, each as likely."""
    return draw_action(legal_bits, mix(stream))


@kernel
def _random_batch(
    views: States,
    bits: npt.NDArray[np.int64],
    rng: npt.NDArray[np.uint64],
    memory_address: int,
    actions: npt.NDArray[np.int64],
) -> None:
    for i in range(views.shape[0]):
        actions[i] = _random(views[i], bits[i], rng[i])


def _random_policy(
    view_address: int, legal_bits: int, stream: np.uint64, memory_address: int
) -> int:
    return _random(row_at(view_address), legal_bits, stream)


class RandomAgent(CompiledAgent):
    """Does any legal act, each as likely."""

    name = "random"
    batch, policy = staticmethod(_random_batch), staticmethod(_random_policy)

    def probabilities(
        self, views: States, action_masks: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.float64]:
        """Every legal act is as likely (see `agents.base.ProbabilisticAgent`).

        Args:
            views: shape (n,), as for `act`.
            action_masks: shape (n, 42), 1 = legal.

        Returns:
            float64, shape (n, 42).

        Raises:
            ValueError: what `agents.base.at_the_door` refuses.
        """
        legal = at_the_door(views, action_masks)[1] != 0
        chances: npt.NDArray[np.float64] = legal / legal.sum(axis=1, keepdims=True)
        return chances


# --- novice -------------------------------------------------------------------------------------


@kernel
def _highest_card(cards: int, trump: int) -> int:
    """The strongest card of a set that is not empty; the lowest number among equals."""
    best: int = lowest(cards)
    left = cards
    while left:
        card = lowest(left)
        left &= left - 1
        if STRENGTH[trump, card] > STRENGTH[trump, best]:
            best = card
    return best


@kernel
def _lowest_card(cards: int, trump: int) -> int:
    """The weakest card of a set that is not empty; the lowest number among equals."""
    best: int = lowest(cards)
    left = cards
    while left:
        card = lowest(left)
        left &= left - 1
        if STRENGTH[trump, card] < STRENGTH[trump, best]:
            best = card
    return best


@kernel
def _longest_suit(hand: int, names: int) -> int:
    """Of the suits that may be named, the one with most trumps in the hand; the first of equals."""
    best, most = -1, -1
    for suit in range(NUM_SUITS):
        if names >> (NAME + suit) & 1:
            num_trumps = popcount(hand & SUIT_CARDS[suit, suit])
            if num_trumps > most:
                best, most = suit, num_trumps
    return best


@kernel
def _novice_bid(view: np.record, legal_bits: int) -> int:
    """What the novice would like to bid; it need not be legal."""
    hand = view.hands[view.seat]
    phase = view.phase
    if phase == _TAKE:
        return TAKE
    if phase == _ORDER:
        trumps = hand & SUIT_CARDS[view.turned_suit, view.turned_suit]
        return ORDER_UP if popcount(trumps) >= ENOUGH_TRUMPS else PASS
    if phase == _ACCEPT:
        with_upcard = hand | (np.int64(1) << view.upcard)
        trumps = with_upcard & SUIT_CARDS[view.turned_suit, view.turned_suit]
        return ACCEPT if popcount(trumps) >= ENOUGH_TRUMPS else PASS
    suit = _longest_suit(hand, legal_bits)
    if suit < 0:
        return PASS
    has_enough = popcount(hand & SUIT_CARDS[suit, suit]) >= ENOUGH_TRUMPS
    may_pass = legal_bits >> PASS & 1
    return NAME + suit if has_enough or not may_pass else PASS


@kernel
def _novice_card(view: np.record, cards: int) -> int:
    """The card the novice plays or lays away, one of ``cards``."""
    trump = view.trump
    if view.phase != _PLAY:
        return _lowest_card(cards, trump)
    if view.led_card < 0:
        return _highest_card(cards, trump)
    winning = cards & BEATS[trump, view.led_card]
    return _lowest_card(winning if winning else cards, trump)


@kernel
def _novice(view: np.record, legal_bits: int, stream: np.uint64) -> int:
    """The novice's act; always one of ``legal_bits``."""
    cards = legal_bits & CARD_ACTIONS
    if cards:
        return _novice_card(view, cards)
    action = _novice_bid(view, legal_bits)
    return action if legal_bits >> action & 1 else lowest(legal_bits)


@kernel
def _novice_batch(
    views: States,
    bits: npt.NDArray[np.int64],
    rng: npt.NDArray[np.uint64],
    memory_address: int,
    actions: npt.NDArray[np.int64],
) -> None:
    for i in range(views.shape[0]):
        actions[i] = _novice(views[i], bits[i], rng[i])


def _novice_policy(
    view_address: int, legal_bits: int, stream: np.uint64, memory_address: int
) -> int:
    return _novice(row_at(view_address), legal_bits, stream)


class NoviceAgent(CompiledAgent):
    """A beginner's rules of thumb, the same under every set of rules; draws nothing at random.

    - Orders up with three trumps in hand; the dealer accepts with three, the upcard counted.
    - Names the suit of which it holds most if that is three or more (the first of equals).
    - Stuck, it names the suit of which it holds most; blind, the first suit.
    - Takes the upcard when ordered up.
    - Lays away its weakest card, a trump last.
    - Leads its strongest card, a trump first.
    - Follows with the weakest card that wins the trick, else with its weakest card.
    """

    name = "novice"
    batch, policy = staticmethod(_novice_batch), staticmethod(_novice_policy)


# --- factories, for the registry ----------------------------------------------------------------


def _refuse(argument: str) -> None:
    if argument:
        raise ValueError("it takes no argument")


def random_agent(argument: str = "") -> RandomAgent:
    """The agent named ``random``.

    Raises:
        ValueError: there is an argument.
    """
    _refuse(argument)
    return RandomAgent()


def novice_agent(argument: str = "") -> NoviceAgent:
    """The agent named ``novice``.

    Raises:
        ValueError: there is an argument.
    """
    _refuse(argument)
    return NoviceAgent()
