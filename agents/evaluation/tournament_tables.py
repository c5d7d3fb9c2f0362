"""A tournament as tables for the terminal, 80 columns wide for up to six agents."""

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from agents.evaluation.intervals import Estimate
from agents.evaluation.ratings import SIGNIFICANT
from agents.evaluation.tournaments import Pairing, Standing, Tournament


def tournament_tables(tournament: Tournament) -> list[Table]:
    """All of them, in the order in which they are read."""
    return [
        standings_table(tournament),
        payoff_table(tournament),
        pairings_table(tournament),
        roles_table(tournament),
        *([faults_table(tournament)] if tournament.faults else []),
    ]


def _table(title: str, *, caption: str = "") -> Table:
    return Table(
        title=title,
        title_justify="left",
        caption=caption or None,
        caption_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )


def _columns(table: Table, names: Sequence[str], headings: Sequence[str]) -> None:
    """A column of names, then columns of figures."""
    for name in names:
        table.add_column(name, overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right", overflow="fold")


def signed(value: float, digits: int = 3) -> str:
    """``+0.289``; a dash where there is nothing; no minus before a rounded 0."""
    if math.isnan(value):
        return "-"
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def percent(share: float) -> str:
    """``41.5%``; a dash where nothing could be counted."""
    return "-" if math.isnan(share) else f"{100 * share:.1f}%"


def half_width(estimate: Estimate) -> str:
    """``± 0.019``; nothing where there is no interval."""
    half = (estimate.high - estimate.low) / 2
    return "" if math.isnan(half) else f"± {half:.3f}"


def standings_table(tournament: Tournament) -> Table:
    """Agents by rating: rating, points against the field and the worst opponent, mixture."""
    unique = "" if tournament.mixture_is_unique else "; the mixture is one of many as good"
    table = _table(
        "standings",
        caption=(
            "rating: Bradley-Terry on pairs won, Elo's scale, mean 0 · field: points per deal, "
            f"each opponent alike\nNash: share in the mixture that no agent beats{unique}"
        ),
    )
    headings = ["rating", "field", "worst", "against", "beats", "games", "Nash"]
    _columns(table, ["agent"], headings)
    for standing in tournament.standings:
        table.add_row(
            escape(standing.agent),
            f"{standing.rating.mean:+.0f} ± {standing.rating.high - standing.rating.mean:.0f}",
            signed(standing.field.mean),
            signed(standing.worst.mean),
            escape(standing.worst_against),
            f"{standing.num_beaten}/{len(tournament.standings) - 1}",
            percent(standing.game_share),
            percent(standing.weight),
        )
    return table


def payoff_table(tournament: Tournament) -> Table:
    """Everyone against everyone: points per deal of the row's agent against the column's."""
    table = _table(
        "points per deal, row against column",
        caption=f"95% intervals over pairs; (n.s.): not significant at {SIGNIFICANT:.0%}, "
        "Holm-corrected over all pairings",
    )
    _columns(table, [""], [escape(name) for name in tournament.agents])
    cells = _pair_cells(tournament)
    for row, name in enumerate(tournament.agents):
        line = [cells.get((row, column), "·") for column in range(len(tournament.agents))]
        table.add_row(escape(name), *line)
    return table


def faults_table(tournament: Tournament) -> Table:
    """What guests did wrong, and how many deals and games it cost them."""
    told = (f"{escape(name)} {num:,}" for name, num in tournament.forfeited.items())
    table = Table(
        title=f"faults; deals and games lost by them: {', '.join(told)}",
        title_justify="left",
        show_header=False,
        box=SIMPLE_HEAD,
        padding=0,
    )
    table.add_column(overflow="fold")
    for fault in tournament.faults:
        table.add_row(escape(fault))
    return table


def _pair_cells(tournament: Tournament) -> dict[tuple[int, int], str]:
    """Text of each cell of the table of payoffs but the diagonal's."""
    place = {name: k for k, name in enumerate(tournament.agents)}
    cells = {}
    for pairing in tournament.pairings:
        row, column = place[pairing.first], place[pairing.second]
        note = "" if pairing.is_significant else "\n(n.s.)"
        error = half_width(pairing.points)
        for cell, mean in (
            ((row, column), pairing.points.mean),
            ((column, row), -pairing.points.mean),
        ):
            cells[cell] = f"{signed(mean)}\n{error}{note}"
    return cells


def pairings_table(tournament: Tournament) -> Table:
    """One line a pairing: points by role, pairs won and drawn, games, significance."""
    table = _table(
        "pairings, seen from the first agent",
        caption="points per deal, in all and by who deals · won, drawn: of the mirrored pairs · "
        "p: Holm-corrected",
    )
    headings = ["points", "as dealer", "as other", "won", "drawn", "games", "p"]
    _columns(table, ["pairing"], headings)
    for pairing in tournament.pairings:
        table.add_row(
            f"{escape(pairing.first)} – {escape(pairing.second)}", *_pairing_figures(pairing)
        )
    return table


def _pairing_figures(pairing: Pairing) -> list[str]:
    return [
        signed(pairing.points.mean),
        signed(pairing.as_dealer.mean),
        signed(pairing.as_nondealer.mean),
        percent(pairing.won),
        percent(pairing.drawn),
        "-" if pairing.game_share is None else percent(pairing.game_share.mean),
        chance(pairing.p_holm),
    ]


def chance(value: float) -> str:
    """A p value: ``0.032``, or ``<0.001``."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def roles_table(tournament: Tournament) -> Table:
    """What each agent did as dealer and as nondealer, mean over its opponents."""
    table = _table(
        "bids and makes, mean over the opponents",
        caption="round 1: accepts (dealer), orders up (nondealer), of the times it could; round 2: "
        "names a suit\nmade, march, euchred: of the deals it was maker",
    )
    headings = ["points", "round 1", "round 2", "maker", "made", "march", "euchred"]
    _columns(table, ["agent", "role"], headings)
    for standing in tournament.standings:
        for role in ("dealer", "nondealer"):
            table.add_row(escape(standing.agent), role, *_role_figures(standing, role))
    return table


def _role_figures(standing: Standing, role: str) -> list[str]:
    rates = standing.dealer_rates if role == "dealer" else standing.nondealer_rates
    points = standing.as_dealer if role == "dealer" else standing.as_nondealer
    first = rates["accept"] if role == "dealer" else rates["order_up"]
    later = (rates[name] for name in ("name", "maker", "made", "march", "euchred"))
    return [signed(points), percent(first), *map(percent, later)]
