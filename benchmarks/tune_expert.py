"""Finds the numbers of the scripted expert (`agents.thresholds.Thresholds`) by playing.

    python benchmarks/tune_expert.py --minutes 10

The cross-entropy method: draw settings around the present mean, play each against a pool of fixed
opponents on the same mirrored deals (fresh ones every generation), keep the best quarter, take
their mean and spread for the next generation. After every round the setting found joins the pool,
so that the next has to beat it as well and no single opponent is overfitted. All deals come from
the dev list. Prints the settings, how they do, and the dataclass to paste into
``agents/thresholds.py``; ``--json`` keeps them. Method: Rubinstein and Kroese, 2004.
"""

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from agents import Agent, make_agent
from agents.expert import ExpertAgent
from agents.thresholds import SHAPES, Thresholds
from evaluate import match, parse_rules

Vector = npt.NDArray[np.float64]

SPREADS: Final = {"lead": 0.3, "follow": 0.3, "order_upcard": 0.3}
"""How far the first settings are drawn around the mean; 1 point where nothing is said."""
SMALLEST_SPREAD: Final = 0.02
"""As part of the first spread: so that the search never stops looking."""


@dataclass(frozen=True)
class Args:
    """Tune the expert's numbers by mirrored play on dev deals."""

    minutes: float = 10.0
    """time for all rounds together"""
    rounds: int = 4
    """after each, the setting found joins the pool of opponents"""
    population: int = 48
    """settings a generation"""
    pairs: int = 8_000
    """mirrored pairs of deals a setting and opponent"""
    opponents: tuple[str, ...] = ("novice", "expert")
    """the pool at the start; the last one counts as often as all found settings together"""
    rules: str = "default"
    """what is played, as in evaluate.py"""
    fields: tuple[str, ...] = ()
    """only these numbers are changed; all when none is named"""
    seed: int = 0
    """everything follows from it, but for when the time is over"""
    final_pairs: int = 100_000
    """mirrored pairs of the last comparison, on deals not tuned on"""
    start: Path | None = None
    """a JSON file of an earlier run to go on from"""
    json: Path | None = None
    """write the setting and how it does to this file"""


def to_vector(thresholds: Thresholds) -> Vector:
    """All numbers in one row, in the order of the fields."""
    return np.concatenate([np.ravel(getattr(thresholds, name)) for name in SHAPES])


def from_vector(vector: Vector) -> Thresholds:
    """The `Thresholds` that `to_vector` made the row from."""
    values: dict[str, Any] = {}
    start = 0
    for name, shape in SHAPES.items():
        size = int(np.prod(shape))
        values[name] = _nested(vector[start : start + size].reshape(shape))
        start += size
    return Thresholds(**values)


def _nested(array: Vector) -> Any:
    """An array as nested tuples of rounded plain numbers."""
    return round(float(array), 3) if array.ndim == 0 else tuple(_nested(part) for part in array)


def first_spreads(fields: Sequence[str]) -> Vector:
    """Spread of every number; 0 for those that are not changed."""
    spreads = [
        np.full(int(np.prod(shape)), SPREADS.get(name, 1.0) if name in fields else 0.0)
        for name, shape in SHAPES.items()
    ]
    return np.concatenate(spreads)


def score(
    thresholds: Thresholds, pool: Sequence[tuple[Agent, float]], args: Args, seed: int
) -> float:
    """Weighted mean points per deal against the pool."""
    agent, rules = ExpertAgent(thresholds), parse_rules(args.rules)
    return sum(
        weight * match(agent, other, pairs=args.pairs, seed=seed, rules=rules).mean
        for other, weight in pool
    )


def weighted(opponents: Sequence[Agent], found: Sequence[Agent]) -> list[tuple[Agent, float]]:
    """The pool with its weights: the named opponents alike, the settings found alike."""
    shares = [(agent, 1 / len(opponents)) for agent in opponents]
    if not found:
        return shares
    shares = [(agent, weight / 2) for agent, weight in shares]
    return shares + [(agent, 0.5 / len(found)) for agent in found]


def tune(args: Args, console: Console) -> Thresholds:
    """Search until the time is over."""
    rng = np.random.default_rng(args.seed)
    opponents = [make_agent(name) for name in args.opponents]
    found: list[Agent] = []
    mean = to_vector(_start(args))
    generation = 0
    begun = time.monotonic()
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(),
        console=console, transient=True, disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("tuning", total=args.minutes * 60)
        for number in range(args.rounds):
            first = first_spreads(args.fields or tuple(SHAPES))
            spread = first / (1 + number)
            until = begun + args.minutes * 60 * (number + 1) / args.rounds
            while time.monotonic() < until:
                drawn = mean + spread * rng.standard_normal((args.population, len(mean)))
                drawn[0] = mean
                pool = weighted(opponents, found)
                seed = args.seed * 1_000_003 + 1 + generation
                scores = np.array([score(from_vector(row), pool, args, seed) for row in drawn])
                best = np.argsort(-scores, kind="stable")[: args.population // 4]
                mean = 0.5 * mean + 0.5 * drawn[best].mean(axis=0)
                spread = np.maximum(
                    0.7 * spread + 0.3 * drawn[best].std(axis=0), SMALLEST_SPREAD * first
                )
                generation += 1
                text = f"round {number + 1}, generation {generation}: {scores[best].mean():+.4f}"
                bar.update(task, completed=time.monotonic() - begun, description=text)
            console.print(
                f"round {number + 1}: {generation} generations, the mean {scores[0]:+.4f}, "
                f"the best quarter {scores[best].mean():+.4f} against the pool"
            )
            found.append(ExpertAgent(from_vector(mean)))
    return from_vector(mean)


def _start(args: Args) -> Thresholds:
    if args.start is None:
        return Thresholds()
    saved = json.loads(args.start.read_text(encoding="utf-8"))["thresholds"]
    return Thresholds(**{name: _nested(np.array(value)) for name, value in saved.items()})


def paste(thresholds: Thresholds) -> str:
    """The fields as they stand in the source."""
    return "\n".join(
        f"    {name}: {'float' if not shape else 'Row' if len(shape) == 1 else 'tuple[Row, ...]'}"
        f" = {getattr(thresholds, name)!r}"
        for name, shape in SHAPES.items()
    )


def run(args: Args, console: Console) -> Thresholds:
    """Tune, compare on other deals, print and save.

    Raises:
        ValueError: arguments that mean nothing.
        OSError: a file cannot be read or written.
    """
    unknown = set(args.fields) - set(SHAPES)
    if unknown:
        raise ValueError(f"--fields: there is no {', '.join(sorted(unknown))}")
    if args.population < 8 or args.rounds < 1 or args.minutes <= 0:
        raise ValueError("a population of 8 or more, a round or more, and some time are needed")
    thresholds = tune(args, console)
    table = Table("against", "points per deal", "95%", title="the setting found", box=None)
    outcome = {}
    for name in dict.fromkeys(("novice", "expert", *args.opponents)):
        result = match(
            ExpertAgent(thresholds), name, pairs=args.final_pairs,
            seed=args.seed + 2**32, rules=parse_rules(args.rules),
        )  # fmt: skip
        table.add_row(name, f"{result.mean:+.4f}", f"[{result.low:+.4f}, {result.high:+.4f}]")
        outcome[name] = {"mean": result.mean, "low": result.low, "high": result.high}
    console.print(table)
    print(paste(thresholds))
    if args.json is not None:
        saved = {
            "thresholds": dataclasses.asdict(thresholds),
            "against": outcome,
            "pairs": args.final_pairs,
            "rules": args.rules,
        }
        args.json.write_text(json.dumps(saved, indent=2) + "\n", encoding="utf-8")
    return thresholds


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code, 2 for what cannot be done."""
    args = tyro.cli(Args, description=__doc__, args=arguments)
    try:
        run(args, Console())
    except (ValueError, OSError) as problem:
        print(f"tune_expert.py: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tune_expert.py: stopped; no result", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
