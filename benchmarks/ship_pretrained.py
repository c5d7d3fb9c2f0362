"""Put the median seeds of ``strong`` and ``selfplay`` into the package, each with its model card.

    python benchmarks/train_results.py runs/*          # first: measures them
    python benchmarks/ship_pretrained.py runs/*        # writes agents/pretrained/ppo-*

Which seed it is follows from ``results/training.json``; nobody chooses.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import tyro
from train_results import NUMBERS, RIVALS, median_run, of_preset

from agents.evaluation.files import write_text
from agents.policies import load_policy, save_policy
from agents.pretrained import FOLDER
from agents.training.config import Config, read_run

NAMES: Final = {"strong": "ppo-strong", "selfplay": "ppo-selfplay"}
OF_THE_FOLDER: Final = ("name", "folder", "pairs", "seed")
LIMITS: Final = {
    "strong": (
        "It was taught by one opponent. What it learnt is how to beat `expert`; somebody who plays "
        "otherwise may beat it in turn, and the exploitability above says by how much at most."
    ),
    "selfplay": (
        "Exploitability is that of an opponent who knows the policy by heart. Which sampled hands "
        "it was measured on decides the last digit, see the interval."
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Ship the median runs."""

    runs: tyro.conf.Positional[tuple[Path, ...]]
    """Folders of runs, those of the median seeds among them."""


def points(told: dict[str, float]) -> str:
    """A mean with its interval."""
    return f"{told['mean']:+.3f} [{told['low']:+.3f}, {told['high']:+.3f}]"


def changed(config: Config) -> dict[str, Any]:
    """The knobs that differ from the preset's and bear on the policy."""
    return {k: v for k, v in sorted(config.changed().items()) if k not in OF_THE_FOLDER}


def card(preset: str, run: dict[str, Any], runs: list[dict[str, Any]], config: Config) -> str:
    """The model card of a shipped agent."""
    name, rival = NAMES[preset], RIVALS[preset][0]
    results = [
        f"| {told['pairs']:,} mirrored pairs against `{who}`, points a deal | {points(told)} |"
        for who, told in run["heldout"].items()
    ]
    leak = run.get("exploitability")
    if leak:
        text = f"{leak['mean']:.3f} [{leak['low']:.3f}, {leak['high']:.3f}]"
        results.append(f"| exploitability, {leak['hands']} dev deals, points a deal | {text} |")
    seeds = ", ".join(f"{each['heldout'][rival]['mean']:+.3f}" for each in runs)
    knobs = ", ".join(f"`{key}={value}`" for key, value in changed(config).items())
    return "\n".join(
        [
            f"# {name}",
            "",
            f"The policy of `train.py --preset {preset} --seed {run['seed']}`: the median of "
            f"{len(runs)} seeds against `{rival}` ({seeds}), not the best of them.",
            "",
            "```python",
            "from agents import make_agent",
            "",
            f'agent = make_agent("{name}")  # "{name}:sample" draws its acts by their probability',
            "```",
            "",
            "| measured | result, 95% interval |",
            "| --- | --- |",
            *results,
            "",
            "Matches are on held-out deals, which no run has seen, with the likeliest act in every "
            "position. All numbers: `results/training.json`, made by "
            "`python benchmarks/train_results.py`.",
            "",
            f"- **Taught by**: MaskablePPO against {run['opponent']}, {run['steps']:,} choices, "
            f"{run['cpu_seconds'] / 60:.0f} minutes on one core.",
            "- **Network**: layers of "
            f"{' and '.join(map(str, config.policy_layers))} over the player's own observation. A "
            "critic that saw the other hand taught it, and stayed behind.",
            f"- **Knobs changed from the preset's**: {knobs or 'none'}.",
            "- **Rules**: the 24-card game. Under others it plays legally, and worse.",
            "- **Blind to the score**: it plays each deal for its points.",
            f"- **Limits**: {LIMITS[preset]}",
            "- **Licence**: that of the package.",
            "",
        ]
    )


def main(args: Args) -> None:
    """Write both folders."""
    found = json.loads(NUMBERS.read_text(encoding="utf-8"))
    folders = {folder.name: folder for folder in args.runs}
    for preset, name in NAMES.items():
        run = median_run(found, preset)
        if run["folder"] not in folders:
            raise SystemExit(f"the median seed of {preset} is {run['folder']}: give its folder too")
        folder = folders[run["folder"]]
        save_policy(load_policy(folder), FOLDER / name)
        shown = card(preset, run, of_preset(found, preset), read_run(folder))
        write_text(FOLDER / name / "README.md", shown)
        print(f"written: {FOLDER / name}, seed {run['seed']}")


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
