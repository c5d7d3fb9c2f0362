"""The table of agents in ``docs/agents.md``: each against the rung below, its speed, its leaks.

Matches are on held-out deals, the number of pairs fixed in advance. Speed is that of an agent
against itself, in one process. What can be won from an agent is read from the files that
``evaluate.py --exploitability`` has written.

    python benchmarks/agents_table.py            # about half an hour; writes results/agents.json
    python benchmarks/agents_table.py --only ppo-strong ppo-selfplay    # these lines alone
    python docs/print_tables.py                  # then the page
    python benchmarks/agents_table.py --smoke    # seconds, figures that mean little; writes nothing
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import tyro
from rich.console import Console
from rich.table import Table

from agents import make_agent
from agents.evaluation import match
from agents.evaluation.backends import Backend, Crew
from agents.evaluation.controls import load_ceilings
from euchre_env.rules import Rules

LADDER: Final = ("random", "novice", "expert", "search", "bidder", "belief")
"""The agents made by hand that need nothing after their name, the weakest first."""
LEARNED: Final = {"ppo-strong": "expert", "ppo-selfplay": "expert"}
"""Those that training has made, and whom they are measured against."""
OPPONENTS: Final = {**dict(zip(LADDER, (None, *LADDER), strict=False)), **LEARNED}
"""``agent -> whom it is matched against``."""
SLOW: Final = ("belief",)
"""Those that need milliseconds for a decision."""
SPEED_PAIRS, SLOW_SPEED_PAIRS = 5_000, 200
"""Pairs that speed is measured on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Measure all agents on the ladder."""

    pairs: int = 40_000
    """Mirrored pairs of deals in each match."""
    slow_pairs: int = 10_000
    """The same where an agent needs milliseconds for a decision."""
    backend: Backend = "loky"
    """Who plays the matches; changes no result."""
    ceilings: Path = Path("results")
    """Where exploitability-*.json files lie."""
    only: tuple[str, ...] = ()
    """Agents to measure; the figures of the others stay. All, where none is named."""
    smoke: bool = False
    """Few pairs, nothing written: shows that everything runs."""
    json: Annotated[Path, tyro.conf.arg(metavar="PATH")] = Path("results/agents.json")
    """Where every number is written, rung by rung."""


@dataclass(frozen=True)
class Rung:
    """An agent in the table; points are per deal."""

    agent: str
    below: str | None
    """The agent that it was matched against."""
    pairs: int
    mean: float | None
    low: float | None
    high: float | None
    decisions_per_second: float
    """Of itself against itself, in one process."""
    exploitability: tuple[float, float, float] | None
    """Mean and 95% interval, where it was measured."""


def measure(agent: str, below: str | None, args: Args) -> Rung:
    """One row: a match against the rung below, and one against itself for the speed.

    Args:
        agent: its name.
        below: the name of the agent below, None for the lowest.
        args: see `Args`.
    """
    pairs, own = args.pairs, SPEED_PAIRS
    if agent in SLOW:
        pairs, own = args.slow_pairs, SLOW_SPEED_PAIRS
    if args.smoke:
        pairs, own = 20, 20
    player = make_agent(agent)
    match(player, player, pairs=20)  # compiled now, not while the clock runs
    speed = match(player, player, pairs=own).decisions_per_second
    ceiling = load_ceilings(args.ceilings, Rules()).get(agent)
    most = (ceiling.mean, ceiling.low, ceiling.high) if ceiling else None
    if below is None:
        return Rung(agent, None, 0, None, None, None, speed, most)
    result = match(agent, below, pairs=pairs, deals="heldout", crew=Crew(args.backend))
    return Rung(agent, below, pairs, result.mean, result.low, result.high, speed, most)


def main() -> None:
    """Measure, write, print."""
    args = tyro.cli(Args, description=__doc__)
    table = Table("agent", "against", "pairs", "points a deal", "low", "high", "decisions a second")
    rungs: list[dict[str, Any]] = []
    before = {}
    if args.only:
        told = json.loads(args.json.read_text(encoding="utf-8"))
        before = {rung["agent"]: rung for rung in told if rung["agent"] not in args.only}
    for agent, below in OPPONENTS.items():
        if agent in before:
            rungs.append(before[agent])
        else:
            rung = measure(agent, below, args)
            rungs.append(asdict(rung))
            points = ("" if x is None else f"{x:+.3f}" for x in (rung.mean, rung.low, rung.high))
            speed = f"{rung.decisions_per_second:,.0f}"
            table.add_row(rung.agent, rung.below, str(rung.pairs), *points, speed)
        if not args.smoke:
            kept = [before[later] for later in list(OPPONENTS)[len(rungs) :] if later in before]
            args.json.write_text(json.dumps(rungs + kept, indent=2) + "\n", encoding="utf-8")
    Console().print(table)


if __name__ == "__main__":
    main()
