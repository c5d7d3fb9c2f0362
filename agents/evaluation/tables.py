"""Results as tables for the terminal."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from agents.evaluation.controls import Control
from agents.evaluation.gate import Verdict
from agents.evaluation.intervals import Estimate
from agents.evaluation.matches import MatchResult
from euchre_env.rules_text import rules_text


def interval_text(estimate: Estimate, form: str = "+.3f") -> str:
    """Like ``+0.837 [+0.803, +0.871]``; a single pair has no interval."""
    if math.isnan(estimate.low):
        return f"{estimate.mean:{form}} (a single pair has no interval)"
    return f"{estimate.mean:{form}} [{estimate.low:{form}}, {estimate.high:{form}}]"


def _percent(share: float) -> str:
    return "-" if math.isnan(share) else f"{100 * share:.1f}%"


def result_table(result: MatchResult) -> Table:
    """A match as a table for the terminal."""
    first, second = result.agents
    table = Table(
        title=escape(f"{first} against {second}"),
        title_justify="left",
        show_header=False,
        box=SIMPLE_HEAD,
        padding=0,
    )
    table.add_column(style="bold")
    table.add_column()
    for heading, text in _result_rows(result):
        table.add_row(heading, escape(text))
    return table


def _result_rows(result: MatchResult) -> Iterator[tuple[str, str]]:
    overall = Estimate(result.mean, result.low, result.high)
    has_interval = result.pairs > 1
    if result.partial:
        yield "stopped early", "what follows is the result of the pairs and games told"
    yield "points per deal", interval_text(overall) + (" (95%)" if has_interval else "")
    if has_interval:
        yield "  bootstrap", f"[{result.bootstrap_low:+.3f}, {result.bootstrap_high:+.3f}]"
    yield "  as dealer", interval_text(result.as_dealer)
    yield "  as nondealer", interval_text(result.as_nondealer)
    for seat, estimate in enumerate(result.by_seat):
        yield f"  in seat {seat}", interval_text(estimate)
    if result.sequential is not None:
        test = result.sequential
        yield "sequential test", test.reason
        yield (
            "  likelihood",
            f"log ratio {test.llr:+.2f}, bounds {test.lower:+.2f} and {test.upper:+.2f}; "
            f"errors {test.alpha:g}, {test.beta:g}",
        )
    for name, num in zip(result.agents, result.forfeited, strict=True):
        if num:
            yield "forfeited", f"{num:,} deals and games, by faults of {name}"
    for place, fault in enumerate(result.faults):
        yield "" if place else "  first faults", fault
    if result.game_share is not None:
        share = result.game_share
        note = f", {result.unfinished_games} unfinished" if result.unfinished_games else ""
        interval = f"[{_percent(share.low)}, {_percent(share.high)}] (95%)"
        yield "games won", f"{_percent(share.mean)} {interval}"
        yield "  of", f"{2 * result.games:,}, {result.deals_per_game:.1f} deals each{note}"
    yield "pairs", f"{result.pairs:,}" + (f", sd of a pair {result.sd:.3f}" * has_interval)
    yield "deals thrown in", _percent(result.thrown_in)
    yield "deals", f"{result.deals}, seed {result.seed}, {rules_text(result.rules)}"
    yield "  hash", result.deals_hash
    yield (
        "speed",
        f"{_round(result.decisions_per_second)} decisions per second and core, "
        f"{result.seconds:.1f} s in all",
    )


def _round(number: float) -> str:
    """Three digits: more would be noise."""
    if not math.isfinite(number) or number <= 0:
        return "-"
    places = 2 - math.floor(math.log10(number))
    return f"{round(number, places):,.{max(places, 0)}f}"


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
        table.add_row(escape(name), role, *map(_percent, shares))
    return table


def controls_table(controls: Sequence[Control]) -> Table:
    """What had to be so, and whether it is."""
    table = Table(
        title="controls", title_justify="left", show_header=False, box=SIMPLE_HEAD, padding=0
    )
    for control in controls:
        mark = "[green]ok[/green]" if control.passed else "[bold red]FAILED[/bold red]"
        text = f"{control.name}: {control.observed}"
        if control.expected != control.observed:
            text += f" (expected: {control.expected})"
        table.add_row(mark, escape(text))
    return table


def fault_warnings(results: Sequence[MatchResult]) -> list[str]:
    """A sentence for each agent that lost deals or games by faults, over all its matches."""
    lost: Counter[str] = Counter()
    played: Counter[str] = Counter()
    for result in results:
        for name, num in zip(result.agents, result.forfeited, strict=True):
            lost[name] += num
            played[name] += 2 * (result.pairs + result.games)
    return [
        f"warning: {name} lost {num:,} of {played[name]:,} deals and games "
        f"({_percent(num / played[name])}) by faults of its own, not by its play"
        for name, num in lost.items()
        if num
    ]


def gate_table(verdicts: Sequence[Verdict]) -> Table:
    """Agents beside their baseline."""
    pairs = max(verdict.pairs for verdict in verdicts)
    table = Table(
        "agent", "verdict", "difference", "p", "before", "now", "changed", "against",
        title=f"points per deal, now against the baseline ({pairs:,} pairs)", title_justify="left",
        box=SIMPLE_HEAD, padding=0,
    )  # fmt: skip
    for verdict in verdicts:
        color = "bold red" if verdict.is_weaker else "green"
        half = verdict.difference.high - verdict.difference.mean
        table.add_row(
            escape(verdict.agent),
            f"[{color}]{verdict.word}[/{color}]",
            f"{verdict.difference.mean:+.4f} ± {half:.4f}",
            f"{verdict.p_value:.3f}",
            f"{verdict.before:+.3f}",
            f"{verdict.now:+.3f}",
            f"{verdict.num_changed:,}",
            escape(" ".join(verdict.opponents)),
        )
    return table
