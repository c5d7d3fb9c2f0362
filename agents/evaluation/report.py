"""A tournament as one page: a self-contained HTML file, its pictures and its numbers beside it.

The page loads nothing, from the network or the disk: style sheet and pictures are in it. It
follows the reader's light or dark colours, reads on a phone and prints. The layout is
``templates/report.html.j2``; names of agents are escaped there.

Needs Jinja2 and matplotlib: ``pip install 'euchre-env[evaluate]'``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agents.evaluation import plots
from agents.evaluation.files import write_json, write_text
from agents.evaluation.ratings import NUM_RESAMPLES, SIGNIFICANT, need
from agents.evaluation.tournament_tables import chance, half_width, percent, signed
from agents.evaluation.tournaments import Tournament, headline
from euchre_env.rules_text import rules_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LIBRARIES: Final = ("jinja2", "matplotlib", "scipy", "statsmodels")
"""What a report needs beyond playing."""
REPORT, NUMBERS = "report.html", "tournament.json"
PAIRINGS, AGENTS = "pairings.csv", "agents.csv"
_NUMBER_WORDS: Final = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class _Cell:
    """One cell of the table of payoffs."""

    value: float
    half: str
    shade: str
    clear: bool


def check_report_folder(folder: Path) -> None:
    """Make sure, before anything is played, that a report can be written there.

    Raises:
        ValueError: its parent folder is missing, or it is a file.
        ImportError: a library is missing.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--report {folder}: that is a file, a folder is wanted")
    if not folder.parent.is_dir():
        raise ValueError(f"--report {folder}: there is no folder {folder.parent}")
    need(*LIBRARIES)


def write_report(tournament: Tournament, folder: Path) -> Path:
    """Write the page, its pictures (SVG and PNG) and its numbers (JSON and CSV).

    Args:
        tournament: what to tell about.
        folder: where; made if it is not there, files of these names are replaced.

    Returns:
        Path of the page.

    Raises:
        OSError: the folder cannot be written.
        ImportError: Jinja2 or matplotlib is not installed.
    """
    need(*LIBRARIES)
    folder.mkdir(exist_ok=True)
    for name, figure in pictures(tournament).items():
        for suffix in ("svg", "png"):
            plots.save(figure, folder / f"{name}.{suffix}")
    write_json(folder / NUMBERS, tournament.to_json())
    write_text(folder / PAIRINGS, tournament.pairings_csv())
    write_text(folder / AGENTS, tournament.agents_csv())
    page = folder / REPORT
    write_text(page, report_html(tournament))
    return page


def pictures(tournament: Tournament) -> dict[str, "Figure"]:
    """The pictures by the names of their files."""
    return {
        "ratings": plots.ratings(tournament),
        "payoffs": plots.payoffs(tournament),
        "differences": plots.differences(tournament),
        "rates": plots.rates(tournament),
    }


def report_html(tournament: Tournament) -> str:
    """The page as text.

    Raises:
        ImportError: Jinja2 or matplotlib is not installed.
    """
    need(*LIBRARIES)
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("agents.evaluation"),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "signed": _minus,
        "percent": _dash,
        "chance": chance,
        "half_width": half_width,
    }
    largest = plots.largest_share(tournament)
    # our own drawings, in which matplotlib has escaped the names; all else is escaped on the page
    inline: dict[str, Any] = {
        "ratings": Markup(plots.svg_text(plots.ratings(tournament))),
        "rates": Markup(plots.svg_text(plots.rates(tournament))),
        "differences": [
            Markup(plots.svg_text(plots.difference(pairing, largest=largest)))
            for pairing in tournament.pairings
        ],
    }
    return environment.get_template("report.html.j2").render(
        t=tournament,
        title=title(tournament),
        headline=headline(tournament),
        rules=rules_text(tournament.protocol.rules),
        duration=_duration(tournament.protocol.seconds),
        cells=_cells(tournament),
        significant=SIGNIFICANT,
        resamples=NUM_RESAMPLES,
        **inline,
    )


def title(tournament: Tournament) -> str:
    """What the page is called."""
    num = len(tournament.agents)
    word = _NUMBER_WORDS[num - 2] if num - 2 < len(_NUMBER_WORDS) else str(num)
    return f"Two-handed Euchre: a tournament of {word} agents"


def _minus(value: float, digits: int = 3) -> str:
    return signed(value, digits).replace("-", "−")


def _dash(share: float) -> str:
    return percent(share).replace("-", "–")


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.2g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6_000 else f"{seconds / 3_600:.1f} h"


def _cells(tournament: Tournament) -> list[list[_Cell | None]]:
    """The table of payoffs row by row; nothing on the diagonal."""
    largest = float(abs(tournament.payoffs).max())
    unclear = plots.unclear(tournament)
    num = len(tournament.agents)
    rows: list[list[_Cell | None]] = [[None] * num for _ in range(num)]
    for row in range(num):
        for column in range(num):
            if row != column:
                value = float(tournament.payoffs[row, column])
                half = float(tournament.half_widths[row, column])
                rows[row][column] = _Cell(
                    value=value,
                    half="" if half != half else f"± {half:.3f}",
                    shade=f"{0.06 + 0.5 * plots.strength(value, largest):.3f}",
                    clear=(row, column) not in unclear,
                )
    return rows
