"""Finds the bid thresholds of the search agent (`agents.search.BIDS`) by playing.

    python benchmarks/tune_search.py --minutes 6

The search of ``tune_expert.py`` (cross-entropy method, dev deals, settings found join the pool)
for the numbers that `agents.expert_bids` reads, with the search agent's card play. Prints the
fields to paste into ``agents/search.py`` and how the setting does on other deals.
"""

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table
from tune_expert import Vector, first_spreads, from_vector, paste, to_vector, weighted

from agents import Agent, make_agent
from agents.search import BIDS, SearchAgent, Settings
from agents.thresholds import SHAPES, Thresholds
from evaluate import match

FIELDS: Final = tuple(name for name in SHAPES if name not in ("lead", "follow"))
"""The numbers that bids depend on."""


@dataclass(frozen=True)
class Args:
    """Tune the search agent's bids by mirrored play on dev deals."""

    minutes: float = 6.0
    """time for all rounds together"""
    rounds: int = 3
    """after each, the setting found joins the pool of opponents"""
    population: int = 40
    """settings a generation, 8 or more"""
    pairs: int = 8_000
    """mirrored pairs of deals a setting and opponent"""
    opponents: tuple[str, ...] = ("expert", "search")
    """the pool at the start"""
    spread: float = 0.5
    """first spread, as part of that of tune_expert.py"""
    seed: int = 0
    """everything follows from it, but for when the time is over"""
    final_pairs: int = 100_000
    """mirrored pairs of the last comparison, on deals not tuned on"""
    json: Path | None = None
    """write the setting and how it does to this file"""


def player(bids: Thresholds) -> SearchAgent:
    """The agent with other bids."""
    return SearchAgent(Settings(bids=bids))


def tune(args: Args, console: Console) -> Thresholds:
    """Search until the time is over."""
    rng = np.random.default_rng(args.seed)
    opponents = [make_agent(name) for name in args.opponents]
    found: list[Agent] = []
    first = args.spread * first_spreads(FIELDS)
    mean: Vector = to_vector(BIDS)
    generation, begun = 0, time.monotonic()
    for number in range(args.rounds):
        spread = first / (1 + number)
        until = begun + args.minutes * 60 * (number + 1) / args.rounds
        while time.monotonic() < until:
            drawn = mean + spread * rng.standard_normal((args.population, len(mean)))
            drawn[0] = mean
            pool, seed = weighted(opponents, found), args.seed * 1_000_003 + 1 + generation
            scores = np.array(
                [
                    sum(
                        weight
                        * match(player(from_vector(row)), other, pairs=args.pairs, seed=seed).mean
                        for other, weight in pool
                    )
                    for row in drawn
                ]
            )
            best = np.argsort(-scores, kind="stable")[: args.population // 4]
            mean = 0.5 * mean + 0.5 * drawn[best].mean(axis=0)
            spread = np.maximum(0.7 * spread + 0.3 * drawn[best].std(axis=0), 0.02 * first)
            generation += 1
            console.print(
                f"round {number + 1}, generation {generation}: the mean {scores[0]:+.4f}, "
                f"the best quarter {scores[best].mean():+.4f}"
            )
        found.append(player(from_vector(mean)))
    return from_vector(mean)


def run(args: Args, console: Console) -> Thresholds:
    """Tune, compare on other deals, print and save.

    Raises:
        ValueError: arguments that mean nothing.
        OSError: the file cannot be written.
    """
    if args.population < 8 or args.rounds < 1 or args.minutes <= 0:
        raise ValueError("a population of 8 or more, a round or more, and some time are needed")
    bids = tune(args, console)
    table = Table("against", "points per deal", "95%", title="the setting found", box=None)
    outcome = {}
    for name in args.opponents:
        result = match(player(bids), name, pairs=args.final_pairs, seed=args.seed + 2**32)
        table.add_row(name, f"{result.mean:+.4f}", f"[{result.low:+.4f}, {result.high:+.4f}]")
        outcome[name] = {"mean": result.mean, "low": result.low, "high": result.high}
    console.print(table)
    print(paste(bids))
    if args.json is not None:
        saved = {"bids": dataclasses.asdict(bids), "against": outcome, "pairs": args.final_pairs}
        args.json.write_text(json.dumps(saved, indent=2) + "\n", encoding="utf-8")
    return bids


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code, 2 for what cannot be done."""
    args = tyro.cli(Args, description=__doc__, args=arguments)
    try:
        run(args, Console())
    except (ValueError, OSError) as problem:
        print(f"tune_search.py: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
