"""What a run shows while it learns: a table that is renewed, or lines without a terminal."""

from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from agents.training.budget import Budget
from agents.training.curve import Row

SECONDS_BETWEEN_LINES = 15.0


class Screen:
    """The live table of a run; a context manager."""

    def __init__(self, console: Console, unit: str) -> None:
        """Nothing is shown before `show`.

        Args:
            console: where.
            unit: what an episode is: deal or game.
        """
        self.console, self.unit = console, unit
        self._live = Live(console=console, refresh_per_second=4, transient=False)
        self._next_line = 0.0

    def __enter__(self) -> "Screen":
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._live.is_started:
            self._live.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def show(
        self,
        budget: Budget,
        curve: list[Row],
        by_opponent: Callable[[], list[tuple[str, float, float, float]]],
        measured: dict[str, str],
    ) -> None:
        """How far, how fast, how well.

        Args:
            budget: how far the run is.
            curve: a line an update.
            by_opponent: gives name, episodes, points and share won in recent ones, for each.
            measured: the last evaluation by rival, in words.
        """
        if self._live.is_started:
            self._live.update(self._table(budget, curve, by_opponent(), measured))
        elif budget.elapsed >= self._next_line:
            self._next_line = budget.elapsed + SECONDS_BETWEEN_LINES
            self.say(f"{1 - budget.left:4.0%} · {self.line(curve)}")

    def tell(self, text: str) -> None:
        """A line where there is no table that shows the same."""
        if not self._live.is_started:
            self.say(text)

    def show_last(self, budget: Budget, curve: list[Row]) -> None:
        """The last update as a line, where it is not in the table."""
        if curve:
            self.tell(f"{1 - budget.left:4.0%} · {self.line(curve)}")

    def line(self, curve: list[Row]) -> str:
        """The run in a line."""
        last = curve[-1]
        text = f"{last['steps']:,.0f} steps · {speed(curve):,.0f}/s · "
        text += f"{_recent(curve, 'points')} points a {self.unit}"
        return text if np.isnan(last["entropy"]) else f"{text} · entropy {last['entropy']:.3f}"

    def _table(
        self,
        budget: Budget,
        curve: list[Row],
        by_opponent: list[tuple[str, float, float, float]],
        measured: dict[str, str],
    ) -> Group:
        last = curve[-1]
        against = Table(box=None, header_style="dim", pad_edge=False)
        for name in ("against", f"{self.unit}s", "points", "won", "measured on dev deals"):
            against.add_column(name, justify="left" if name == "against" else "right")
        for name, episodes, points, won in by_opponent:
            against.add_row(
                name, f"{episodes:,.0f}", f"{points:+.3f}", f"{won:.1%}", measured.get(name, "")
            )
        for name in measured.keys() - {row[0] for row in by_opponent}:
            against.add_row(name, "", "", "", measured[name])
        learning = (
            f"entropy {last['entropy']:.3f} · KL {last['approx_kl']:.4f} · clipped "
            f"{last['clip_fraction']:.1%} · explained variance {last['explained_variance']:.2f} · "
            f"step size {last['learning_rate']:.1e}"
        )
        share = last["opponents_share"]
        if share >= 0.0005:
            learning += f" · opponents' share of the time {share:.1%}"
        done = Table.grid(padding=(0, 1))
        done.add_row(
            ProgressBar(total=1.0, completed=1 - budget.left, width=30),
            f"{1 - budget.left:.0%}",
            f"{_clock(budget.elapsed)} gone, {_clock(budget.seconds_left)} left",
        )
        return Group(done, Text(self.line(curve)), Text(learning, style="dim"), against)


def speed(curve: list[Row]) -> float:
    """Acts a second over the last updates."""
    last, before = curve[-1], curve[max(0, len(curve) - 20)]
    if last is before:
        before = {"steps": 0.0, "seconds": 0.0}
    return (last["steps"] - before["steps"]) / max(last["seconds"] - before["seconds"], 1e-9)


def _recent(curve: list[Row], name: str) -> str:
    """The mean of the last values that there are."""
    recent = [row[name] for row in curve[-20:] if np.isfinite(row[name])]
    return f"{np.mean(recent):+.3f}" if recent else "no"


def _clock(seconds: float) -> str:
    if np.isnan(seconds):
        return "?"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
