"""Why the trainer's knobs are what they are: one is changed at a time, and what comes out measured.

    python benchmarks/sweep_training.py                    # hours; goes on where it was stopped
    python benchmarks/sweep_training.py --only epochs      # the lines of one knob
    python benchmarks/sweep_training.py --smoke            # seconds, figures that mean little

Every line trains ``--preset strong`` for the same number of choices and plays the expert on dev
deals. Equal choices cost different times, so the minutes stand beside. The table in
``docs/training.md`` is made from ``results/training-sweep.json`` by ``docs/print_tables.py``.
"""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import tyro
from rich.console import Console
from rich.progress import track

from agents.evaluation import match
from agents.evaluation.files import write_json
from agents.learned import LearnedAgent
from agents.training.config import Config, check, with_preset
from agents.training.run import Run
from agents.training.screen import Screen

VARIANTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"epochs": 1},
    {"epochs": 4},
    {"learning_rate": 2e-3},
    {"learning_rate": 8e-3},
    {"gae_lambda": 0.7},
    {"gae_lambda": 0.95},
    {"critic": "own"},
    {"entropy": 0.01},
    {"entropy": 0.06},
    {"batch_size": 2048},
    {"batch_size": 8192},
    {"policy_layers": (128, 64), "value_layers": (128, 64)},
    {"policy_layers": (512, 256), "value_layers": (512, 256)},
    {"activation": "tanh"},
    {"augment_suits": True},
    {"magnet_kl": 0.05},
)
"""What each line changes about the preset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Train variants of the preset, one after the other."""

    steps: int = 4_000_000
    """Choices that each learns from."""
    seeds: tuple[int, ...] = (0,)
    """Seeds of each line."""
    pairs: int = 20_000
    """Mirrored pairs of dev deals against the expert."""
    only: str = ""
    """Train the lines that change this knob alone."""
    smoke: bool = False
    """One line, few choices, nothing written."""
    json: Annotated[Path, tyro.conf.arg(metavar="PATH")] = Path("results/training-sweep.json")
    """Where every number is kept."""


def train(variant: dict[str, Any], seed: int, args: Args) -> dict[str, Any]:
    """One line: a run, and its match."""
    config: Config = with_preset(
        "strong", steps=args.steps, seed=seed, evaluations=0, checkpoint_minutes=1e6, **variant
    )
    with tempfile.TemporaryDirectory() as folder:
        screen = Screen(Console(quiet=True), config.episode)
        run = Run(config, check(config), Path(folder), screen)
        run.go()
        cpu_seconds = run.budget.cpu_seconds
        result = match(LearnedAgent(run.policy()), "expert", pairs=args.pairs)
    return {
        "changed": variant, "seed": seed, "steps": args.steps, "cpu_seconds": cpu_seconds,
        "mean": result.mean, "low": result.low, "high": result.high, "pairs": args.pairs,
    }  # fmt: skip


def key(line: dict[str, Any]) -> str:
    """What makes a line another one."""
    return json.dumps([line["changed"], line["seed"], line["steps"]], sort_keys=True)


def main() -> None:
    """Train what has not been, and write after every line."""
    args = tyro.cli(Args, description=__doc__)
    if args.smoke:
        args = Args(steps=70_000, pairs=100)
        print(train({}, 0, args))
        return
    found: list[dict[str, Any]] = []
    if args.json.exists():
        found = json.loads(args.json.read_text(encoding="utf-8"))
    known = {key(line) for line in found}
    todo = [
        (variant, seed)
        for seed in args.seeds
        for variant in VARIANTS
        if args.only in ("", *variant)
        and key({"changed": variant, "seed": seed, "steps": args.steps}) not in known
    ]
    for variant, seed in track(todo, "variants"):
        found.append(train(variant, seed, args))
        write_json(args.json, found)


if __name__ == "__main__":
    main()
