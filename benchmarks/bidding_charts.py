"""The bidding charts of ``docs/bidding.md``: what the shipped table does with which hand.

    python benchmarks/bidding_charts.py            # writes the tables and the picture of the page
    python benchmarks/bidding_charts.py --table bids.npz --page page.md --picture page.png

Every hand that can be dealt beside an upcard counts alike (R5); in round two by how likely it is
that its player passed in round one.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import tyro

from agents.bid_table import (
    DECISIONS,
    STARTS,
    BidTable,
    every_hand,
    is_sorted,
    read_table,
    shipped_table,
)
from euchre_env.cards import ACE, HAND_SIZE, JACK, NINE, NUM_RANKS, RANK_NAMES, card
from euchre_env.rules import SUIT_CARDS

ROOT: Final = Path(__file__).parents[1]
BEGIN, END = "<!-- charts: made by benchmarks/bidding_charts.py -->", "<!-- end of charts -->"
TURNED, TWIN, MORE, LESS = 0, 3, 1, 2
"""The suits of the hands of `every_hand`: clubs turned up, spades, diamonds, hearts."""
BOWERS: Final = ("no bower", "left", "right", "both")
Floats = npt.NDArray[np.float64]


class Hands(NamedTuple):
    """All hands that a table knows, one a row, 105,798 of them."""

    hands: npt.NDArray[np.int64]
    """Masks."""
    upcards: npt.NDArray[np.int64]
    """Ranks of the upcard."""
    weights: Floats
    """How many suit arrangements a row stands for."""
    shares: dict[str, Floats]
    """Probabilities by decision: (n, acts)."""


class Chart(NamedTuple):
    """A table of shares with what its rows and columns stand for."""

    title: str
    rows: tuple[str, ...]
    row_word: str
    columns: tuple[str, ...]
    shares: Floats
    """(rows, columns), NaN where no hand is."""


def popcounts(masks: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Cards in each set."""
    counts: npt.NDArray[np.int64] = np.bitwise_count(masks).astype(np.int64)
    return counts


def all_hands(table: BidTable) -> Hands:
    """The rows of a table that are looked up, with what is known of each."""
    ranks = range(NINE, ACE + 1)
    kept = is_sorted()
    hands = np.concatenate([every_hand(rank) for rank in ranks])
    upcards = np.repeat(np.array(ranks), len(hands) // len(ranks))
    is_even = hands >> NUM_RANKS * MORE & 255 == hands >> NUM_RANKS * LESS & 255
    shares = {}
    for (name, _), start, end in zip(DECISIONS, STARTS, STARTS[1:], strict=False):
        part = table.probabilities[kept, start:end].astype(np.float64)
        shares[name] = part / np.maximum(part.sum(axis=1, keepdims=True), 1)
    return Hands(hands[kept], upcards[kept], np.where(is_even, 1.0, 2.0)[kept], shares)


def num_trumps(hands: npt.NDArray[np.int64], suit: int) -> npt.NDArray[np.int64]:
    """Trumps held when a suit is trump, the left bower among them. R3."""
    return popcounts(hands & int(SUIT_CARDS[suit, suit]))


def bowers(hands: npt.NDArray[np.int64], suit: int) -> npt.NDArray[np.int64]:
    """Bowers held: the place in `BOWERS`."""
    left, right = hands >> card(JACK, 3 - suit) & 1, hands >> card(JACK, suit) & 1
    return left + 2 * right


def mean_shares(
    rows: npt.NDArray[np.int64],
    columns: npt.NDArray[np.int64],
    shape: tuple[int, int],
    shares: Floats,
    weights: Floats,
) -> Floats:
    """Weighted mean of shares in each cell; NaN where nothing is."""
    total, summed = np.zeros(shape), np.zeros(shape)
    np.add.at(total, (rows, columns), weights)
    np.add.at(summed, (rows, columns), weights * shares)
    return np.where(total > 0, summed / np.where(total > 0, total, 1), np.nan)


def _by_upcard(known: Hands, decision: str, title: str) -> Chart:
    """How often the upcard's suit is made trump, by trumps held beside it and by its rank."""
    trumps = num_trumps(known.hands, TURNED)
    shape = (HAND_SIZE + 1, ACE - NINE + 1)
    shares = mean_shares(
        trumps, known.upcards - NINE, shape, known.shares[decision][:, 1], known.weights
    )
    columns = tuple(RANK_NAMES[NINE:])
    return Chart(title, tuple(map(str, range(shape[0]))), "trumps", columns, shares)


def _by_bowers(known: Hands, decision: str, title: str) -> Chart:
    """The same by trumps and bowers held, whatever the upcard is but for the jack."""
    rows = num_trumps(known.hands, TURNED)
    is_no_jack = known.upcards != JACK
    shares = mean_shares(
        rows[is_no_jack],
        bowers(known.hands, TURNED)[is_no_jack],
        (HAND_SIZE + 1, len(BOWERS)),
        known.shares[decision][is_no_jack, 1],
        known.weights[is_no_jack],
    )
    return Chart(title, tuple(map(str, range(HAND_SIZE + 1))), "trumps", BOWERS, shares)


def _names(known: Hands, decision: str, before: str, title: str) -> Chart:
    """How often a suit is named, by the trumps in the longest that may be, and its bowers."""
    suits = np.array([TWIN, MORE, LESS])
    trumps = np.stack([num_trumps(known.hands, int(suit)) for suit in suits])
    held = np.stack([bowers(known.hands, int(suit)) for suit in suits])
    best = (10 * trumps + held).argmax(axis=0)  # the longest; of equals the one with more bowers
    rows = np.arange(len(known.hands))
    passed = known.shares[before][:, 0] * known.weights
    shares = mean_shares(
        trumps[best, rows],
        held[best, rows],
        (HAND_SIZE + 1, len(BOWERS)),
        1 - known.shares[decision][:, 0],
        passed,
    )
    labels = tuple(map(str, range(HAND_SIZE + 1)))
    return Chart(title, labels, "longest suit", BOWERS, shares)


def charts(table: BidTable) -> list[Chart]:
    """All charts of the page, in its order."""
    known = all_hands(table)
    return [
        _by_upcard(known, "accept", "The dealer accepts, by trumps beside the upcard and its rank"),
        _by_bowers(known, "accept", "The dealer accepts, by trumps beside the upcard and bowers"),
        _by_upcard(known, "order", "The nondealer orders up, by trumps and the upcard's rank"),
        _by_bowers(known, "order", "The nondealer orders up, by trumps and bowers"),
        _names(known, "name_first", "order", "The nondealer names a suit after the turn-down"),
        _names(known, "name_second", "accept", "The dealer names a suit, last of all"),
    ]


def cell_text(share: float) -> str:
    """A share in whole per cent; ``-`` where no hand is."""
    return "-" if np.isnan(share) else f"{100 * share:.0f}"


def markdown(found: Sequence[Chart]) -> str:
    """The charts as Markdown tables, per cent."""
    parts = []
    for chart in found:
        has_hands = np.asarray(~np.isnan(chart.shares).all(axis=1))
        lines = [
            f"**{chart.title}** (per cent)",
            "",
            f"| {chart.row_word} | " + " | ".join(chart.columns) + " |",
            "|---" * (len(chart.columns) + 1) + "|",
        ]
        for label, shares, is_shown in zip(chart.rows, chart.shares, has_hands, strict=True):
            if is_shown:
                lines.append(f"| {label} | " + " | ".join(map(cell_text, shares)) + " |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def into_page(page: str, text: str) -> str:
    """A page with the charts between their two marks.

    Raises:
        ValueError: the marks are not there.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN!r} ... {END!r}")
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def draw(found: Sequence[Chart], path: Path) -> None:
    """Three charts as heat maps in one picture.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise ImportError("the picture needs matplotlib: pip install 'euchre-env[evaluate]'") from (
            problem
        )
    titles = (
        "Dealer accepts",
        "Nondealer orders up",
        "Turned down, nondealer names",
    )
    across = ("upcard", "upcard", "its bowers")
    down = ("trumps in hand, upcard not counted", "trumps in hand", "cards of the longest suit")
    figure = Figure(figsize=(10.5, 3.9), layout="constrained")
    for place, (axes, number) in enumerate(zip(figure.subplots(1, 3), (0, 2, 4), strict=True)):
        chart = found[number]
        has_hands = np.asarray(~np.isnan(chart.shares).all(axis=1))
        shares, labels = chart.shares[has_hands], np.array(chart.rows)[has_hands]
        axes.imshow(shares, cmap="Blues", vmin=0, vmax=1.15, aspect="auto", origin="lower")
        for (row, column), share in np.ndenumerate(shares):
            colour = "white" if share > 0.6 else "#333333"
            axes.text(column, row, cell_text(share), ha="center", va="center", color=colour)
        axes.set_xticks(range(len(chart.columns)), chart.columns)
        axes.set_yticks(range(len(labels)), labels)
        axes.tick_params(length=0)
        axes.set_xlabel(across[place])
        axes.set_ylabel(down[place])
        axes.set_title(titles[place], fontsize=11, loc="left")
        axes.spines[:].set_visible(False)
        axes.set_xticks(np.arange(0.5, len(chart.columns) - 1), minor=True)
        axes.set_yticks(np.arange(0.5, len(labels) - 1), minor=True)
        axes.grid(which="minor", color="white", linewidth=2)
        axes.tick_params(which="minor", length=0)
    figure.suptitle("How often, per cent of the hands", fontsize=10, x=0.99, ha="right")
    figure.savefig(path, dpi=110, metadata={"Software": ""})


@dataclass(frozen=True)
class Args:
    """Write the charts of a table of bids into a page, and draw them."""

    table: Path | None = None
    """a file of ``python -m agents.cfr``; the table that ships when none is named"""
    page: Path = ROOT / "docs" / "bidding.md"
    """where the tables go, between two marks"""
    picture: Path = ROOT / "docs" / "images" / "bidding.png"
    """where the picture goes"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code, 2 for what cannot be done."""
    args = tyro.cli(Args, description=__doc__, args=arguments)
    try:
        found = charts(shipped_table() if args.table is None else read_table(args.table))
        page = into_page(args.page.read_text(encoding="utf-8"), markdown(found))
        draw(found, args.picture)
        args.page.write_text(page, encoding="utf-8")
    except (ValueError, OSError, ImportError) as problem:
        print(f"bidding_charts.py: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
