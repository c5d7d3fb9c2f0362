"""The tables of the documentation that tell what was measured, made from ``results/*.json``."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path(__file__).resolve().parent.parent / "results"
_FIRST_RIVALS: Final = {"quick": "novice", "strong": "expert", "selfplay": "expert"}
_CEILINGS: Final = {"novice": "exploitability-novice.json", "expert": "exploitability-expert.json"}


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A Markdown table."""
    lines = [tuple(head)]
    lines.append(("---",) * len(lines[0]))
    lines.extend(tuple(str(cell).replace("|", r"\|") for cell in row) for row in rows)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))


def _points(told: dict[str, Any]) -> str:
    return f"{told['mean']:+.3f} [{told['low']:+.3f}, {told['high']:+.3f}]"


def _agent_cells(
    *,
    agent: str,
    below: str | None,
    pairs: int,
    mean: float | None,
    low: float | None,
    high: float | None,
    decisions_per_second: float,
    exploitability: tuple[float, float, float] | None,
) -> tuple[str, ...]:
    """A row of the table of agents; the arguments are a rung in ``results/agents.json``."""
    strength = f"{mean:+.3f} [{low:+.3f}, {high:+.3f}] against {below}" if below else ""
    leak = "not measured"
    if exploitability is not None:
        leak = "{:.3f} [{:.3f}, {:.3f}]".format(*exploitability)
    speed = float(f"{decisions_per_second:.1g}")  # one figure: the machine is shared
    return f"`{agent}`", strength, f"{pairs:,}" if pairs else "", leak, f"{speed:,.0f}"


def agents_table() -> str:
    """The agents on the ladder, from what ``benchmarks/agents_table.py`` has measured."""
    rungs = _read("agents.json")
    head = ("agent", "points a deal [95%]", "pairs", "exploitability [95%]", "decisions a second")
    return table(head, (_agent_cells(**rung) for rung in rungs))


def _runs(preset: str) -> tuple[list[Any], Any]:
    """The runs of a preset by seed, and the one with the median result."""
    rival = _FIRST_RIVALS[preset]
    runs = sorted(
        (run for run in _read("training.json") if run["preset"] == preset),
        key=lambda run: run["seed"],
    )
    return runs, sorted(runs, key=lambda run: run["heldout"][rival]["mean"])[len(runs) // 2]


def _share(told: dict[str, Any], rival: str) -> str:
    """Of what the exact best response wins from a rival."""
    return f"{told['mean'] / _read(_CEILINGS[rival])['mean']:.0%}"


def _leak(told: dict[str, Any]) -> str:
    return "{mean:.3f} [{low:.3f}, {high:.3f}]".format(**told)


def training_summary_table() -> str:
    """The median seed of every preset, and the spread."""
    rows = []
    for preset, rival in _FIRST_RIVALS.items():
        runs, middle = _runs(preset)
        means = [run["heldout"][rival]["mean"] for run in runs]
        rows.append(
            (
                f"`{preset}`",
                f"{middle['cpu_seconds'] / 60:.0f}",
                f"{_points(middle['heldout'][rival])} over `{rival}`",
                f"{min(means):+.3f} to {max(means):+.3f}",
                _share(middle["heldout"][rival], rival),
                _leak(middle["exploitability"]) if "exploitability" in middle else "",
            )
        )
    head = (
        "preset", "minutes on one core", "points a deal, median seed [95%]", "five seeds",
        "of the ceiling", "exploitability",
    )  # fmt: skip
    return table(head, rows)


def training_table() -> str:
    """Every seed of every preset, from what ``benchmarks/train_results.py`` has measured."""
    rows = []
    for preset, rival in _FIRST_RIVALS.items():
        runs, middle = _runs(preset)
        for run in runs:
            told = run["heldout"][rival]
            mark = "**" if run is middle else ""
            besides = ", ".join(
                f"{other['mean']:+.3f} over {name}"
                for name, other in run["heldout"].items()
                if name != rival
            )
            rows.append(
                (
                    f"{mark}`{preset}`, seed {run['seed']}{mark}",
                    f"{run['cpu_seconds'] / 60:.1f}",
                    f"{mark}{_points(told)} over {rival}{mark}",
                    _share(told, rival),
                    besides,
                )
            )
    head = ("run", "minutes on one core", "points a deal [95%]", "of the ceiling", "besides")
    return table(head, rows)


def training_leaks_table() -> str:
    """What can be won from the median seeds, and from the policies on their way."""
    rows = []
    for run in _read("training.json"):
        told = [*(point for point in run["curve"] if point["steps"] != run["steps"]), run]
        for point in told:
            if "exploitability" in point:
                leak = point["exploitability"]
                rows.append(
                    (
                        f"`{run['preset']}`, seed {run['seed']}",
                        f"{point['cpu_seconds'] / 60:.1f}",
                        _leak(leak),
                        leak["hands"],
                    )
                )
    return table(("policy", "minutes on one core", "exploitability [95%]", "deals"), rows)


def training_speed_table() -> str:
    """Where training's time goes, from ``benchmarks/training_speed.py``."""
    presets = _read("training-speed.json")["presets"]
    rates = [found["choices_per_second"] for found in presets.values()]
    free = [found["free_games_per_second"] for found in presets.values()]
    parts = next(iter(presets.values()))["shares"]
    rows: list[tuple[str, ...]] = [
        ("choices a second", *(f"{rate:,.0f}" for rate in rates)),
        (
            "times MaskablePPO on games that cost nothing",
            *(f"{rate / other:.2f}" for rate, other in zip(rates, free, strict=True)),
        ),
    ]
    rows += [
        (part, *(f"{found['shares'][part]:.1%}" for found in presets.values())) for part in parts
    ]
    return table(("", *(f"`{preset}`" for preset in presets)), rows)


def training_sweep_table() -> str:
    """One knob changed at a time, from ``benchmarks/sweep_training.py``."""
    rows = [
        (
            ", ".join(f"`{knob}={value}`" for knob, value in line["changed"].items()) or "nothing",
            _points(line),
            f"{line['cpu_seconds'] / 60:.1f}",
        )
        for line in _read("training-sweep.json")
    ]
    return table(("changed", "points a deal over expert [95%]", "minutes on one core"), rows)


def scaling_table() -> str:
    """What the full best response takes on so many cores, from ``benchmarks/scaling.py``."""
    rows = []
    for name, found in _read("scaling.json")["agents"].items():
        rows.append(
            (
                f"`{name}`",
                f"{found['tree_seconds']:.2f}",
                f"{found['longest_deal_seconds']:.1f}",
                *(f"{float(format(hours, '.2g')):g}" for hours in found["hours"].values()),
                f"{float(format(found['useful_cores'], '.1g')):,.0f}",
            )
        )
    head = (
        "agent", "seconds a hand and seat", "longest deal, seconds", "hours on 1 core", "2", "100",
        "1,000", "useful cores",
    )  # fmt: skip
    return table(head, rows)


RESULT_TABLES: Final[dict[str, Callable[[], str]]] = {
    "agents": agents_table,
    "scaling": scaling_table,
    "training": training_table,
    "training_summary": training_summary_table,
    "training_leaks": training_leaks_table,
    "training_speed": training_speed_table,
    "training_sweep": training_sweep_table,
}
"""``name -> its table as Markdown``."""
