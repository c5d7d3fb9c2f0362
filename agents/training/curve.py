"""The learning curve: a line an update, as a table, a file and a picture."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.policies import write_atomically

COLUMNS: Final = (
    "seconds",
    "steps",
    "episodes",
    "points",
    "points_error",
    "won",
    "script_points",
    "entropy",
    "approx_kl",
    "clip_fraction",
    "explained_variance",
    "learning_rate",
    "loss",
    "cpu_seconds",
    "opponents_share",
)
"""Of ``curve.csv``, one line an update: ``points`` is the learner's mean reward per episode since
the line before while it still tries things out, ``points_error`` its 95% half-width, ``won`` the
share of the episodes with a reward above 0; ``script_points`` is the mean of the episodes against
the opponents named alone. ``cpu_seconds`` is what the run took of all cores; ``opponents_share``
is the opponents' share of the seconds, where they are asked in batches."""
LOGGED: Final = ("approx_kl", "clip_fraction", "explained_variance", "learning_rate", "loss")
"""Those that the learner logs as ``train/…``."""

Row = dict[str, float]


def mean_and_error(sums: Mapping[str, npt.NDArray[np.float64]]) -> tuple[float, float]:
    """Mean reward of the episodes counted, and its 95% half-width; not numbers below two."""
    num, total, squares = (float(sums[name].sum()) for name in ("episodes", "reward", "squares"))
    if num < 2:
        return float("nan"), float("nan")
    mean = total / num
    return mean, 1.96 * float(np.sqrt(max(squares / num - mean**2, 0.0) / (num - 1)))


def as_array(curve: Sequence[Row]) -> npt.NDArray[np.float64]:
    """The curve as float64 of shape (lines, columns)."""
    rows = [[row[name] for name in COLUMNS] for row in curve]
    return np.array(rows, dtype=np.float64).reshape(len(curve), len(COLUMNS))


def from_array(numbers: npt.NDArray[np.float64]) -> list[Row]:
    """The curve that `as_array` gave.

    Raises:
        ValueError: it has other columns.
    """
    if numbers.ndim != 2 or numbers.shape[1] != len(COLUMNS):
        raise ValueError(f"a curve of shape {numbers.shape}: (n, {len(COLUMNS)}) is expected")
    return [dict(zip(COLUMNS, row, strict=True)) for row in numbers.tolist()]


def smoothed(values: npt.NDArray[np.float64], reach: int) -> npt.NDArray[np.float64]:
    """The mean of each value and of ``reach`` values on either side, fewer near the ends."""
    weights = np.isfinite(values).astype(np.float64)
    sums = np.cumsum(np.concatenate([[0.0], np.nan_to_num(values)]))
    counts = np.cumsum(np.concatenate([[0.0], weights]))
    places = np.arange(len(values))
    sides = np.minimum(reach, np.minimum(places, len(values) - 1 - places))  # never lopsided
    low, high = places - sides, places + sides + 1
    with np.errstate(invalid="ignore"):
        means: npt.NDArray[np.float64] = (sums[high] - sums[low]) / (counts[high] - counts[low])
    return means


def write_curve(curve: Sequence[Row], folder: Path, *, unit: str, against: str) -> None:
    """The learning curve as ``curve.csv`` and, once there are two points, ``curve.png``."""
    with io.StringIO(newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {key: "" if np.isnan(v) else f"{v:.6g}" for key, v in row.items()} for row in curve
        )
        write_atomically(folder / "curve.csv", file.getvalue().encode())
    if len(curve) > 1:
        with io.BytesIO() as picture:
            draw_curve(curve, unit=unit, against=against).savefig(picture, format="png", dpi=120)
            write_atomically(folder / "curve.png", picture.getvalue())


def draw_curve(curve: Sequence[Row], *, unit: str, against: str) -> Any:
    """Points and entropy over steps, as a matplotlib figure."""
    from matplotlib.figure import Figure

    steps = np.array([row["steps"] for row in curve]) / 1e6
    points = np.array([row["points"] for row in curve])
    entropy = np.array([row["entropy"] for row in curve])
    figure = Figure(figsize=(8, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.axhline(0, color="0.6", linewidth=0.8)
    above.plot(steps, points, color="tab:blue", alpha=0.3, linewidth=0.8, label="each update")
    above.plot(steps, smoothed(points, len(curve) // 20), color="tab:blue", label="smoothed")
    above.set_ylabel(f"points a {unit} against {against}")
    above.set_title("while learning, with acts still drawn at random")
    above.legend(loc="lower right")
    below.plot(steps, entropy, color="tab:orange")
    below.set_ylabel("entropy (nats)")
    below.set_xlabel("million acts of the learner")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    return figure
