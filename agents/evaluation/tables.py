"""Results as tables for the terminal."""

import math

from rich.box import SIMPLE_HEAD
from rich.table import Table

from agents.evaluation.intervals import Estimate
from agents.evaluation.matches import MatchResult
from agents.evaluation.rules_text import rules_text


def _interval(estimate: Estimate, form: str = "+.3f") -> str:
    return f"{estimate.mean:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}%"


def result_table(result: MatchResult) -> Table:
    """A match as a table for the terminal."""
    first, second = result.agents
    table = Table(
        title=f"{first} against {second}",
        title_justify="left",
        show_header=False,
        box=SIMPLE_HEAD,
        padding=0,
    )
    table.add_column(style="bold")
    table.add_column()
    overall = Estimate(result.mean, result.low, result.high)
    table.add_row("points per deal", f"{_interval(overall)} (95%)")
    table.add_row("  bootstrap", f"[{result.bootstrap_low:+.3f}, {result.bootstrap_high:+.3f}]")
    table.add_row("  as dealer", _interval(result.as_dealer))
    table.add_row("  as nondealer", _interval(result.as_nondealer))
    if result.game_share is not None:
        share = result.game_share
        interval = f"[{_percent(share.low)}, {_percent(share.high)}] (95%)"
        note = f", {result.unfinished_games} unfinished" if result.unfinished_games else ""
        table.add_row("games won", f"{_percent(share.mean)} {interval}")
        table.add_row("  of", f"{2 * result.games:,}, {result.deals_per_game:.1f} deals each{note}")
    table.add_row("pairs", f"{result.pairs:,}, sd of a pair {result.sd:.3f}")
    table.add_row("deals thrown in", _percent(result.thrown_in))
    table.add_row("deals", f"{result.deals}, seed {result.seed}, {rules_text(result.rules)}")
    table.add_row("speed", f"{result.deals_per_second:,.0f} deals per second")
    return table


def rates_table(result: MatchResult) -> Table:
    """Bids and makes of both agents, by role, as a table for the terminal.

    Round 1 is the nondealer's order_up and the dealer's accept, round 2 the naming of a suit; the
    dealer's naming blind has a column where it happened.
    """
    rows = [
        (name, role, rates)
        for name, both in zip(result.agents, result.rates, strict=True)
        for role, rates in (("dealer", both.as_dealer), ("nondealer", both.as_nondealer))
    ]
    has_blind = any(rates.name_blind > 0 for _, _, rates in rows)
    headings = ["agent", "role", "round 1", "round 2", "maker", "made", "march", "euchred"]
    table = Table(
        *headings,
        *(["blind"] if has_blind else []),
        title="bids and makes",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=0,
    )
    for name, role, rates in rows:
        first = rates.accept if role == "dealer" else rates.order_up
        shares = [first, rates.name, rates.maker, rates.made, rates.march, rates.euchred]
        shares += [rates.name_blind] if has_blind else []
        table.add_row(name, role, *map(_percent, shares))
    return table
