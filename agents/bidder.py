"""The bidder: bids and discards from a table that regret made, cards by search.

The table (`agents.bid_table`, made by ``python -m agents.cfr``) has the probabilities of every bid
and discard for every hand and upcard; cards are played as ``search`` plays them. Under rules for
which no table was made (another deck, a joker, and what else `bid_table.BID_OPTIONS` lists), and
where the table knows nothing, it bids by hand points as ``search`` does.

Names: ``bidder`` (40 worlds), ``bidder:worlds=200``, ``bidder:worlds=all``.
"""

from dataclasses import dataclass, field
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from agents.base import CompiledAgent, at_the_door, streams
from agents.bid_table import (
    MOST_ACTS,
    BidTable,
    act_weights,
    bid_rules,
    shipped_table,
    table_at,
)
from agents.expert_bids import expert_bid
from agents.search import SETTINGS_DTYPE, Settings, name_of, parse_worlds, search_card
from euchre_env.actions import NUM_ACTIONS, Phase
from euchre_env.dealing import mix
from euchre_env.kernel import as_pointer, int64, kernel, lowest
from euchre_env.state import States, new_states
from euchre_env.views import row_at

_PLAY, _NAME_BLIND = int(Phase.PLAY), int(Phase.NAME_BLIND)
_11, _UNIT = np.uint64(11), 2.0**-53
LEAST: Final = 0.2
"""Bids less likely than this part of the likeliest one are not made: most are noise of learning."""


@dataclass(frozen=True)
class BidderSettings:
    """How a bidder plays.

    Raises:
        ValueError: a number out of range.
    """

    search: Settings = field(default_factory=Settings)
    """How cards are played, and bids where there is no table."""
    least: float = LEAST
    """Acts less likely than this part of the likeliest are left out, 0 to 1; 1: no chance."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 <= self.least <= 1:
            raise ValueError(f"least={self.least}: it is 0 to 1")


BIDDER_DTYPE: Final = np.dtype(
    (
        np.record,
        np.dtype(
            [
                ("search", SETTINGS_DTYPE),
                ("bid_address", np.int64),
                ("rules", np.int64),
                ("least", np.float64),
            ]
        ),
    )
)
"""`BidderSettings` in memory, where the table of bids lies, and the rules it was made for."""


@kernel
def bidder_at(address: int) -> np.record:
    """The record of dtype `BIDDER_DTYPE` at an address."""
    return numba.carray(as_pointer(address), (1,), BIDDER_DTYPE)[0]


@kernel
def _has_table(view: np.record, memory: np.record) -> bool:
    """Whether the decision is one that the table was made for."""
    return view.phase < _PLAY and view.phase != _NAME_BLIND and bid_rules(view) == memory.rules


@kernel
def table_bid(view: np.record, legal_bits: int, stream: np.uint64, memory: np.record) -> int:
    """The bid or discard drawn from the table; -1 where it knows nothing.

    Args:
        view: before play.
        legal_bits: mask of the legal acts, not 0.
        stream: key of the random stream.
        memory: a record of dtype `BIDDER_DTYPE`.
    """
    if not _has_table(view, memory):
        return -1
    weights = np.empty(MOST_ACTS)
    total = act_weights(table_at(memory.bid_address), view, legal_bits, memory.least, weights)
    if total <= 0:
        return -1
    rest = float(mix(stream) >> _11) * _UNIT * total
    left, last, k = legal_bits, int64(-1), 0
    while left:
        if weights[k] > 0:
            last = lowest(left)
            rest -= weights[k]
            if rest < 0:
                return last
        left &= left - 1
        k += 1
    return last


@kernel
def _bidder(view: np.record, legal_bits: int, stream: np.uint64, memory_address: int) -> int:
    """The bidder's act; always one of ``legal_bits``."""
    memory = bidder_at(memory_address)
    if view.phase == _PLAY:
        return search_card(view, legal_bits, stream, memory.search)
    action = table_bid(view, legal_bits, stream, memory)
    return action if action >= 0 else expert_bid(view, legal_bits, memory.search.bids)


@kernel
def _bidder_batch(
    views: States,
    bits: npt.NDArray[np.int64],
    rng: npt.NDArray[np.uint64],
    memory_address: int,
    actions: npt.NDArray[np.int64],
) -> None:
    for i in range(views.shape[0]):
        actions[i] = _bidder(views[i], bits[i], rng[i], memory_address)


def _bidder_policy(
    view_address: int, legal_bits: int, stream: np.uint64, memory_address: int
) -> int:
    return _bidder(row_at(view_address), legal_bits, stream, memory_address)


@kernel
def _write_probabilities(
    views: States,
    bits: npt.NDArray[np.int64],
    memory_address: int,
    probabilities: npt.NDArray[np.float64],
) -> None:
    """Fill the rows that the table decides; the others are left."""
    memory = bidder_at(memory_address)
    weights = np.empty(MOST_ACTS)
    for i in range(views.shape[0]):
        if not _has_table(views[i], memory):
            continue
        left, k = bits[i], 0
        total = act_weights(table_at(memory.bid_address), views[i], left, memory.least, weights)
        while left and total > 0:
            probabilities[i, lowest(left)] = weights[k] / total
            left &= left - 1
            k += 1


class BidderAgent(CompiledAgent):
    """Bids and discards from a table of probabilities, cards by search."""

    batch, policy = staticmethod(_bidder_batch), staticmethod(_bidder_policy)

    def __init__(
        self, settings: BidderSettings | None = None, table: BidTable | None = None
    ) -> None:
        """Take the settings to play by and the table to bid by; those that ship when None."""
        self.settings = settings or BidderSettings()
        self.table = table or shipped_table()
        self._bids = np.ascontiguousarray(self.table.probabilities)
        self.memory = self._to_memory()
        self.name = name_of(self.settings.search.worlds).replace("search", "bidder")

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are made anew: the memory holds addresses of this process."""
        return type(self), (self.settings, self.table)

    def _to_memory(self) -> npt.NDArray[Any]:
        memory = np.zeros(1, dtype=BIDDER_DTYPE)
        memory["search"] = self.settings.search.to_memory()
        memory["bid_address"] = self._bids.ctypes.data
        memory["rules"] = int(bid_rules(new_states(1, self.table.rules)[0]))
        memory["least"] = self.settings.least
        return memory

    def probabilities(
        self, views: States, action_masks: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.float64]:
        """How likely each act is, for whoever needs to know how it plays.

        Bids and discards have the table's probabilities. What is not drawn from the table (cards,
        and bids by hand points) is the one act that is chosen with a fixed stream of worlds.

        Args:
            views: shape (n,), as for `act`.
            action_masks: shape (n, 42).

        Returns:
            float64, shape (n, 42), rows that sum to 1.

        Raises:
            ValueError: what `agents.base.at_the_door` refuses.
        """
        rows, masks, bits = at_the_door(views, action_masks)
        chances = np.zeros((len(rows), NUM_ACTIONS))
        _write_probabilities(rows, bits, self.memory_address, chances)
        rest = np.flatnonzero(chances.sum(axis=1) == 0)
        if len(rest):
            keys = np.repeat(streams(0, 1), len(rest))
            chances[rest, self.act(rows[rest], masks[rest], keys)] = 1.0
        return chances


def bidder_agent(argument: str = "") -> BidderAgent:
    """The agent named ``bidder``.

    Args:
        argument: ``""``, ``"worlds=200"`` or ``"worlds=all"``, as for ``search``.

    Raises:
        ValueError: another argument.
    """
    return BidderAgent(BidderSettings(search=Settings(worlds=parse_worlds(argument))))
