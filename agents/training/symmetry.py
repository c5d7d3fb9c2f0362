"""The one symmetry that relative suits leave: the two suits of the other colour may be swapped.

Suits are named from the upcard: the turned suit, its twin in colour, then the other two, low number
first. No rule tells those two apart, so a position in which they are swapped is worth the same, and
its acts are the same acts with the suits swapped. (Rules that name a fixed suit for a turned-up
joker do tell them apart, in the deals where the joker is turned.)
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.training.open_critic import HIDDEN_PLACES, OPEN_SIZE
from euchre_env.actions import NAME, NUM_ACTIONS
from euchre_env.cards import CARD_NAMES, NUM_CARDS, NUM_RANKS, NUM_SUITS, SUIT_NAMES
from euchre_env.observation import OBSERVATION_FIELDS, OBSERVATION_SIZE, STARTS

_SUITS: Final = (0, 1, 3, 2)
"""``[relative suit] -> suit`` when the third and the fourth are swapped."""


def _swapped_cards() -> npt.NDArray[np.int64]:
    cards = np.arange(NUM_CARDS)
    for suit, other in enumerate(_SUITS):
        for rank in range(NUM_RANKS):
            cards[NUM_RANKS * suit + rank] = NUM_RANKS * other + rank
    return cards


def _swapped_actions() -> npt.NDArray[np.int64]:
    actions = np.arange(NUM_ACTIONS)
    actions[:NUM_CARDS] = _swapped_cards()
    actions[NAME : NAME + NUM_SUITS] = NAME + np.array(_SUITS)
    return actions


def _swapped_places() -> npt.NDArray[np.int64]:
    places = np.arange(OPEN_SIZE)
    for field in OBSERVATION_FIELDS:
        start = STARTS[field.name]
        if field.labels == CARD_NAMES:
            places[start : start + NUM_CARDS] = start + _swapped_cards()
        elif field.labels[:NUM_SUITS] == tuple(SUIT_NAMES):
            places[start : start + NUM_SUITS] = start + np.array(_SUITS)
    hidden = np.searchsorted(HIDDEN_PLACES, places[HIDDEN_PLACES])
    places[OBSERVATION_SIZE:] = OBSERVATION_SIZE + hidden
    return places


SWAPPED_ACTIONS: Final = _swapped_actions()
"""``[act] -> act`` with the two suits swapped; its own inverse. int64, shape (42,)."""
SWAPPED_PLACES: Final = _swapped_places()
"""``observation[SWAPPED_PLACES]`` is the observation with the two suits swapped, hidden places
included; its own inverse. int64, shape (`OPEN_SIZE`,)."""
