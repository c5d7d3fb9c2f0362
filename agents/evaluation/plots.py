"""The pictures of a tournament: ratings, table of payoffs, bids, differences deal by deal.

Each function draws one `matplotlib.figure.Figure`; nothing is shown and no global state stays
changed. `svg_text` makes text to put into a page, where colours are CSS variables, so that a
picture follows the page's light or dark colours; `save` writes a picture file on white.

Needs matplotlib: ``pip install 'euchre-env[evaluate]'``.
"""

import io
import math
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from agents.evaluation.ratings import need
from agents.evaluation.tournament_tables import signed
from agents.evaluation.tournaments import Pairing, Standing, Tournament

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, RULE = "#1b1f24", "#5c6670", "#d5dae0"
WIN, EVEN, LOSS = "#1f6fb4", "#9aa4ae", "#cf5a1c"
"""Blue and orange: told apart by every kind of colour vision, and in print."""
CSS_COLOURS: Final = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    RULE: "var(--rule)",
    WIN: "var(--win)",
    EVEN: "var(--even)",
    LOSS: "var(--loss)",
}
"""What a colour is called in a page's style sheet."""
STYLE: Final[dict[Any, Any]] = {
    "axes.edgecolor": RULE,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": INK,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "figure.facecolor": "white",
    "axes.facecolor": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "grid.color": RULE,
    "grid.linewidth": 0.7,
    "svg.fonttype": "none",
    "svg.hashsalt": "euchre_env",
    "text.color": INK,
    "text.parse_math": False,
    "xtick.color": RULE,
    "xtick.labelcolor": MUTED,
    "xtick.labelsize": 8,
    "ytick.color": RULE,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 9,
    "ytick.major.size": 0,
}
"""How all of them look."""
RATE_PANELS: Final = (
    ("round 1", "accept", "order_up"),
    ("round 2", "name", "name"),
    ("maker", "maker", "maker"),
    ("march", "march", "march"),
    ("euchred", "euchred", "euchred"),
)
"""Title, the dealer's rate, the nondealer's rate."""


@contextmanager
def _figure(width: float, height: float, rows: int = 1, columns: int = 1) -> Iterator[Any]:
    """A figure in our style and its axes, a NumPy array of shape (rows, columns)."""
    need("matplotlib")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        yield figure, axes


def short(name: str, width: int = 18) -> str:
    """A name on two lines at most, cut where it is longer."""
    lines = textwrap.wrap(name, width) or [""]
    if len(lines) > 2:
        lines = [lines[0], lines[1][: width - 1] + "…"]
    return "\n".join(lines)


def _signed(value: float, digits: int = 3) -> str:
    return signed(value, digits).replace("-", "−")


def _agents_on_y(axes: "Axes", standings: Sequence[Standing], *, labels: bool = True) -> None:
    axes.set_ylim(len(standings) - 0.5, -0.5)
    names = [short(standing.agent) for standing in standings] if labels else []
    axes.set_yticks(range(len(standings)) if labels else [], names)
    axes.grid(visible=False, axis="y")


# --- ratings ------------------------------------------------------------------------------------


def ratings(tournament: Tournament) -> "Figure":
    """Each agent's rating with its 95% interval, best on top."""
    standings = tournament.standings
    with _figure(5.6, 0.75 + 0.36 * len(standings)) as (figure, ((axes,),)):
        places = range(len(standings))
        values = [standing.rating.mean for standing in standings]
        errors = [standing.rating.high - standing.rating.mean for standing in standings]
        axes.axvline(0, color=EVEN, linewidth=1)
        axes.barh(places, values, height=0.5, color=WIN, alpha=0.28)
        axes.errorbar(
            values, places, xerr=errors, fmt="o", color=WIN, markersize=5, capsize=3, linewidth=1.5
        )
        span = max(max(map(abs, values)), 1.0)
        for place, value, error in zip(places, values, errors, strict=True):
            right = value >= 0
            axes.annotate(
                f"{_signed(value, 0)} ± {error:.0f}",
                (value + (error if right else -error), place),
                xytext=(7 if right else -7, 0),
                textcoords="offset points",
                va="center",
                ha="left" if right else "right",
                fontsize=8.5,
            )
        reach = 1.6 * (span + max(errors))
        axes.set_xlim(-reach if min(values) < 0 else -0.1 * reach, reach)
        axes.set_xlabel("rating (400 points: ten pairs won for each one lost)")
        _agents_on_y(axes, standings)
    return figure


# --- payoffs ------------------------------------------------------------------------------------


def strength(value: float, largest: float) -> float:
    """How strongly a payoff is coloured, 0 to 1: by its root, so that small ones can be seen."""
    return math.sqrt(min(1.0, abs(value) / largest)) if largest > 0 else 0.0


def payoffs(tournament: Tournament) -> "Figure":
    """The table as a heat map: points per deal of the row's agent, with half the interval."""
    names = [short(name, 13) for name in tournament.agents]
    num = len(names)
    values, halves = tournament.payoffs, tournament.half_widths
    largest = float(np.abs(values).max())
    not_clear = unclear(tournament)
    with _figure(1.6 + 0.95 * num, 1.1 + 0.62 * num) as (figure, ((axes,),)):
        for row in range(num):
            for column in range(num):
                if row == column:
                    continue
                value = float(values[row, column])
                axes.add_patch(_cell(row, column, value, largest))
                note = "" if (row, column) not in not_clear else " n.s."
                axes.text(column, row - 0.12, _signed(value), ha="center", va="center")
                half = float(halves[row, column])
                text = "" if math.isnan(half) else f"± {half:.3f}{note}"
                axes.text(
                    column, row + 0.24, text, ha="center", va="center", color=MUTED, fontsize=7
                )
        axes.set_xlim(-0.5, num - 0.5)
        axes.set_ylim(num - 0.5, -0.5)
        axes.set_xticks(range(num), names)
        axes.set_yticks(range(num), names)
        axes.xaxis.tick_top()
        axes.tick_params(length=0, labelcolor=INK, labelsize=9)
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    return figure


def _cell(row: int, column: int, value: float, largest: float) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (column - 0.485, row - 0.475),
        0.97,
        0.95,
        facecolor=WIN if value > 0 else LOSS,
        alpha=0.08 + 0.5 * strength(value, largest),
        linewidth=0,
    )


def unclear(tournament: Tournament) -> set[tuple[int, int]]:
    """Cells whose difference is not significant."""
    place = {name: k for k, name in enumerate(tournament.agents)}
    cells = set()
    for pairing in tournament.pairings:
        if not pairing.is_significant:
            row, column = place[pairing.first], place[pairing.second]
            cells |= {(row, column), (column, row)}
    return cells


# --- bids and makes -----------------------------------------------------------------------------


def rates(tournament: Tournament) -> "Figure":
    """How often each agent bid and made it, as dealer (disc) and as nondealer (ring)."""
    standings = tournament.standings
    num = len(RATE_PANELS)
    with _figure(7.6, 0.95 + 0.34 * len(standings), 1, num) as (figure, (row,)):
        for place, (panel, axes) in enumerate(zip(RATE_PANELS, row, strict=True)):
            _rate_panel(axes, standings, *panel)
            _agents_on_y(axes, standings, labels=place == 0)
        handles, labels = row[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower right", ncols=2, frameon=False, fontsize=8.5
        )
    return figure


def _rate_panel(
    axes: "Axes", standings: Sequence[Standing], title: str, as_dealer: str, as_other: str
) -> None:
    dealt = [100 * standing.dealer_rates[as_dealer] for standing in standings]
    spoke = [100 * standing.nondealer_rates[as_other] for standing in standings]
    places = range(len(standings))
    axes.hlines(places, dealt, spoke, color=EVEN, linewidth=1.2)
    axes.plot(dealt, places, "o", color=WIN, markersize=5, label="as dealer", clip_on=False)
    axes.plot(
        spoke, places, "o", markerfacecolor="none", color=LOSS, markersize=8, clip_on=False,
        markeredgewidth=1.5, label="as nondealer",
    )  # fmt: skip
    axes.set_title(title)
    axes.set_xlim(-6, 106)
    axes.set_xticks([0, 50, 100], ["0", "50", "100%"])


# --- differences --------------------------------------------------------------------------------


def difference(pairing: Pairing, *, title: bool = False, largest: float | None = None) -> "Figure":
    """How the pairs of one pairing went: share of the pairs at each score."""
    with _figure(2.55, 1.5) as (figure, ((axes,),)):
        _difference(axes, pairing, title=title, largest=largest)
    return figure


def differences(tournament: Tournament) -> "Figure":
    """All pairings in one picture, the same scales everywhere."""
    num = len(tournament.pairings)
    columns = min(3, num)
    lines = -(-num // columns)
    largest = largest_share(tournament)
    with _figure(2.6 * columns, 1.75 * lines, lines, columns) as (figure, grid):
        for axes in grid.flat[num:]:
            axes.set_visible(False)
        for axes, pairing in zip(grid.flat, tournament.pairings, strict=False):
            _difference(axes, pairing, title=True, largest=largest)
    return figure


def largest_share(tournament: Tournament) -> float:
    """The highest bar of all the pairings, in percent: the common scale."""
    return max(
        100 * max(pairing.score_counts.values()) / pairing.pairs for pairing in tournament.pairings
    )


def _difference(axes: "Axes", pairing: Pairing, *, title: bool, largest: float | None) -> None:
    scores = [float(score) for score in pairing.score_counts]
    shares = [100 * num / pairing.pairs for num in pairing.score_counts.values()]
    colours = [WIN if score > 0 else LOSS if score < 0 else EVEN for score in scores]
    axes.bar(scores, shares, width=0.42, color=colours)
    mean = pairing.points.mean
    axes.axvline(mean, color=INK, linewidth=1, linestyle=(0, (3, 2)))
    top = 1.18 * (largest or max(shares))
    if title:
        names = f"{short(pairing.first, 40)} – {short(pairing.second, 40)}"
        axes.set_title(names, fontsize=8)
        side, gap = ("left", 0.12) if mean >= 0 else ("right", -0.12)
        axes.text(mean + gap, 0.94 * top, _signed(mean), ha=side, va="top", fontsize=8)
    axes.set_ylim(0, top)
    reach = max(3.2, *(abs(score) + 0.3 for score in scores))
    axes.set_xlim(-reach, reach)
    axes.set_xticks(range(-math.floor(reach), math.floor(reach) + 1))
    axes.yaxis.set_major_locator(_few_ticks())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}%")
    axes.tick_params(axis="y", labelsize=8, labelcolor=MUTED)
    axes.grid(visible=False, axis="x")


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(3, integer=True)


# --- out ----------------------------------------------------------------------------------------


def svg_text(figure: "Figure") -> str:
    """The picture as an ``<svg>`` element for a page, its colours CSS variables."""
    import matplotlib as mpl

    text = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(text, format="svg", transparent=True, metadata=_NO_METADATA)
    svg = text.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"<style[^>]*>.*?</style>", "", svg, flags=re.S)
    svg = re.sub(r' id="[a-z0-9_.]+_[0-9]+"', "", svg)  # those that nothing refers to
    svg = re.sub(r'^<svg[^>]*?viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" role="img">', svg)
    for colour, variable in CSS_COLOURS.items():
        svg = svg.replace(colour, variable)
    return svg


_NO_METADATA: Final[dict[str, Any]] = dict.fromkeys(("Creator", "Date", "Format", "Type"))
"""No date and no program: equal tournaments make equal files."""


def save(figure: "Figure", path: Path) -> None:
    """Write a picture file on white, SVG or PNG by its suffix."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        if path.suffix == ".svg":
            figure.savefig(path, metadata=_NO_METADATA)
        else:
            figure.savefig(path, dpi=200, metadata={"Software": None})
