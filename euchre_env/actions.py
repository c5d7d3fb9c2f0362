"""The acts: 42 numbers and their names, one action space under every set of rules.

==========  ===========================================================
0 .. 32     a card: played, or laid away in the phase ``DISCARD``
33 .. 36    name clubs, diamonds, hearts, spades as trump (R10, R13)
37          pass (R6, R7, R10)
38          order_up (R6)
39          accept (R7)
40, 41      take, leave (R8)
==========  ===========================================================

A set of acts is a 64-bit mask in which bit ``a`` is act ``a``.

>>> action_name(38), action_name(35), action_name(20)
('order_up', 'name:H', 'JH')
"""

from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from euchre_env.cards import CARD_NAMES, NUM_CARDS, NUM_SUITS, SUIT_NAMES, card_number

NAME: Final = NUM_CARDS
"""``NAME + suit`` names that suit as trump."""
PASS, ORDER_UP, ACCEPT, TAKE, LEAVE = range(NAME + NUM_SUITS, NAME + NUM_SUITS + 5)
NUM_ACTIONS: Final = LEAVE + 1

CARD_ACTIONS: Final = (1 << NUM_CARDS) - 1
"""Mask of the acts that are cards."""
NAME_ACTIONS: Final = sum(1 << (NAME + suit) for suit in range(NUM_SUITS))
"""Mask of the four acts that name a suit."""

NO_ACTION: Final = -1
"""In a history: no act yet."""
HIDDEN_DISCARD: Final = -2
"""In the history of a view: the dealer laid a card away, this seat does not know which."""

_WORDS: Final = {PASS: "pass", ORDER_UP: "order_up", ACCEPT: "accept", TAKE: "take", LEAVE: "leave"}
ACTION_NAMES: Final = tuple(
    CARD_NAMES[a] if a < NUM_CARDS else f"name:{SUIT_NAMES[a - NAME]}" if a < PASS else _WORDS[a]
    for a in range(NUM_ACTIONS)
)
"""``[action] -> name``; the phase tells whether a card is played or laid away."""

_NUMBERS: Final = {name: number for number, name in enumerate(ACTION_NAMES)}


class Phase(IntEnum):
    """What is to be done next; in which phase which acts belong stands beside each."""

    ORDER = 0
    """Round one, the nondealer: pass or order_up. R6."""
    ACCEPT = 1
    """Round one, the dealer: pass or accept. R7."""
    TAKE = 2
    """The dealer, ordered up: take or leave. R8."""
    DISCARD = 3
    """The dealer holds six cards and lays one away: a card. R7, R8, R9."""
    NAME_FIRST = 4
    """Round two, the nondealer: pass or name a suit. R10."""
    NAME_SECOND = 5
    """Round two, the dealer: pass (unless stuck) or name a suit. R10, R12."""
    NAME_BLIND = 6
    """The joker was turned up; the dealer names a suit before he sees his hand. R13."""
    PLAY = 7
    """A card to the trick. R14-R16."""
    DEAL_OVER = 8
    """No act: the deal is scored or thrown in, the next may be dealt. R11, R17, R20."""
    GAME_OVER = 9
    """No act: a player has reached the target. R19."""


NUM_PHASES: Final = len(Phase)


def action_name(action: int) -> str:
    """The name of an act 0..41: ``order_up``, ``name:H``, or a card's."""
    return ACTION_NAMES[action]


def action_number(name: str) -> int:
    """The number of a named act; ``play:JH`` and ``discard:JH`` name the card alike.

    Raises:
        ValueError: there is no such act; the text is quoted.
    """
    plain = name.strip()
    verb, colon, rest = plain.partition(":")
    if colon and verb in ("play", "discard"):
        return card_number(rest)
    if plain in _NUMBERS:
        return _NUMBERS[plain]
    if colon or len(plain) != 2:
        raise ValueError(
            f"{name!r} is no act: the acts are {', '.join(ACTION_NAMES[NAME:])} and the cards"
        )
    return card_number(plain)


def action_list(mask: int) -> list[int]:
    """The acts of a set, low number first."""
    return [action for action in range(NUM_ACTIONS) if int(mask) >> action & 1]


def mask_array(mask: int) -> npt.NDArray[np.int8]:
    """A set of acts as an int8 array of shape (42,), 1 where the act is in the set."""
    return np.array([int(mask) >> a & 1 for a in range(NUM_ACTIONS)], dtype=np.int8)
