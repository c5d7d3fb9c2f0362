"""The command line of evaluate.py: arguments, progress, tables, files, exit codes."""

import itertools
import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import tyro
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from agents import make_agent
from agents.base import Agent, AgentError
from agents.evaluation.backends import Backend, Crew, LostWorkersError
from agents.evaluation.controls import Control, load_ceilings, run_controls
from agents.evaluation.deals import Deals
from agents.evaluation.exploitability import exploitability
from agents.evaluation.exploitability_report import file_name, write_exploitability_report
from agents.evaluation.exploitability_tables import leaks_table, stages_table, summary_table
from agents.evaluation.files import KeptDeals, check_target, write_csv, write_json
from agents.evaluation.gate import (
    Size,
    check_agents,
    load_baseline,
    play_baseline,
    save_baseline,
)
from agents.evaluation.matches import MatchResult, match
from agents.evaluation.play import agent_name
from agents.evaluation.ratings import need
from agents.evaluation.report import check_report_folder, write_report
from agents.evaluation.standings import summarise
from agents.evaluation.tables import (
    controls_table,
    fault_warnings,
    gate_table,
    rates_table,
    result_table,
)
from agents.evaluation.tournament_tables import tournament_tables
from agents.evaluation.tournaments import headline
from agents.guests import TIME_LIMIT
from euchre_env.rules import Rules
from euchre_env.rules_text import parse_rules, rules_text

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

    agents: Annotated[
        tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="AGENT ...")
    ] = ()
    """two or more: names (random, novice, ...), folders that train.py has written, or agents of
    your own: my_package.agents:Careful, my_agent.py:Careful"""
    pairs: int = 10_000
    """mirrored pairs of deals; fix the number before you look at results"""
    games: int = 1_000
    """mirrored pairs of whole games to the target score; 0: none"""
    sequential: Annotated[tuple[float, float] | None, tyro.conf.arg(metavar="MEAN0 MEAN1")] = None
    """stop as soon as one of two means, in points a deal, is clearly likelier than the other
    (each error 5%); --pairs is then the most that are played"""
    seed: int = 0
    """the deals and the agents' random numbers follow from it"""
    deals: Deals = "dev"
    """list of deals: dev to work with, heldout for claims"""
    rules: str = "default"
    """presets (default, british, 32, railroad, stick) and option=value, separated by commas"""
    controls: bool = True
    """play and check what is known beforehand: each agent against itself, random against random,
    the list of deals, and that nobody wins more than the other's exploitability"""
    ceilings: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = Path("results")
    """where exploitability-*.json files lie, for the last of these"""
    batch: int = 4_096
    """most pairs played at once; changes memory and speed, never a result"""
    backend: Backend = "loky"
    """who plays: serial (this process), loky (all cores), ray or dask (a cluster); what takes a
    few seconds only is played in this process. Changes no result"""
    workers: int | None = None
    """processes; all cores when left out"""
    address: str | None = None
    """of a running ray or dask cluster; one is started on this machine when left out"""
    time_limit: float = TIME_LIMIT
    """seconds that an agent from outside may take for a batch of at most 1,024 views; late, or its
    process dead, it loses the match"""
    json: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """write every number to this file"""
    csv: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """write a line for each match to this file"""
    report: Annotated[Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """write report.html, its pictures and its numbers there: ratings, table, differences, bids;
    for --exploitability a page an agent, its worst decisions drawn"""
    record: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """write every deal of the pairs to this file, as text that can be replayed"""
    baseline: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """play the agents against random, novice and expert, and write what they score to this file"""
    against: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """play the agents (all that are in it when none is named) as in this file; the exit code is 1
    when one is significantly weaker than it was"""
    exploitability: bool = False
    """how much can be won from each agent at most, by the exact best response over --hands deals;
    with --json a file, or for several agents a folder of exploitability-NAME.json"""
    hands: int = 400
    """deals for --exploitability, each from both seats; 400 give about 0.01 either way"""
    purify: float = 0.0
    """for --exploitability: acts less likely than this count as never done"""
    progress: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """for --exploitability: keep what is done in this file; the same command goes on from it"""
    gate: Size = "ci"
    """how thoroughly: ci (2,500 pairs) or weekly (10,000)"""


@dataclass(frozen=True)
class Outcome:
    """What a run of the command line found."""

    results: list[MatchResult]
    """The matches, in the order of ``itertools.combinations`` of the agents."""
    controls: list[Control]
    """What had to be so."""
    is_stopped: bool = False
    """Whether Ctrl-C came before all was played."""

    @property
    def exit_code(self) -> int:
        """0; 1 when a control failed; 130 when it was stopped early."""
        if self.is_stopped:
            return 130
        return 0 if all(control.passed for control in self.controls) else 1


def _progress(console: Console, unit: str = "pairs") -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:,}/{task.total:,} " + unit),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def _play(args: Args, players: Sequence[Agent], rules: Rules, console: Console) -> Outcome:
    """The matches and the controls; what was played when Ctrl-C is pressed."""
    meetings = list(itertools.combinations(range(len(players)), 2))
    crew = Crew(args.backend, args.workers, args.address)
    common: dict[str, Any] = {
        "pairs": args.pairs,
        "seed": args.seed,
        "deals": args.deals,
        "rules": rules,
        "batch": args.batch,
        "crew": crew,
        "time_limit": args.time_limit,
    }
    results: list[MatchResult] = []
    controls: list[Control] = []
    kept = KeptDeals()
    is_stopped = False
    with _progress(console) as bar:
        task = bar.add_task("playing", total=len(meetings) * (args.pairs + args.games))
        try:
            for i, k in meetings:
                bar.update(task, description=f"{agent_name(players[i])} - {agent_name(players[k])}")
                result = match(
                    args.agents[i],
                    args.agents[k],
                    games=args.games,
                    sequential=args.sequential,
                    progress=lambda num: bar.advance(task, num),
                    record=kept.add if args.record else None,
                    **common,
                )
                if args.record:
                    kept.write(args.record, result, append=bool(results))
                results.append(result)
                if result.partial:
                    raise KeyboardInterrupt
            if args.controls:
                bar.update(task, description="controls", total=None)
                ceilings = load_ceilings(args.ceilings, rules)
                controls += run_controls(args.agents, results, ceilings, **common)
        except KeyboardInterrupt:
            if not results:
                raise
            is_stopped = True
    return Outcome(results, controls, is_stopped)


def run(args: Args, console: Console) -> Outcome:
    """Play all the matches that the arguments ask for, print them, write the files.

    Raises:
        ValueError: arguments that mean nothing; nothing was played then.
        OSError: a file to write, or an agent's, cannot be opened.
        ImportError: the backend's library is not installed.
        AgentError: an agent's answer is no legal act.
        LostWorkersError: the workers die again and again.
        KeyboardInterrupt: stopped before there was any result.
    """
    if len(args.agents) < 2:
        raise ValueError("name at least two agents, like: evaluate.py novice random")
    if len(args.agents) > 2:
        if args.sequential is not None:
            raise ValueError("--sequential is for two agents: a tournament has its pairs fixed")
        need("scipy", "statsmodels")
    rules = parse_rules(args.rules)
    players = [make_agent(name, time_limit=args.time_limit) for name in args.agents]
    for option, path in (
        ("--json", args.json),
        ("--csv", args.csv),
        ("--record", args.record),
    ):
        check_target(option, path)
    if args.report is not None:
        check_report_folder(args.report)
    outcome = _play(args, players, rules, console)
    names = [agent_name(player) for player in players]
    _show(args, names, outcome.results, console)
    if outcome.controls:
        console.print(controls_table(outcome.controls))
    for warning in fault_warnings(outcome.results):
        console.print(warning, style="bold yellow", markup=False)
    rows = [result.to_json() for result in outcome.results]
    if args.json is not None:
        controls = [asdict(control) for control in outcome.controls]
        write_json(args.json, [row | {"controls": controls} for row in rows])
    if args.csv is not None:
        write_csv(args.csv, rows)
    return outcome


def _show(args: Args, names: Sequence[str], results: list[MatchResult], console: Console) -> None:
    """Print the tables, write the report."""
    is_whole = len(results) == math.comb(len(names), 2) and not results[-1].partial
    is_tournament = is_whole and (len(names) > 2 or args.report is not None)
    if not is_whole or len(names) == 2:
        for result in results:
            console.print(result_table(result))
            console.print(rates_table(result))
    if is_tournament:
        tournament = summarise(names, results, command=_command(args))
        if len(names) > 2:
            console.print(headline(tournament))
            for table in tournament_tables(tournament):
                console.print(table, "")
        if args.report is not None:
            console.print(f"report: {write_report(tournament, args.report)}", soft_wrap=True)


def write_baseline(args: Args, console: Console) -> int:
    """Play what `gate` compares later, and write it; returns the exit code.

    Raises:
        ValueError, OSError, ImportError, AgentError, LostWorkersError: as `run`.
        KeyboardInterrupt: stopped; nothing was written.
    """
    if not args.agents or args.baseline is None:
        raise ValueError("name the agents to write a baseline of")
    check_target("--baseline", args.baseline)
    rules = parse_rules(args.rules)
    for name in args.agents:
        make_agent(name)
    with _progress(console) as bar:
        task = bar.add_task("baseline", total=None)
        baseline = play_baseline(
            args.agents,
            pairs=args.pairs,
            seed=args.seed,
            deals=args.deals,
            rules=rules,
            crew=Crew(args.backend, args.workers, args.address),
            progress=lambda num: bar.advance(task, num),
        )
    save_baseline(args.baseline, baseline)
    for (agent, opponent), scores in baseline.scores.items():
        console.print(f"{agent} against {opponent}: {scores.mean():+.3f}", markup=False)
    return 0


def check_baseline(args: Args, console: Console) -> int:
    """Compare agents with a baseline; returns the exit code, 1 when one is weaker.

    Raises:
        ValueError, OSError, ImportError, AgentError, LostWorkersError: as `run`.
        KeyboardInterrupt: stopped before all was played.
    """
    assert args.against is not None
    need("statsmodels")
    baseline = load_baseline(args.against)
    if args.rules != "default" and parse_rules(args.rules) != baseline.rules:
        raise ValueError(
            f"--rules {args.rules}: {args.against} was played by other rules, "
            f"{rules_text(baseline.rules.changed())}"
        )
    check_target("--json", args.json)
    with _progress(console) as bar:
        task = bar.add_task("checking", total=None)
        verdicts = check_agents(
            baseline,
            args.agents,
            size=args.gate,
            crew=Crew(args.backend, args.workers, args.address),
            progress=lambda num: bar.advance(task, num),
        )
    console.print(gate_table(verdicts))
    if args.json is not None:
        write_json(
            args.json,
            [asdict(verdict) | {"is_weaker": verdict.is_weaker} for verdict in verdicts],
        )
    return int(any(verdict.is_weaker for verdict in verdicts))


def measure_exploitability(args: Args, console: Console) -> int:
    """Work out each agent's exploitability; returns the exit code.

    Raises:
        ValueError, OSError, ImportError, LostWorkersError: as `run`.
        KeyboardInterrupt: stopped before there was any result.
    """
    if not args.agents:
        raise ValueError("name the agents, like: evaluate.py --exploitability novice expert")
    has_many = len(args.agents) > 1
    if has_many and args.progress is not None:
        raise ValueError("--progress keeps what is done of one agent: name one")
    if has_many and args.json is not None and not args.json.is_dir():
        raise ValueError(f"--json {args.json}: for several agents it is a folder that is there")
    if not has_many:
        check_target("--json", args.json)
    check_target("--progress", args.progress)
    if args.report is not None:
        check_report_folder(args.report)
    rules = parse_rules(args.rules)
    for name in args.agents:
        make_agent(name)
    results = []
    for name in args.agents:
        with _progress(console, "deals") as bar:
            task = bar.add_task(name, total=args.hands)
            found = exploitability(
                name,
                hands=args.hands,
                seed=args.seed,
                deals=args.deals,
                rules=rules,
                purify=args.purify,
                crew=Crew(args.backend, args.workers, args.address),
                kept=args.progress,
                progress=lambda num, bar=bar, task=task: bar.advance(task, num),  # type: ignore[misc]
            )
        results.append(found)
        if args.json is not None:
            path = args.json / f"exploitability-{file_name(found.agent)}.json"
            write_json(path if has_many else args.json, found.to_json())
        console.print(stages_table(found), "", leaks_table(found), "")
        if args.report is not None:
            console.print(f"report: {write_exploitability_report(found, args.report)}", "")
        if found.partial:
            break
    console.print(summary_table(results))
    return 130 if results[-1].partial else 0


def _command(args: Args) -> str:
    """What plays the same again: the options that results follow from."""
    words = ["python", PROGRAM, *args.agents]
    for name in ("pairs", "games", "seed", "deals", "rules"):
        words += [f"--{name}", str(getattr(args, name))]
    return shlex.join(words)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code.

    Returns:
        0; 1 when a control failed or an agent is weaker than its baseline; 2 for what cannot be
        played, told in a sentence; 130 when Ctrl-C stopped it: what it printed and wrote is then
        the result of the pairs it tells.
    """
    args = tyro.cli(Args, prog=PROGRAM, description=DESCRIPTION, args=arguments)
    try:
        if args.exploitability:
            return measure_exploitability(args, Console())
        if args.baseline is not None:
            return write_baseline(args, Console())
        if args.against is not None:
            return check_baseline(args, Console())
        return run(args, Console()).exit_code
    except (ValueError, OSError, ImportError, AgentError, LostWorkersError) as problem:
        print(f"{PROGRAM}: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{PROGRAM}: stopped; no result", file=sys.stderr)
        return 130
