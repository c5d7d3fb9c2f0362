"""The search agent: draws what the other may hold, looks every card up with all hands open.

Perfect-information Monte Carlo (Ginsberg, JAIR 2001; why it works: Long et al., AAAI 2010): of
the worlds that fit the view some are drawn, each legal card is worth the mean of its points in
them under best open play (`agents.pimc`), and the best is played or laid away. Open hands price a
bid as if both would see all cards afterwards, so bids go by hand points instead
(`agents.expert_bids.expert_bid`), with thresholds tuned for this play.

Names: ``search`` (40 worlds), ``search:worlds=200``, ``search:worlds=all`` (every world that fits).
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from agents.base import CompiledAgent
from agents.expert_bids import expert_bid
from agents.open_hands import open_hands, open_hands_at
from agents.pimc import (
    MAX_CHOICES,
    NUM_GAINS,
    all_hands,
    best_card,
    draw_hands,
    value_cards,
    write_gains,
)
from agents.thresholds import NUMBERS_DTYPE, Thresholds
from agents.worlds import count_hands
from euchre_env.actions import CARD_ACTIONS
from euchre_env.kernel import as_pointer, kernel, lowest
from euchre_env.state import States
from euchre_env.views import row_at

DEFAULT_WORLDS: Final = 40
ALL: Final = "all"
MAX_WORLDS: Final = 1_000_000

BIDS: Final = Thresholds(
    trump_points=(3.602, 2.019, 5.612, 5.608, 0.414, 5.566, 5.546, 5.811, 7.055, 8.153, 11.813),
    side_points=(-0.651, 1.049, -0.556, 0.145, -1.209, 0.484, 1.215, 2.303),
    twin=-0.838,
    void=1.911,
    length=0.655,
    order=24.308,
    order_upcard=0.684,
    accept=13.191,
    take_gain=-0.365,
    name_first=9.081,
    name_second=8.114,
    next_suit=2.751,
)
"""Thresholds of the bids, tuned for this card play by ``benchmarks/tune_search.py``."""


@dataclass(frozen=True)
class Settings:
    """How a search agent plays.

    Raises:
        ValueError: a number out of range.
    """

    worlds: int = DEFAULT_WORLDS
    """Worlds drawn for a decision, 1 or more; all that fit where there are no more than these.
    0: always all that fit."""
    trick_weight: float = 0.0
    """Points that a trick counts for beside the points of the deal, 0 or more."""
    bids: Thresholds = field(default=BIDS)
    """Hand points for bids."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 <= self.worlds <= MAX_WORLDS:
            raise ValueError(f"worlds={self.worlds}: it is 1 to {MAX_WORLDS}, or 0 for all")
        if not 0 <= self.trick_weight < np.inf:
            raise ValueError(f"trick_weight={self.trick_weight}: it is 0 or more")

    def to_memory(self) -> npt.NDArray[Any]:
        """The settings as kernels read them: one record, dtype `SETTINGS_DTYPE`, shape (1,)."""
        memory = np.zeros(1, dtype=SETTINGS_DTYPE)
        memory["table_address"] = open_hands().address
        memory["worlds"], memory["trick_weight"] = self.worlds, self.trick_weight
        memory["bids"] = self.bids.to_memory()
        return memory


SETTINGS_DTYPE: Final = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("table_address", np.int64),
                ("worlds", np.int64),
                ("trick_weight", np.float64),
                ("bids", NUMBERS_DTYPE),
            ]
        ),
    )
)
"""`Settings` in memory, and where the open-hand table lies."""


@kernel
def settings_at(address: int) -> np.record:
    """The `Settings` at an address."""
    return numba.carray(as_pointer(address), (1,), SETTINGS_DTYPE)[0]


@kernel
def card_values(
    view: np.record,
    cards: int,
    stream: np.uint64,
    settings: np.record,
    totals: npt.NDArray[np.float64],
) -> float:
    """Sum up what each card is worth over worlds that fit, all of them or drawn.

    Args:
        view: to play, or to lay away.
        cards: the legal ones, a mask that is not 0.
        stream: key of the random stream.
        settings: a record of dtype `SETTINGS_DTYPE`.
        totals: float64, shape (6,) or more, written as ``pimc.value_cards`` does.

    Returns:
        The weights of the worlds, summed: totals over it are points.
    """
    num, trump = count_hands(view), view.trump & 3
    has_all = settings.worlds == 0 or num <= settings.worlds
    if not has_all:
        num = settings.worlds
    hands = np.empty(num, dtype=np.int64)
    numbers = np.empty(num + NUM_GAINS, dtype=np.float64)
    weights, gains = numbers[:num], numbers[num:]
    if has_all:
        all_hands(view, trump, hands, weights)
    else:
        draw_hands(view, trump, stream, hands)
        weights[:] = 1.0
    write_gains(view, settings.trick_weight, gains)
    value_cards(view, cards, open_hands_at(settings.table_address), hands, weights, gains, totals)
    return float(weights.sum())


@kernel
def search_card(view: np.record, cards: int, stream: np.uint64, settings: np.record) -> int:
    """The card to play or lay away, one of ``cards``.

    Args:
        view: to play, or to lay away.
        cards: the legal ones, a mask that is not 0.
        stream: key of the random stream.
        settings: a record of dtype `SETTINGS_DTYPE`.
    """
    if cards & (cards - 1) == 0:
        return lowest(cards)
    totals = np.empty(MAX_CHOICES, dtype=np.float64)
    card_values(view, cards, stream, settings, totals)
    return best_card(view.trump & 3, cards, totals)


@kernel
def _search(view: np.record, legal_bits: int, stream: np.uint64, memory_address: int) -> int:
    """The search agent's act; always one of ``legal_bits``."""
    settings = settings_at(memory_address)
    if legal_bits & CARD_ACTIONS:
        return search_card(view, legal_bits, stream, settings)
    return expert_bid(view, legal_bits, settings.bids)


@kernel
def _search_batch(
    views: States,
    bits: npt.NDArray[np.int64],
    rng: npt.NDArray[np.uint64],
    memory_address: int,
    actions: npt.NDArray[np.int64],
) -> None:
    for i in range(views.shape[0]):
        actions[i] = _search(views[i], bits[i], rng[i], memory_address)


def _search_policy(
    view_address: int, legal_bits: int, stream: np.uint64, memory_address: int
) -> int:
    return _search(row_at(view_address), legal_bits, stream, memory_address)


class SearchAgent(CompiledAgent):
    """Plays the card that does best on average over drawn worlds, with all hands open in each.

    - Bids by hand points, as the expert does, with thresholds of its own.
    - Plays and lays away the card with the most points on average; among equals a side card
      rather than a trump, and the lowest of its suit.
    - Goes through all worlds that fit, each weighted by the ways it can come about, where they
      are no more than it would draw; else draws them, hands of one shuffle disjoint.
    """

    batch, policy = staticmethod(_search_batch), staticmethod(_search_policy)
    rows_a_thread = 512

    def __init__(self, settings: Settings | None = None) -> None:
        """Take the settings to play by; 40 worlds when None."""
        self.settings = settings or Settings()
        self.memory = self.settings.to_memory()
        self.name = name_of(self.settings.worlds)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made anew: the memory holds an address of this process."""
        return type(self), (self.settings,)


def name_of(worlds: int) -> str:
    """The name under which tables show the agent; 0 stands for all worlds."""
    if worlds == DEFAULT_WORLDS:
        return "search"
    return f"search:worlds={worlds or ALL}"


def parse_worlds(argument: str) -> int:
    """The number of worlds that a name asks for: ``worlds=40``, ``worlds=all`` (0), or none.

    Raises:
        ValueError: another text.
    """
    if not argument:
        return DEFAULT_WORLDS
    name, _, value = argument.partition("=")
    if name == "worlds" and value == ALL:
        return 0
    if name == "worlds" and value.isascii() and value.isdigit() and 1 <= int(value) <= MAX_WORLDS:
        return int(value)
    raise ValueError(f"it takes worlds=1 to worlds={MAX_WORLDS}, or worlds={ALL}")


def search_agent(argument: str = "") -> SearchAgent:
    """The agent named ``search``.

    Args:
        argument: ``""``, ``"worlds=200"`` or ``"worlds=all"``.

    Raises:
        ValueError: another argument.
    """
    return SearchAgent(Settings(worlds=parse_worlds(argument)))
