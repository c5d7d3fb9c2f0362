"""What has happened in a deal, told from its history: bids by seat, tricks, the result.

Text and pictures of the table read this. It takes views and full states alike; what a view does
not know is told as unknown.
"""

from typing import Final, NamedTuple

import numpy as np

from euchre_env.actions import (
    ACCEPT,
    HIDDEN_DISCARD,
    LEAVE,
    NAME,
    ORDER_UP,
    PASS,
    TAKE,
    Phase,
)
from euchre_env.cards import JOKER, NUM_RANKS, NUM_SUITS, SUIT_WORDS
from euchre_env.rules import BEATS, EFFECTIVE_SUIT, STRENGTH
from euchre_env.state import NO_SUIT, NOBODY

BID_WORDS: Final = {
    PASS: "passes",
    ORDER_UP: "orders up",
    ACCEPT: "accepts",
    TAKE: "takes it",
    LEAVE: "leaves it",
    **{NAME + suit: f"names {SUIT_WORDS[suit]}" for suit in range(NUM_SUITS)},
}
"""``bid -> what the seat does``, as a spectator would say it."""
_DEALER_GOES_ON: Final = (ORDER_UP, ACCEPT, TAKE)
_BOWERS: Final = {2 * NUM_RANKS: "left bower", 2 * NUM_RANKS + 1: "right bower"}


class Bid(NamedTuple):
    """An act before play."""

    seat: int
    action: int
    """The act; a card is the discard, `HIDDEN_DISCARD` one that the view does not know."""

    @property
    def is_discard(self) -> bool:
        """Whether a card was laid away."""
        return self.action == HIDDEN_DISCARD or self.action < NAME

    @property
    def words(self) -> str:
        """What the seat did: ``orders up``, ``lays one away``."""
        return "lays one away" if self.is_discard else BID_WORDS[self.action]


class Trick(NamedTuple):
    """A trick of the deal, the one on the table included."""

    leader: int
    cards: tuple[int, ...]
    """The card led and, once it is there, the one that answered it."""
    winner: int
    """The seat that took it, or ``NOBODY`` while a card is missing."""

    def card_of(self, seat: int) -> int | None:
        """The card that a seat played to it, if it has."""
        place = 0 if seat == self.leader else 1
        return self.cards[place] if place < len(self.cards) else None


def bids_of(view: np.record) -> list[Bid]:
    """The acts before play, in order, each with its seat. R6-R13."""
    dealer = int(view.dealer)
    is_blind = view.upcard == JOKER and view.turned_suit == NO_SUIT
    passes = 0
    bids: list[Bid] = []
    for action in _acts(view)[: int(view.num_actions) - _num_played(view)]:
        is_dealers = (
            is_blind or passes % 2 == 1 or bool(bids and bids[-1].action in _DEALER_GOES_ON)
        )
        bids.append(Bid(dealer if is_dealers else 1 - dealer, action))
        passes += action == PASS
    return bids


def tricks_of(view: np.record) -> list[Trick]:
    """The deal's tricks, in order; the last may lack its second card. R14-R16."""
    cards = _acts(view)[int(view.num_actions) - _num_played(view) :]
    tricks = []
    for place in range(0, len(cards), 2):
        pair = tuple(cards[place : place + 2])
        leader = int(view.leads[1]) >> (place // 2) & 1
        winner = NOBODY
        if len(pair) == 2:
            is_beaten = int(BEATS[view.trump, pair[0]]) >> pair[1] & 1
            winner = 1 - leader if is_beaten else leader
        tricks.append(Trick(leader, pair, winner))
    return tricks


def result_of(view: np.record) -> str:
    """What the deal that is over came to, in one sentence; empty while it goes on. R11, R17."""
    if view.phase < Phase.DEAL_OVER:
        return ""
    if view.maker == NOBODY:
        return "both passed twice: thrown in" if view.dealer != NOBODY else "nothing dealt yet"
    maker, defender = int(view.maker), 1 - int(view.maker)
    points = [int(points) for points in view.points]
    if points[defender]:
        return f"seat {maker} is euchred: {points[defender]} to seat {defender}"
    if points[maker] > 1:
        return f"seat {maker} marches: {points[maker]} points"
    return f"seat {maker} makes it: 1 point"


def bower_of(card: int, trump: int) -> str:
    """``right bower``, ``left bower`` or nothing. R3."""
    return "" if trump == NO_SUIT else _BOWERS.get(int(STRENGTH[trump, card]), "")


def is_trump(card: int, trump: int) -> bool:
    """Whether a card counts as trump: joker and left bower do. R3, R4."""
    return trump != NO_SUIT and int(EFFECTIVE_SUIT[trump, card]) == trump


def in_hand_order(cards: list[int], trump: int) -> list[int]:
    """Cards as a player sorts them: trumps first, suits together, high cards left."""
    if trump == NO_SUIT:
        return sorted(cards, key=lambda card: (card // NUM_RANKS, -card))
    strength, suits = STRENGTH[trump], EFFECTIVE_SUIT[trump]
    return sorted(cards, key=lambda c: (not is_trump(c, trump), int(suits[c]), -int(strength[c])))


def _acts(view: np.record) -> list[int]:
    return [int(action) for action in view.history[: int(view.num_actions)]]


def _num_played(view: np.record) -> int:
    return sum(int(mask).bit_count() for mask in view.played)
