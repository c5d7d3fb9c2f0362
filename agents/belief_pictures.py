"""Beliefs to look at: a table for the terminal, a heat map for a notebook or a page."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from agents.beliefs import Belief
from euchre_env.cards import (
    JOKER,
    NUM_RANKS,
    NUM_SUITS,
    RANK_NAMES,
    SUIT_SYMBOLS,
    card_list,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

_PARTS: Final = ("in_hand", "laid_away", "in_stock")
_TITLES: Final = ("in his hand", "laid away", "not dealt")


def _grids(belief: Belief) -> list[tuple[str, npt.NDArray[np.float64]]]:
    """Title and grid [suit, rank] of each part worth showing; NaN where the seat sees the card."""
    is_dark = (belief.in_hand + belief.laid_away + belief.in_stock) > 0
    found = []
    for part, title in zip(_PARTS, _TITLES, strict=True):
        chances = np.where(is_dark, getattr(belief, part), np.nan)
        if part != "laid_away" or np.nansum(chances) > 0:
            found.append((title, chances[:JOKER].reshape(NUM_SUITS, NUM_RANKS)))
    return found


def _ranks(belief: Belief) -> list[int]:
    """The ranks that the deck has, low to high."""
    return sorted({card % NUM_RANKS for card in card_list(belief.view[0].deck) if card != JOKER})


def _joker_text(belief: Belief) -> str:
    """How likely the joker is where, in words; empty when it is seen, or not in the deck."""
    where = [f"{title} {100 * getattr(belief, part)[JOKER]:.0f}%"
             for part, title in zip(_PARTS, _TITLES, strict=True)
             if getattr(belief, part)[JOKER] > 0]  # fmt: skip
    return f"joker: {', '.join(where)}" if where else ""


def _caption(belief: Belief) -> str:
    hands = len(np.unique(belief.hands))
    told = f"{hands:,} hands fit, as open as {belief.effective_worlds:,.0f} equally likely worlds"
    joker = _joker_text(belief)
    return f"{told}; {joker}" if joker else told


def table_of(belief: Belief, name: str) -> "Table":
    """A belief as a rich table: suits down, ranks across, per cent.

    Args:
        belief: what is shown.
        name: of the model.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    drawn = Table(
        box=SIMPLE_HEAD,
        title=f"The other player's cards, if he plays like {name}, per cent",
        caption=_caption(belief),
    )
    ranks = _ranks(belief)
    drawn.add_column("")
    drawn.add_column("")
    for rank in ranks:
        drawn.add_column(RANK_NAMES[rank], justify="right")
    for title, grid in _grids(belief)[:-1]:  # what is left of 100 has not been dealt
        for suit in range(NUM_SUITS):
            shown = [grid[suit, rank] for rank in ranks]
            drawn.add_row(
                "" if suit else title,
                SUIT_SYMBOLS[suit],
                *("" if np.isnan(each) else f"{100 * each:.0f}" for each in shown),
                end_section=suit == NUM_SUITS - 1,
            )
    return drawn


def heat_map_of(belief: Belief, name: str) -> "Figure":
    """A belief as a heat map: one panel for his hand, one for each other place.

    Args:
        belief: what is drawn.
        name: of the model.

    Returns:
        A matplotlib figure; no display is needed.

    Raises:
        ImportError: matplotlib is missing.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as problem:
        raise ImportError(
            "heat maps need matplotlib: pip install 'euchre-env[evaluate]'"
        ) from problem
    grids, ranks = _grids(belief), _ranks(belief)
    width = max(0.5 * len(ranks) * len(grids) + 0.8, 6.0)
    figure = Figure(figsize=(width, 3.1), layout="constrained")
    axes: Any = figure.subplots(1, len(grids), squeeze=False)[0]
    for ax, (title, grid) in zip(axes, grids, strict=True):
        _draw_grid(ax, title, grid[:, ranks], ranks)
    figure.suptitle(f"The other player's cards, if he plays like {name}, per cent", fontsize=10)
    figure.supxlabel(_caption(belief), fontsize=8)
    return figure


def _draw_grid(ax: Any, title: str, grid: npt.NDArray[np.float64], ranks: list[int]) -> None:
    """One panel: a cell a card, darker the likelier, grey where the seat sees the card."""
    ax.set_facecolor("#e4e4e4")
    ax.imshow(grid, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    for suit, row in enumerate(grid):
        for place, chance in enumerate(row):
            if not np.isnan(chance):
                ax.text(
                    place, suit, f"{100 * chance:.0f}", ha="center", va="center", fontsize=9,
                    color="white" if chance > 0.55 else "black",
                )  # fmt: skip
    ax.set_xticks(range(len(ranks)), [RANK_NAMES[rank] for rank in ranks])
    ax.set_yticks(range(NUM_SUITS), SUIT_SYMBOLS)
    for suit, label in enumerate(ax.get_yticklabels()):
        label.set_color("#b3261e" if suit in (1, 2) else "black")
        label.set_fontsize(12)
    ax.tick_params(length=0)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.set_title(title, fontsize=9)
