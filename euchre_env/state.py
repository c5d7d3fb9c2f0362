"""The state of n games: one NumPy structured array, a commented record a game.

``states = new_states(4096, Rules())`` is an array of shape (4096,) whose rows are games; copy
rows to copy games, look inside with ``states["scores"]``. A row holds everything: the rules it is
played by, the cards, the deal's whole history (perfect recall), the scores, and the game's own
random stream. Kernels read and write single rows as ``state.trump``.

A seat's *view* (``views.blank``) has the same record with all blanked that the seat cannot know.
"""

from enum import IntEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NO_ACTION, Phase
from euchre_env.rules import OPTION_VALUES, Rules

NUM_SEATS: Final = 2
MAX_ACTIONS: Final = 14
"""Acts of the longest deal: four bids and ten plays."""

NOBODY: Final = -1
"""No seat: there is no maker yet, no winner, nobody to act."""
NO_CARD: Final = -1
NO_SUIT: Final = -1


class UpcardPlace(IntEnum):
    """Where the upcard is."""

    TURNED_UP = 0
    """On the table, proposing its suit. R5."""
    TAKEN = 1
    """In the dealer's hand, played, or (``discard_upcard``) laid away. R7, R8, R13."""
    LEFT = 2
    """Out of play: the dealer was ordered up and left it. R8."""
    TURNED_DOWN = 3
    """Out of play: both passed in round one. R10."""


STATE_FIELDS: Final[tuple[tuple[str, type, tuple[int, ...], str], ...]] = (
    ("stream", np.uint64, (), "key of the game's own random numbers; 0 in a view"),
    ("deck", np.int64, (), "mask of the cards in use. R2"),
    ("hands", np.int64, (2,), "by seat: mask of the cards held; in a view, of those known. R5"),
    ("played", np.int64, (2,), "by seat: mask of the cards played in this deal"),
    ("scores", np.int32, (2,), "by seat: points of the game so far. R19"),
    ("target_score", np.int32, (), "points that win the game. R19"),
    ("num_draws", np.int32, (), "deals drawn from the stream since it was seeded; 0 in a view"),
    ("deal_number", np.int32, (), "deals of this game, this one and those thrown in included"),
    ("tricks", np.int16, (2,), "by seat: tricks won in this deal"),
    ("voids", np.int16, (2,), "by seat: bit s set once it failed to follow suit s. R15"),
    ("points", np.int16, (2,), "by seat: what this deal scored, once it is over. R17"),
    ("history", np.int8, (MAX_ACTIONS,), "the deal's acts in order; NO_ACTION where none yet"),
    ("num_actions", np.int8, (), "acts of the deal so far"),
    ("phase", np.int8, (), "what is to be done: actions.Phase"),
    ("to_act", np.int8, (), "the seat whose act it is; NOBODY between deals"),
    ("dealer", np.int8, (), "the seat that dealt. R5, R20"),
    ("upcard", np.int8, (), "the card turned up, wherever it went. R5"),
    ("upcard_place", np.int8, (), "where it is: UpcardPlace"),
    ("turned_suit", np.int8, (), "the suit it proposes; NO_SUIT when the joker names blind. R13"),
    ("trump", np.int8, (), "suit, or NO_SUIT while none is made"),
    ("maker", np.int8, (), "the seat that made trump, or NOBODY"),
    ("discard", np.int8, (), "the card the dealer laid away, or NO_CARD; his secret. R9, R22"),
    ("led_card", np.int8, (), "the card to be answered in this trick, or NO_CARD on lead"),
    ("leads", np.int8, (2,), "by seat: bit t set once it led trick t of this deal. R14, R16"),
    ("winner", np.int8, (), "the seat that won the game, or NOBODY. R19"),
    ("seat", np.int8, (), "in a view, the seat that sees it; NOBODY in a full state"),
    *((option, np.int8, (), f"rules: place of its value in {option}") for option in OPTION_VALUES),
)
"""``(name, dtype, shape, meaning)`` of every field of a row, in an order and of sizes that leave
no padding: NumPy does not copy padding, so equal rows could differ in their bytes."""

STATE_DTYPE: Final = np.dtype(
    (
        np.record,
        np.dtype([(name, kind, shape) for name, kind, shape, _ in STATE_FIELDS], align=True),
    )
)
"""One game. Rows of this dtype read alike in NumPy, in Numba and under ``NUMBA_DISABLE_JIT=1``."""

States = npt.NDArray[Any]
"""An array of games (dtype `STATE_DTYPE`), rows read as ``np.record``."""

BLANK_DEAL: Final = {
    "history": NO_ACTION,
    "to_act": NOBODY,
    "dealer": NOBODY,
    "upcard": NO_CARD,
    "turned_suit": NO_SUIT,
    "trump": NO_SUIT,
    "maker": NOBODY,
    "discard": NO_CARD,
    "led_card": NO_CARD,
    "winner": NOBODY,
    "seat": NOBODY,
    "phase": int(Phase.DEAL_OVER),
}
"""What the fields hold before the first deal, where that is not 0."""


def new_states(num_games: int, rules: Rules | None = None) -> States:
    """An array of games, nothing dealt yet.

    Args:
        num_games: rows of the array, 1 or more.
        rules: what is played; the 24-card game when None.

    Returns:
        Array of dtype `STATE_DTYPE`, shape ``(num_games,)``, for ``dealing.seed_streams`` and
        ``engine.start_games``.

    Raises:
        ValueError: ``num_games`` is below 1.
    """
    if num_games < 1:
        raise ValueError(f"num_games={num_games}: there is at least one game")
    states = np.zeros(num_games, dtype=STATE_DTYPE)
    for name, value in {**BLANK_DEAL, **(rules or Rules()).codes()}.items():
        states[name] = value
    return states


def rules_of(state: np.record) -> Rules:
    """The rules that a game (or a view of it) is played by."""
    return Rules.from_codes(state)
