"""What training reaches: the runs of all presets measured, seed by seed, and their way there.

    for seed in 0 1 2 3 4; do python train.py --preset strong --seed $seed --name strong-$seed; done
    python benchmarks/train_results.py runs/*-strong-?      # and so for quick and selfplay
    python benchmarks/train_results.py --hands 100          # exploitability of the median seeds

Each run plays mirrored pairs of held-out deals, a number fixed in advance; its checkpoints play
dev deals. The headline of a preset is the seed with the median result, never the best, and
exploitability is that of this seed. What has been measured stands in ``results/training.json``
and is not measured again; the picture in ``docs/training.md`` and its tables
(``python docs/print_tables.py``) are made from that file.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import tyro
from rich.progress import track

from agents.evaluation import match
from agents.evaluation.backends import Crew
from agents.evaluation.exploitability import exploitability
from agents.evaluation.files import write_json
from agents.evaluation.plots import INK, LOSS, MUTED, RULE, STYLE, WIN
from agents.learned import LearnedAgent

ROOT: Final = Path(__file__).parents[1]
NUMBERS, PICTURE = ROOT / "results/training.json", ROOT / "docs/images/training.svg"
RIVALS: Final = {
    "quick": ("novice", "expert"),
    "strong": ("expert", "novice"),
    "selfplay": ("expert", "novice", "search"),
}
"""Whom a preset's agents are measured against; the first decides which seed is the median."""
COLOURS: Final = {"quick": MUTED, "strong": WIN, "selfplay": LOSS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Measure finished runs, or what can be won from the median ones."""

    runs: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Folders of runs."""
    pairs: int = 10_000
    """Mirrored pairs of held-out deals in each match."""
    curve_pairs: int = 4_000
    """Mirrored pairs of dev deals for each checkpoint."""
    curve_points: int = 9
    """Checkpoints of each run that are measured, about evenly in the logarithm of the steps."""
    hands: int = 0
    """Deals for the exploitability of each preset's median seed; 0: do not measure it."""
    curve_hands: int = 0
    """The same for each of its checkpoints."""
    presets: tuple[str, ...] = ("strong", "selfplay")
    """Of which presets the exploitability is wanted."""
    json: Annotated[Path, tyro.conf.arg(metavar="PATH")] = NUMBERS
    """Where every number is kept."""


def measured(folder: Path, args: Args) -> dict[str, Any]:
    """What a run is and does.

    Args:
        folder: of a run that has ended.
        args: see `Args`.

    Returns:
        JSON values: preset, seed, steps, time, ``heldout`` by rival, ``curve``.
    """
    told = json.loads((folder / "policy.json").read_text(encoding="utf-8"))["training"]
    rivals = RIVALS[told["preset"]]
    agent, crew = LearnedAgent.load(folder), Crew("serial")
    heldout = {}
    for rival in rivals:
        result = match(agent, rival, pairs=args.pairs, games=args.pairs // 10, deals="heldout",
                       crew=crew)  # fmt: skip
        share = result.game_share
        heldout[rival] = {
            **interval(result), "pairs": args.pairs, "games_won": share and share.mean,
        }  # fmt: skip
    curve = [
        on_the_way(place, rivals[0], args.curve_pairs)
        for place in spread([*checkpoints(folder), folder], args.curve_points)
    ]
    kept = ("preset", "seed", "steps", "seconds", "cpu_seconds", "opponent")
    return {**{key: told[key] for key in kept}, "folder": folder.name, "heldout": heldout,
            "curve": curve}  # fmt: skip


def interval(result: Any) -> dict[str, float]:
    """Mean and 95% interval of a match or an estimate, points per deal."""
    return {key: round(float(getattr(result, key)), 5) for key in ("mean", "low", "high")}


def checkpoints(folder: Path) -> list[Path]:
    """The policies that a run left on its way, the oldest first."""
    return sorted(path for path in (folder / "checkpoints").glob("*") if path.is_dir())


def spread(places: list[Path], num: int) -> list[Path]:
    """Some of the policies of a run, about evenly in the logarithm of their age; the last too."""
    if len(places) <= num:
        return places
    chosen = np.unique(np.geomspace(1, len(places), num).round().astype(int)) - 1
    return [places[k] for k in chosen]


def on_the_way(place: Path, rival: str, pairs: int) -> dict[str, Any]:
    """How strong a policy of a run was, on dev deals."""
    told = json.loads((place / "policy.json").read_text(encoding="utf-8"))["training"]
    result = match(LearnedAgent.load(place), rival, pairs=pairs)
    times = {key: told[key] for key in ("steps", "seconds", "cpu_seconds")}
    return {**times, "rival": rival, **interval(result), "pairs": pairs}


def of_preset(found: list[dict[str, Any]], preset: str) -> list[dict[str, Any]]:
    """The runs of a preset, by seed."""
    return sorted((run for run in found if run["preset"] == preset), key=lambda run: run["seed"])


def median_run(found: list[dict[str, Any]], preset: str) -> dict[str, Any]:
    """The run of a preset whose result against the first rival is the median.

    Raises:
        ValueError: there are none, or an even number.
    """
    runs = of_preset(found, preset)
    if len(runs) % 2 == 0:
        raise ValueError(f"{len(runs)} runs of {preset} have no median: an odd number is wanted")
    rival = RIVALS[preset][0]
    return sorted(runs, key=lambda run: run["heldout"][rival]["mean"])[len(runs) // 2]


def add_exploitability(run: dict[str, Any], folder: Path, args: Args) -> None:
    """What can be won from a run's policy, and from those on its way."""
    told: list[tuple[Path, dict[str, Any], int]] = [(folder, run, args.hands)]
    by_steps = {int(path.name): path for path in checkpoints(folder)}
    if args.curve_hands:
        told += [
            (by_steps[point["steps"]], point, args.curve_hands)
            for point in run["curve"]
            if point["steps"] in by_steps
        ]
    for place, target, hands in told:
        if target.get("exploitability", {}).get("hands", 0) >= hands:
            continue
        kept = folder / f"exploitability-{place.name}.npz"  # a killed measurement goes on here
        result = exploitability(f"run:{place}", hands=hands, kept=kept, crew=Crew("loky"))
        target["exploitability"] = {**interval(result.overall), "hands": hands}


def draw(found: list[dict[str, Any]]) -> None:
    """Strength and exploitability against time, as a picture: a line a seed, a dot at its end."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 3.4), layout="constrained")
        panels = figure.subplots(1, 3)
        titles = ("over the novice: quick", "over the expert: strong, selfplay", "exploitability")
        for panel, title in zip(panels, titles, strict=True):
            panel.set_title(title)
            panel.set_xlabel("minutes on one core")
            panel.set_xscale("log")
            panel.axhline(0, color=RULE)
            panel.xaxis.set_major_formatter(matplotlib.ticker.FormatStrFormatter("%g"))
            panel.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        panels[0].set_ylabel("points per deal")
        for run in found:
            panel = panels[0] if run["preset"] == "quick" else panels[1]
            colour = COLOURS[run["preset"]]
            minutes, means = along(run["curve"], "mean")
            panel.plot(minutes, means, color=colour, linewidth=1.0, alpha=0.75)
            panel.plot(minutes[-1], means[-1], "o", color=colour, markersize=3.5)
            leaks = [point for point in run["curve"] if "exploitability" in point]
            if "exploitability" in run:
                leaks.append({**run["curve"][-1], "exploitability": run["exploitability"]})
            if leaks:
                minutes = [point["cpu_seconds"] / 60 for point in leaks]
                nested = [point["exploitability"] for point in leaks]
                panels[2].errorbar(
                    minutes,
                    [one["mean"] for one in nested],
                    yerr=[one["high"] - one["mean"] for one in nested],
                    color=colour, linewidth=1.0, marker="o", markersize=3.5, elinewidth=0.8,
                )  # fmt: skip
        for panel, names in (
            (panels[1], ("strong", "selfplay")),
            (panels[2], ("strong", "selfplay")),
        ):
            for k, name in enumerate(names):
                panel.text(0.97, 0.06 + 0.08 * k, name, color=COLOURS[name], ha="right",
                           transform=panel.transAxes)  # fmt: skip
        panels[1].set_ylim(bottom=-0.3)
        panels[0].tick_params(colors=INK)
        figure.savefig(PICTURE, metadata={"Date": None})


def along(curve: list[dict[str, Any]], what: str) -> tuple[list[float], list[float]]:
    """Minutes on one core, and a number of each point."""
    return [point["cpu_seconds"] / 60 for point in curve], [point[what] for point in curve]


def main(args: Args) -> None:
    """Measure what is new, write it, draw."""
    found: list[dict[str, Any]] = []
    if args.json.exists():
        found = json.loads(args.json.read_text(encoding="utf-8"))
    folders = {folder.name: folder for folder in args.runs}
    known = {run["folder"] for run in found}
    for name in track([name for name in folders if name not in known], "runs"):
        found.append(measured(folders[name], args))
        write_json(args.json, found)
    for preset in args.presets if args.hands else ():
        run = median_run(found, preset)
        if run["folder"] not in folders:
            raise SystemExit(f"the median seed of {preset} is {run['folder']}: give its folder too")
        add_exploitability(run, folders[run["folder"]], args)
        write_json(args.json, found)
    draw(found)


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
