"""How fast training is, where its time goes, and what of it is the environment's.

The trainer's updates are timed in turns with those of sb3-contrib's MaskablePPO on games that cost
nothing (the same numbers at every step) with the same number of games, acts, epochs and batches,
and the same layers: what the algorithm alone takes.

    python benchmarks/training_speed.py            # some two minutes
    python benchmarks/training_speed.py --smoke    # seconds, figures that mean little

Writes ``results/training-speed.json``, of which ``docs/training.md`` has its table.
"""

import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table
from sb3_contrib import MaskablePPO

from agents.sb3 import EuchreVecEnv
from agents.training.config import Config, check, with_preset
from agents.training.presets import PRESETS
from agents.training.run import Run
from agents.training.screen import Screen
from euchre_env.actions import NUM_ACTIONS

PARTS: Final = ("games", "opponents", "acts chosen", "rest of playing", "learning", "rest")
"""Where time goes: games stepped, opponents asked in batches, the network while playing, what
Stable-Baselines3 does around both, gradient steps, all that a run does beside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Measure training."""

    updates: int = 20
    """Updates of each kind that are timed."""
    threads: int = 1
    """Cores that the network's arithmetic may use."""
    smoke: bool = False
    """Few updates, nothing written: shows that everything runs."""
    json: Annotated[Path, tyro.conf.arg(metavar="PATH")] = Path("results/training-speed.json")
    """Where every number is written."""


class Timed:
    """A function and how long it has taken."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.seconds = function, 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it, by the clock."""
        start = time.perf_counter()
        result = self.function(*args, **kwargs)
        self.seconds += time.perf_counter() - start
        return result


class FreeGames(EuchreVecEnv):
    """Games that show the same at every step, at no cost."""

    def reset(self) -> Any:
        """The first observations."""
        self._shown = super().reset()
        self._rewards = np.zeros(self.num_envs, dtype=np.float32)
        self._ends = np.zeros(self.num_envs, dtype=np.bool_)
        return self._shown

    def step_wait(self) -> Any:
        """The first observations again."""
        return self._shown, self._rewards, self._ends, self._blank_infos


def timed_run(config: Config, updates: int, folder: Path) -> dict[str, Any]:
    """Updates of a run.

    Args:
        config: its knobs.
        updates: how many; two more are played before the clock starts.
        folder: for its logs.

    Returns:
        ``seconds`` by part, summed, and ``rates``, acts a second of each update.
    """
    run = Run(config, check(config), folder, Screen(Console(quiet=True), config.episode))
    for _ in range(2):
        run.update()
    games = run.games.step_wait = Timed(run.games.step_wait)  # type: ignore[method-assign]
    forward = run.model.policy.forward = Timed(run.model.policy.forward)  # type: ignore[method-assign]
    asked, before = asked_seconds(run), dict(run.model.seconds)
    rates, start = [], time.perf_counter()
    for _ in range(updates):
        begun = time.perf_counter()
        run.update()
        rates.append(config.acts_per_update / (time.perf_counter() - begun))
    whole = time.perf_counter() - start
    opponents = asked_seconds(run) - asked
    playing = run.model.seconds["collect"] - before["collect"]
    learning = run.model.seconds["train"] - before["train"]
    seconds = (
        games.seconds - opponents,
        opponents,
        forward.seconds,
        playing - games.seconds - forward.seconds,
        learning,
        whole - playing - learning,
    )
    return {"seconds": dict(zip(PARTS, seconds, strict=True)), "rates": rates}


def asked_seconds(run: Run) -> float:
    """What asking batched opponents has taken, since the run began."""
    return run.curve[-1]["opponents_share"] * run.curve[-1]["seconds"]


def free_updates(config: Config, updates: int) -> list[float]:
    """Acts a second of MaskablePPO, update by update, on games that cost nothing."""
    torch.set_num_threads(config.threads)
    games = FreeGames(config.num_envs, opponent="novice", episode="deal", suits="relative")
    model = MaskablePPO(
        "MlpPolicy",
        games,
        n_steps=config.num_steps,
        batch_size=config.batch_size,
        n_epochs=config.epochs,
        policy_kwargs={
            "net_arch": {"pi": list(config.policy_layers), "vf": list(config.value_layers)},
            "activation_fn": torch.nn.ReLU,
        },
        device="cpu",
        seed=0,
    )
    rates = []
    for count in range(updates + 1):
        start = time.perf_counter()
        model.learn(config.acts_per_update, reset_num_timesteps=False, log_interval=1 << 30)
        if count:
            rates.append(config.acts_per_update / (time.perf_counter() - start))
    return rates


def deals_in_acts() -> float:
    """Acts of a deal that are choices and those that are not, over those that are."""
    steps = []
    for skip_forced in (False, True):
        games = EuchreVecEnv(1024, opponent="expert", episode="deal", skip_forced=skip_forced)
        games.reset()
        rng = np.random.default_rng(0)
        for _ in range(100):
            drawn = rng.random((games.num_envs, NUM_ACTIONS)) * games.action_masks()
            games.step(drawn.argmax(axis=1))
        steps.append(100 * games.num_envs / games.num_episodes)
    return steps[0] / steps[1]


def as_table(presets: dict[str, Any]) -> Table:
    """A column a preset."""
    table = Table("", *presets)
    rates = [found["choices_per_second"] for found in presets.values()]
    free = [found["free_games_per_second"] for found in presets.values()]
    table.add_row("choices a second", *(f"{rate:,.0f}" for rate in rates))
    ratios = (f"{a / b:.2f}" for a, b in zip(rates, free, strict=True))
    table.add_row("times MaskablePPO on free games", *ratios)
    for part in PARTS:
        table.add_row(part, *(f"{found['shares'][part]:.1%}" for found in presets.values()))
    return table


def main() -> None:
    """Measure, write, print."""
    args = tyro.cli(Args, description=__doc__)
    updates = 1 if args.smoke else args.updates
    told: dict[str, Any] = {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "threads": args.threads,
        "torch": torch.__version__,
        "acts_per_choice": deals_in_acts(),
        "presets": {},
    }
    for preset in PRESETS:
        config = with_preset(preset, steps=10**9, evaluations=0, threads=args.threads)
        with tempfile.TemporaryDirectory() as folder:
            found = timed_run(config, updates, Path(folder))
        free = free_updates(config, max(1, updates // 4))
        whole = sum(found["seconds"].values())
        shares = {part: seconds / whole for part, seconds in found["seconds"].items()}
        rate = statistics.median(found["rates"])
        told["presets"][preset] = {
            "choices_per_second": rate,
            "free_games_per_second": statistics.median(free),
            "shares": shares,
        }
    Console().print(as_table(told["presets"]))
    if not args.smoke:
        args.json.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
