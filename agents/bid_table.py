"""A table of bids: probabilities for every hand of five and every upcard of the 24-card deck.

Renaming suits changes nothing, so a hand is looked up by what its suits are to the upcard: its
own suit, the colour twin, and the two others in the order of what is held in them. That leaves
105,798 rows. A row holds the probabilities of seven decisions, side by side (`DECISIONS`), each
as a byte.

`read_table` checks what it reads: format, rules, shape, sums, checksum; nothing in a file is
executed. ``agents/cfr.py`` makes the table that ships.
"""

import functools
import hashlib
import io
import itertools
import json
import zipfile
from dataclasses import dataclass
from importlib import resources
from math import comb
from pathlib import Path
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from euchre_env.actions import ACCEPT, NAME, ORDER_UP, PASS, TAKE, Phase
from euchre_env.cards import ACE, HAND_SIZE, NINE, NUM_RANKS, NUM_SUITS
from euchre_env.kernel import as_pointer, int64, kernel, lowest
from euchre_env.rules import Rules

DECISIONS: Final = (
    ("order", ("pass", "order_up")),
    ("accept", ("pass", "accept")),
    ("take", ("leave", "take")),
    ("name_first", ("pass", "turned", "twin", "more", "less")),
    ("name_second", ("pass", "turned", "twin", "more", "less")),
    ("discard_accepted", ("1st", "2nd", "3rd", "4th", "5th", "upcard")),
    ("discard_taken", ("1st", "2nd", "3rd", "4th", "5th", "upcard")),
)
"""``(decision, its acts)``. Suits to name: the one turned down, its colour twin, and the other two
as the hand is sorted; cards to lay away: the cards dealt in the order of the row, the upcard."""
STARTS: Final = tuple(itertools.accumulate((len(acts) for _, acts in DECISIONS), initial=0))
NUM_SLOTS: Final = STARTS[-1]
"""Probabilities in a row."""
MOST_ACTS: Final = max(len(acts) for _, acts in DECISIONS)
_ORDER, _ACCEPT, _TAKE, _NAME_FIRST, _NAME_SECOND, _DISCARD_ACCEPTED, _DISCARD_TAKEN = range(
    len(DECISIONS)
)
_DECISION_STARTS: Final = np.array(STARTS[:-1], dtype=np.int64)
_PHASE_DECISIONS: Final = np.full(len(Phase), -1, dtype=np.int64)
for _phase, _decision in (
    (Phase.ORDER, _ORDER),
    (Phase.ACCEPT, _ACCEPT),
    (Phase.TAKE, _TAKE),
    (Phase.NAME_FIRST, _NAME_FIRST),
    (Phase.NAME_SECOND, _NAME_SECOND),
    (Phase.DISCARD, _DISCARD_ACCEPTED),
):
    _PHASE_DECISIONS[_phase] = _decision

_SUIT_RANKS: Final = ACE - NINE + 1
_SUIT_LANE: Final = (1 << _SUIT_RANKS) - 1
_OTHERS: Final = NUM_SUITS * _SUIT_RANKS - 1
_HANDS: Final = comb(_OTHERS, HAND_SIZE)
NUM_ROWS: Final = _SUIT_RANKS * _HANDS
"""Rows in memory: every hand by every rank of the upcard, suits that could be swapped twice."""
_COLEX: Final = np.array(
    [[comb(n, k + 1) for k in range(HAND_SIZE)] for n in range(_OTHERS)], dtype=np.int64
)
_DISCARD_PHASE, _UPCARD_SLOT = int(Phase.DISCARD), HAND_SIZE


@kernel
def suit_order(hand: int, upcard: int) -> int:
    """Which suit stands where: two bits a suit, its place 0..3 among turned, twin, more, less.

    Args:
        hand: the five cards dealt, a mask.
        upcard: the card turned up, no joker.
    """
    turned = upcard // NUM_RANKS
    first = int64(1) if turned == 0 or turned == 3 else int64(0)  # the lower of the other colour
    second = 3 - first
    holds_more = hand >> (NUM_RANKS * second) & 255 > hand >> (NUM_RANKS * first) & 255
    more, less = (second, first) if holds_more else (first, second)
    return 1 << 2 * (3 - turned) | 2 << 2 * more | 3 << 2 * less


@kernel
def _place(card: int, upcard: int, order: int) -> int:
    """Where a card stands among the 23 that are not the upcard, the hand's suits in order."""
    suit = card // NUM_RANKS
    place = (order >> 2 * suit & 3) * _SUIT_RANKS + card % NUM_RANKS - NINE
    return place - (place > upcard % NUM_RANKS - NINE)


@kernel
def hand_row(hand: int, upcard: int, order: int) -> int:
    """The row of a hand and upcard, 0..`NUM_ROWS` - 1; `order` from `suit_order`."""
    places, left = int64(0), hand
    while left:
        places |= int64(1) << _place(lowest(left), upcard, order)
        left &= left - 1
    row = (upcard % NUM_RANKS - NINE) * _HANDS
    for k in range(HAND_SIZE):
        row += _COLEX[lowest(places), k]
        places &= places - 1
    return row


@kernel
def dealt_cards(view: np.record) -> int:
    """The five cards that the seat to act was dealt, before play. R9."""
    hand = view.hands[view.to_act & 1]
    if view.phase == _DISCARD_PHASE:
        hand &= ~(int64(1) << view.upcard)
    return hand


@kernel
def decision_start(view: np.record) -> int:
    """The first slot of the decision that the seat to act has."""
    decision = _PHASE_DECISIONS[view.phase & 15]
    if view.phase == _DISCARD_PHASE and view.maker != view.to_act:
        decision = _DISCARD_TAKEN
    return _DECISION_STARTS[decision]


@kernel
def act_slot(hand: int, upcard: int, order: int, action: int) -> int:
    """The slot of an act inside its decision.

    Args:
        hand: the five cards dealt, a mask.
        upcard: the card turned up.
        order: from `suit_order`.
        action: a bid, or a card to lay away.
    """
    if action < NAME:
        if action == upcard:
            return _UPCARD_SLOT
        place, slot, left = _place(action, upcard, order), int64(0), hand
        while left:
            slot += _place(lowest(left), upcard, order) < place
            left &= left - 1
        return slot
    if action < PASS:
        return 1 + (order >> 2 * (action - NAME) & 3)
    return int64(action == ORDER_UP or action == ACCEPT or action == TAKE)


# --- probabilities ------------------------------------------------------------------------------


@kernel
def act_weights(
    table: npt.NDArray[np.uint8],
    view: np.record,
    legal_bits: int,
    least: float,
    weights: npt.NDArray[np.float64],
) -> float:
    """The weights that a table gives to the legal acts.

    Args:
        table: uint8, shape (`NUM_ROWS` * `NUM_SLOTS`,), row after row.
        view: at a decision of the table.
        legal_bits: mask of the legal acts, not 0.
        least: acts with less than this part of the largest weight get none: 0 keeps all, 1 only
            the likeliest.
        weights: float64, shape (`MOST_ACTS`,), written: in the order of the acts' numbers.

    Returns:
        Their sum; 0 where the table knows nothing.
    """
    hand, upcard = dealt_cards(view), view.upcard
    order = suit_order(hand, upcard)
    start = hand_row(hand, upcard, order) * NUM_SLOTS + decision_start(view)
    left, count, most = legal_bits, 0, 0.0
    while left:
        weights[count] = table[start + act_slot(hand, upcard, order, lowest(left))]
        most = max(most, weights[count])
        left &= left - 1
        count += 1
    total = 0.0
    for k in range(count):
        if weights[k] < least * most:
            weights[k] = 0.0
        total += weights[k]
    return total


@kernel
def table_at(address: int) -> npt.NDArray[np.uint8]:
    """The table at an address, as `act_weights` takes it."""
    return numba.carray(as_pointer(address), (NUM_ROWS * NUM_SLOTS,), np.uint8)


@kernel
def bid_rules(view: np.record) -> int:
    """A number for what `BID_OPTIONS` are in a state or view; equal where they are."""
    code = int64(view.order_up_pickup)
    code = 2 * code + view.discard_upcard
    code = 3 * code + view.allow_turned_down_suit
    code = 2 * code + view.stick_the_dealer
    code = 2 * code + view.super_euchre
    return view.deck * 64 + code


# --- all hands, and how rows are kept -----------------------------------------------------------


@functools.cache
def _every_hand() -> npt.NDArray[np.int64]:
    """The 33,649 hands in the order of the rows: places among the 23, shape (hands, 5)."""
    chosen = np.array(list(itertools.combinations(range(_OTHERS), HAND_SIZE)), dtype=np.int64)
    ranks = _COLEX[chosen, np.arange(HAND_SIZE)].sum(axis=1)
    hands = np.empty_like(chosen)
    hands[ranks] = chosen
    return hands


def every_hand(upcard_rank: int) -> npt.NDArray[np.int64]:
    """The hands of all rows that have an upcard of a rank, in the order of the rows.

    The turned suit is clubs, its twin spades, and the other two, sorted, diamonds and hearts.

    Args:
        upcard_rank: 2..7, nine to ace.

    Returns:
        Masks, int64, shape (33649,); see `is_sorted`.
    """
    place = upcard_rank - NINE
    places = _every_hand() + (_every_hand() >= place)
    suits = np.array([0, 3, 1, 2])[places // _SUIT_RANKS]
    cards = NUM_RANKS * suits + places % _SUIT_RANKS + NINE
    hands: npt.NDArray[np.int64] = (np.int64(1) << cards).sum(axis=1)
    return hands


@functools.cache
def is_sorted() -> npt.NDArray[np.bool_]:
    """Which rows are ever looked up: bool, shape (`NUM_ROWS`,), 105,798 of them."""
    hands = every_hand(ACE)  # the upcard has no part in the order
    more, less = hands >> NUM_RANKS & 255, hands >> 2 * NUM_RANKS & 255
    return np.tile(more >= less, _SUIT_RANKS)


FORMAT: Final = "euchre_env table of bids 1"
_NAMES: Final = ("format", "rules", "probabilities", "checksum")
SHIPPED: Final = "bids.npz"
_MAX_BYTES: Final = 64_000_000
BID_OPTIONS: Final = (
    "lowest_rank",
    "joker",
    "order_up_pickup",
    "discard_upcard",
    "allow_turned_down_suit",
    "stick_the_dealer",
    "super_euchre",
)
"""The rules that change what a bid is worth; a table holds for one setting of them."""


@dataclass(frozen=True, eq=False)
class BidTable:
    """Probabilities of bids for every hand and upcard, and the rules they were made for."""

    probabilities: npt.NDArray[np.uint8]
    """``[row, slot]``: shape (`NUM_ROWS`, `NUM_SLOTS`), a decision's sum about 255, or 0 where
    nothing is known."""
    rules: Rules

    def __post_init__(self) -> None:
        """Check the shape and the sums."""
        table = self.probabilities
        if table.shape != (NUM_ROWS, NUM_SLOTS) or table.dtype != np.uint8:
            raise ValueError(
                f"a table of bids is uint8 of shape ({NUM_ROWS}, {NUM_SLOTS}), "
                f"not {table.dtype} of shape {table.shape}"
            )
        for (name, _), start, end in zip(DECISIONS, STARTS, STARTS[1:], strict=False):
            sums = table[:, start:end].sum(axis=1, dtype=np.int64)
            if ((sums != 0) & (abs(sums - 255) > MOST_ACTS)).any():
                raise ValueError(f"probabilities of {name!r} do not add up")

    def fits(self, rules: Rules) -> bool:
        """Whether it was made for rules under which bids are worth the same."""
        return all(getattr(rules, name) == getattr(self.rules, name) for name in BID_OPTIONS)


def from_weights(weights: npt.NDArray[Any], rules: Rules) -> BidTable:
    """A table from weights above 0 of any size: float, shape (`NUM_ROWS`, `NUM_SLOTS`)."""
    table = np.zeros(weights.shape, dtype=np.uint8)
    for start, end in itertools.pairwise(STARTS):
        part = weights[:, start:end].astype(np.float64)
        total = part.sum(axis=1, keepdims=True)
        table[:, start:end] = np.rint(255 * part / np.where(total > 0, total, 1))
    return BidTable(table, rules)


def _checksum(rules: bytes, probabilities: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    digest = hashlib.sha256(FORMAT.encode() + rules + probabilities.tobytes()).digest()
    return np.frombuffer(digest, dtype=np.uint8)


def write_table(path: Path, table: BidTable) -> None:
    """Save a table: only the rows that are looked up, slot by slot, compressed.

    Raises:
        OSError: the file cannot be written.
    """
    rules = json.dumps(table.rules.changed()).encode()
    kept = np.ascontiguousarray(table.probabilities[is_sorted()].T)
    arrays: dict[str, Any] = {
        "format": np.frombuffer(FORMAT.encode(), dtype=np.uint8),
        "rules": np.frombuffer(rules, dtype=np.uint8),
        "probabilities": kept,
        "checksum": _checksum(rules, kept),
    }
    np.savez_compressed(path, **arrays)


def read_table(path: Path) -> BidTable:
    """Read a table that `write_table` saved; nothing in the file is executed.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is no such table, or was damaged; the message names the file.
    """
    return _parse(path.read_bytes(), str(path))


def _parse(data: bytes, name: str) -> BidTable:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > _MAX_BYTES:
                raise ValueError("it unpacks to more than a table of bids")
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            if sorted(arrays.files) != sorted(_NAMES):
                raise ValueError("it holds other things than a table of bids")
            form, rules, kept, checksum = (arrays[part] for part in _NAMES)
        if form.tobytes() != FORMAT.encode():
            raise ValueError(f"its format is not {FORMAT!r}")
        if kept.dtype != np.uint8 or kept.shape != (NUM_SLOTS, int(is_sorted().sum())):
            raise ValueError(f"its probabilities are {kept.dtype} of shape {kept.shape}")
        if not np.array_equal(_checksum(rules.tobytes(), kept), checksum):
            raise ValueError("its checksum is wrong: it was damaged or changed")
        table = np.zeros((NUM_ROWS, NUM_SLOTS), dtype=np.uint8)
        table[is_sorted()] = kept.T
        return BidTable(table, Rules(**json.loads(rules.tobytes())))
    except (ValueError, TypeError, EOFError, zipfile.BadZipFile) as problem:
        raise ValueError(f"{name} is no table of bids: {problem}") from problem


@functools.cache
def shipped_table() -> BidTable:
    """The table that comes with the package, made by ``python -m agents.cfr``."""
    data = resources.files("agents").joinpath("data", SHIPPED).read_bytes()
    return _parse(data, SHIPPED)
