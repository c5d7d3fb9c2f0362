"""The command line of evaluate.py: arguments, progress, tables, files, exit codes."""

import itertools
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from agents import make_agent
from agents.evaluation.deals import Deals
from agents.evaluation.matches import MatchResult, match
from agents.evaluation.play import AgentError, agent_name
from agents.evaluation.ratings import need
from agents.evaluation.rules_text import parse_rules
from agents.evaluation.standings import summarise
from agents.evaluation.tables import rates_table, result_table
from agents.evaluation.tournament_tables import tournament_tables
from agents.evaluation.tournaments import headline

PROGRAM: Final = "evaluate.py"
DESCRIPTION: Final = """Agents head to head: points per deal with its error, games won, bids.

    evaluate.py novice random
    evaluate.py runs/2026-11-30-first novice --pairs 40000 --deals heldout --json out.json

One pair is one deal at 0-0 played twice with the seats swapped; its score is the mean of both,
in points won minus points lost. So luck in the cards cancels, and the interval (normal over
pairs, the bootstrap beside it) is far narrower than that of separate deals. Deals and the agents'
own random numbers follow from the seed alone: the same seed gives the same result bit for bit,
whatever the batch size, and an agent against itself scores exactly 0. See docs/evaluation.md."""
"""What --help says."""


@dataclass(frozen=True)
class Args:
    """Play agents head to head on mirrored deals; more than two: everyone against everyone."""

    agents: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="AGENT ...")]
    """two or more: names (random, novice, ...) or folders that train.py has written"""
    pairs: int = 10_000
    """mirrored pairs of deals; fix the number before you look at results"""
    games: int = 1_000
    """mirrored pairs of whole games to the target score; 0: none"""
    seed: int = 0
    """the deals and the agents' random numbers follow from it"""
    deals: Deals = "dev"
    """list of deals: dev to work with, heldout for claims"""
    rules: str = "default"
    """presets (default, british, 32, railroad, stick) and option=value, separated by commas"""
    batch: int = 4_096
    """pairs played at once; changes memory and speed, never a result"""
    json: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """write every number to this file"""


def run(args: Args, console: Console) -> list[MatchResult]:
    """Play all the matches that the arguments ask for, and print them.

    Raises:
        ValueError: arguments that mean nothing; nothing was played then.
        OSError: the JSON file, or an agent's, cannot be opened.
        AgentError: an agent's answer is no legal act.
    """
    if len(args.agents) < 2:
        raise ValueError("name at least two agents, like: evaluate.py novice random")
    if len(args.agents) > 2:
        need("scipy", "statsmodels")
    rules = parse_rules(args.rules)
    players = [make_agent(name) for name in args.agents]
    if args.json is not None and not args.json.parent.is_dir():
        raise ValueError(f"--json {args.json}: there is no folder {args.json.parent}")
    meetings = list(itertools.combinations(players, 2))
    results = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,} pairs"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task("playing", total=len(meetings) * (args.pairs + args.games))
        for first, second in meetings:
            bar.update(task, description=f"{agent_name(first)} - {agent_name(second)}")
            result = match(
                first,
                second,
                pairs=args.pairs,
                games=args.games,
                seed=args.seed,
                deals=args.deals,
                rules=rules,
                batch=args.batch,
                progress=lambda num: bar.advance(task, num),
            )
            results.append(result)
    if len(players) > 2:
        tournament = summarise([agent_name(player) for player in players], results)
        console.print(headline(tournament))
        for table in tournament_tables(tournament):
            console.print(table, "")
    else:
        console.print(result_table(results[0]))
        console.print(rates_table(results[0]))
    if args.json is not None:
        text = json.dumps([result.to_json() for result in results], indent=2, allow_nan=False)
        args.json.write_text(text + "\n", encoding="utf-8")
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code, 2 for what cannot be played."""
    args = tyro.cli(Args, prog=PROGRAM, description=DESCRIPTION, args=arguments)
    try:
        run(args, Console())
    except (ValueError, OSError, ImportError, AgentError) as problem:
        print(f"{PROGRAM}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{PROGRAM}: stopped; no result", file=sys.stderr)
        return 130
    return 0
