"""The numbers of the scripted expert: what a card, a void, a bid and a way to play are worth.

All stand in one frozen `Thresholds`, which an agent carries in its memory as a record of dtype
`NUMBERS_DTYPE`; ``benchmarks/tune_expert.py`` finds them by playing. Read by `agents.expert_bids`
and `agents.expert`.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from euchre_env.cards import HAND_SIZE, NUM_RANKS
from euchre_env.kernel import as_pointer, kernel

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
