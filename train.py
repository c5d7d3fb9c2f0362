"""Train an agent with PPO against a scripted opponent, then say how strong it is.

    python train.py                       five minutes, against the novice
    python train.py --opponent runs/x     against an agent trained before
    python train.py --steps 2000000       a length in steps: the same seed gives the same weights

Everything a run makes goes into one folder, ``runs/<time>-<name>``: its configuration, the
learning curve (``curve.csv``, ``curve.png``), TensorBoard logs, checkpoints, and the policy that
``evaluate.py runs/<time>-<name> novice`` and ``make_agent("runs/…")`` play. Ctrl-C ends a run
early, with everything saved. What the knobs do is told in ``docs/training.md``.
"""

import csv
import io
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal

# torch's threads wait for each other all the time; where another program has the core, waiting
# busily costs nearly all speed (to be said before torch is loaded)
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import numpy as np
import numpy.typing as npt
import torch
import tyro
from gymnasium import spaces
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn

from agents import make_agent
from agents.evaluation import MatchResult, match, parse_rules, result_table
from agents.learned import LearnedAgent, Policy, fold_scale, save_policy, write_atomically
from agents.sb3 import EuchreVecEnv
from euchre_env.cards import CARD_NAMES, NUM_CARDS
from euchre_env.observation import OBSERVATION_FIELDS, OBSERVATION_HIGH, STARTS
from euchre_env.rules import OPTION_VALUES, Rules

ACTIVATIONS: Final = {"relu": nn.ReLU, "tanh": nn.Tanh}
SCORE_FIELDS: Final = ("own_needed", "other_needed", "scores", "target_score")


@dataclass
class Args:
    """Train an agent with PPO against a scripted opponent; see docs/training.md."""

    name: str = ""
    """what the run folder is called, after its time; empty: after the opponent"""
    minutes: float = 5.0
    """how long to train, by the clock"""
    steps: int = 0
    """how long to train, in the learner's acts, instead of by the clock; 0: by the clock"""
    opponent: str = "novice"
    """whom to train against: an agent's name, or the folder of a run"""
    rules: str = "default"
    """presets (default, british, 32, railroad, stick) and option=value, separated by commas"""
    episode: Literal["deal", "game"] = "deal"
    """what an episode is; with "deal" the agent learns to ignore the score"""
    seed: int = 0
    """of everything random: deals, opponent, first weights, acts tried"""
    num_envs: int = 1024
    """games played side by side"""
    num_steps: int = 32
    """acts in every game between two updates"""
    batch_size: int = 4096
    """acts in a gradient step"""
    epochs: int = 2
    """how often an update goes through the acts of its games"""
    learning_rate: float = 4e-3
    """Adam's step size at the start; goes down in a line to 0"""
    entropy: float = 0.02
    """reward for keeping several acts likely, at the start; goes down in a line to 0"""
    gae_lambda: float = 0.95
    """how far results are believed over the network's own estimate: 0 hardly, 1 entirely"""
    clip_range: float = 0.2
    """how far one update may move the probability of an act"""
    trunk: tuple[int, ...] = (256,)
    """sizes of the layers that policy and value share"""
    heads: tuple[int, ...] = (128,)
    """sizes of the layers that policy and value each have on top"""
    activation: Literal["relu", "tanh"] = "relu"
    """between layers"""
    device: str = "cpu"
    """where the network learns: cpu, cuda, mps (for networks this small the cpu is fastest)"""
    threads: int = 2
    """cores that the network's arithmetic may use; take 1 on a machine busy with other work"""
    checkpoint_minutes: float = 1.0
    """how often the policy is saved on the way"""
    pairs: int = 10_000
    """mirrored pairs of deals in each match at the end; 0: no match"""
    folder: Path = field(default=Path("runs"))
    """where run folders go"""


# --- games and network --------------------------------------------------------------------------


def make_games(args: Args, rules: Rules) -> EuchreVecEnv:
    """The games to learn from, suits named from the upcard."""
    return EuchreVecEnv(
        args.num_envs,
        rules=rules,
        opponent=args.opponent,
        episode=args.episode,
        suits="relative",
    )


def observation_scale(rules: Rules, episode: str) -> npt.NDArray[np.float32]:
    """What each number of the observation is multiplied with: 1 / its highest value, or 0.

    What never changes in training must not sway the agent where it does change: the rules, and
    with single deals the score too, are multiplied with 0. So are cards that are not in use,
    which saves the network a third of its inputs.
    """
    scale: npt.NDArray[np.float32] = np.float32(1) / OBSERVATION_HIGH.astype(np.float32)
    constant = {*OPTION_VALUES, *(SCORE_FIELDS if episode == "deal" else ())}
    in_use = np.array([rules.deck >> card & 1 for card in range(NUM_CARDS)], dtype=np.float32)
    for item in OBSERVATION_FIELDS:
        place = slice(STARTS[item.name], STARTS[item.name] + item.width)
        if item.name in constant:
            scale[place] = 0
        elif item.labels == CARD_NAMES:  # with relative suits too: all suits have the same ranks
            scale[place] *= in_use
    return scale


class Trunk(BaseFeaturesExtractor):
    """The layers that policy and value share, over what changes, brought to 0..1."""

    places: torch.Tensor
    scale: torch.Tensor

    def __init__(
        self,
        observation_space: spaces.Box,
        scale: npt.NDArray[np.float32],
        sizes: tuple[int, ...],
        activation: type[nn.Module],
    ) -> None:
        """Make the layers."""
        places = np.flatnonzero(scale)
        super().__init__(observation_space, sizes[-1] if sizes else len(places))
        self.register_buffer("places", torch.as_tensor(places))
        self.register_buffer("scale", torch.as_tensor(scale[places]))
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise((len(places), *sizes)):
            layers += [nn.Linear(inputs, outputs), activation()]
        self.layers = nn.Sequential(*layers)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        """Observations as float, shape (n, size), to features, shape (n, last size)."""
        return self.layers(observations[:, self.places] * self.scale)  # type: ignore[no-any-return]


def make_model(args: Args, games: EuchreVecEnv, budget: "Budget", logs: Path | None) -> MaskablePPO:
    """MaskablePPO with our network; its learning rate follows the budget."""
    torch.set_num_threads(args.threads)
    # sb3-contrib masks with finite numbers and checks none of its own results: nor need we
    torch.distributions.Distribution.set_default_validate_args(False)
    activation = ACTIVATIONS[args.activation]
    return MaskablePPO(
        "MlpPolicy",
        games,
        learning_rate=lambda _: args.learning_rate * budget.left,
        n_steps=args.num_steps,
        batch_size=args.batch_size,
        n_epochs=args.epochs,
        gamma=1.0,  # a deal is short, and a point is a point
        gae_lambda=args.gae_lambda,
        clip_range=args.clip_range,
        ent_coef=args.entropy,
        policy_kwargs={
            "features_extractor_class": Trunk,
            "features_extractor_kwargs": {
                "scale": observation_scale(games.env.rules, args.episode),
                "sizes": args.trunk,
                "activation": activation,
            },
            "net_arch": {"pi": list(args.heads), "vf": list(args.heads)},
            "activation_fn": activation,
        },
        tensorboard_log=None if logs is None else str(logs),
        seed=args.seed,
        device=args.device,
    )


def to_policy(model: MaskablePPO, args: Args, rules: Rules, training: dict[str, Any]) -> Policy:
    """The network as plain numbers, for `agents.learned`."""

    def numbers(*modules: nn.Module) -> tuple[Any, ...]:
        linear = [m for part in modules for m in part.modules() if isinstance(m, nn.Linear)]
        layers = [(m.weight.detach().cpu().numpy(), m.bias.detach().cpu().numpy()) for m in linear]
        return fold_scale(layers, observation_scale(rules, args.episode))

    network = model.policy
    trunk, heads = network.features_extractor, network.mlp_extractor
    return Policy(
        layers=numbers(trunk, heads.policy_net, network.action_net),
        value_layers=numbers(trunk, heads.value_net, network.value_net),
        activation=args.activation,
        suits="relative",
        rules=rules,
        training=training,
    )


# --- the run ------------------------------------------------------------------------------------


class Budget:
    """How much of the run is left, by the clock or by steps."""

    def __init__(self, args: Args) -> None:
        """The clock starts now."""
        self.seconds, self.steps = args.minutes * 60, args.steps
        self.done_steps, self.is_stopped = 0, False
        self.start = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.start

    @property
    def left(self) -> float:
        """1 at the start, 0 at the end."""
        done = self.done_steps / self.steps if self.steps else self.elapsed / self.seconds
        return max(0.0, 1.0 - done)

    @property
    def is_over(self) -> bool:
        """Whether to stop before the update under way: the time is up, or Ctrl-C was pressed."""
        return self.is_stopped or (not self.steps and self.left == 0)


CURVE_COLUMNS: Final = (
    "seconds",
    "steps",
    "episodes",
    "points",
    "points_error",
    "entropy",
    "approx_kl",
    "clip_fraction",
    "explained_variance",
    "learning_rate",
)
"""Of ``curve.csv``, one line an update: ``points`` is the learner's mean reward per episode since
the line before while it still tries things out, ``points_error`` its 95% half-width."""
_LOGGED: Final = ("approx_kl", "clip_fraction", "explained_variance", "learning_rate")


class Chronicle(BaseCallback):
    """Keeps budget, curve, progress bar and checkpoints while Stable-Baselines3 learns."""

    model: MaskablePPO

    def __init__(self, args: Args, rules: Rules, folder: Path, budget: Budget, bar: "Bar") -> None:
        """Nothing is written before the first update."""
        super().__init__()
        self.args, self.rules, self.folder, self.budget, self.bar = args, rules, folder, budget, bar
        self.curve: list[dict[str, float]] = []
        self.next_checkpoint = 60 * args.checkpoint_minutes
        self._sums = (0, 0.0, 0.0)

    def _on_step(self) -> bool:
        self.budget.done_steps = self.num_timesteps
        return not self.budget.is_over

    def _on_rollout_end(self) -> None:
        self.model.ent_coef = self.args.entropy * self.budget.left
        self._note()
        if self.budget.elapsed > self.next_checkpoint:
            self.next_checkpoint = self.budget.elapsed + 60 * self.args.checkpoint_minutes
            self.save(self.folder / "checkpoints" / f"{self.num_timesteps:010d}")

    def _note(self) -> None:
        """A line for the curve: these games, and the update before them."""
        points, error = self._points_since_last()
        logged = {key.removeprefix("train/"): v for key, v in self.logger.name_to_value.items()}
        row = {
            "seconds": self.budget.elapsed,
            "steps": self.num_timesteps,
            "episodes": self._sums[0],
            "points": points,
            "points_error": error,
            "entropy": -logged.get("entropy_loss", np.nan),
            **{key: logged.get(key, np.nan) for key in _LOGGED},
        }
        self.curve.append({key: float(value) for key, value in row.items()})
        self.logger.record("euchre/points", points)
        self.logger.record("euchre/entropy_coefficient", self.model.ent_coef)
        self.bar.show(self.budget, self.curve)

    def _points_since_last(self) -> tuple[float, float]:
        """Mean reward of the episodes that ended since the last line, and its 95% half-width."""
        games = self.training_env
        assert isinstance(games, EuchreVecEnv)
        sums = games.num_episodes, games.total_reward, games.total_squares
        num, total, squares = (now - before for now, before in zip(sums, self._sums, strict=True))
        self._sums = sums
        if num < 2:
            return float("nan"), float("nan")
        mean = total / num
        return mean, 1.96 * float(np.sqrt(max(squares / num - mean**2, 0.0) / (num - 1)))

    def save(self, folder: Path) -> None:
        """The policy as it stands, as a policy folder."""
        training = {
            "opponent": self.args.opponent,
            "episode": self.args.episode,
            "seed": self.args.seed,
            "steps": self.num_timesteps,
            "seconds": round(self.budget.elapsed, 1),
        }
        save_policy(to_policy(self.model, self.args, self.rules, training), folder)


class Bar:
    """The progress bar; where the output is no terminal, a line now and then."""

    def __init__(self, console: Console, episode: str) -> None:
        """Nothing is shown before `show`."""
        self.console, self.episode = console, episode
        self.progress = Progress(
            BarColumn(12), TextColumn("{task.percentage:>3.0f}%"), TimeElapsedColumn(),
            TextColumn("{task.description}"), console=console, disable=not console.is_terminal,
        )  # fmt: skip
        self.task = self.progress.add_task("the first games are played", total=1.0)
        self._next_line = 0.0

    def show(self, budget: Budget, curve: list[dict[str, float]]) -> None:
        """How far, how fast, how well."""
        last = curve[-1]
        recent = [row["points"] for row in curve[-20:] if np.isfinite(row["points"])]
        points = f"{np.mean(recent):+.3f}" if recent else "no"
        entropy = "" if np.isnan(last["entropy"]) else f" · entropy {last['entropy']:.3f}"
        text = (
            f"{last['steps']:,.0f} steps · {last['steps'] / last['seconds']:,.0f}/s · "
            f"{points} points a {self.episode}{entropy}"
        )
        self.progress.update(self.task, completed=1 - budget.left, description=text)
        if not self.console.is_terminal and budget.elapsed >= self._next_line:
            self._next_line = budget.elapsed + 15
            self.console.print(f"{1 - budget.left:4.0%} · {text}", highlight=False)


@contextmanager
def ctrl_c_ends(budget: Budget, console: Console) -> Iterator[None]:
    """The first Ctrl-C ends the training in an orderly way; the second breaks off."""

    def stop(signal_number: int, frame: FrameType | None) -> None:
        if budget.is_stopped:
            raise KeyboardInterrupt
        budget.is_stopped = True
        console.print("Ctrl-C: saving what is learnt (press again to break off)")

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# --- what a run leaves behind -------------------------------------------------------------------


def make_folder(args: Args) -> Path:
    """A new run folder, named by time and name."""
    name = args.name or "".join(c if c.isalnum() else "-" for c in args.opponent).strip("-")
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{name}"
    for count in range(1, 1000):
        folder = args.folder / (stem if count == 1 else f"{stem}-{count}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{args.folder / stem}: choose another --name")


def write_config(args: Args, rules: Rules, folder: Path) -> None:
    """How the run was made."""
    packages = ("euchre-env", "torch", "stable-baselines3", "sb3-contrib", "gymnasium", "numpy")
    config = {
        "args": {key: str(v) if isinstance(v, Path) else v for key, v in asdict(args).items()},
        "rules": rules.changed(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in packages},
    }
    write_atomically(folder / "config.json", (json.dumps(config, indent=2) + "\n").encode())


def write_curve(curve: list[dict[str, float]], folder: Path, args: Args) -> None:
    """The learning curve as ``curve.csv`` and, once there are two points, ``curve.png``."""
    with io.StringIO(newline="") as file:
        writer = csv.DictWriter(file, CURVE_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {key: "" if np.isnan(v) else f"{v:.6g}" for key, v in row.items()} for row in curve
        )
        write_atomically(folder / "curve.csv", file.getvalue().encode())
    if len(curve) > 1:
        with io.BytesIO() as picture:
            draw_curve(curve, args).savefig(picture, format="png", dpi=120)
            write_atomically(folder / "curve.png", picture.getvalue())


def draw_curve(curve: list[dict[str, float]], args: Args) -> Any:
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
    above.set_ylabel(f"points a {args.episode} against {args.opponent}")
    above.set_title("while learning, with acts still drawn at random")
    above.legend(loc="lower right")
    below.plot(steps, entropy, color="tab:orange")
    below.set_ylabel("entropy (nats)")
    below.set_xlabel("million acts of the learner")
    for axes in (above, below):
        axes.grid(alpha=0.3)
    return figure


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


# --- top to bottom ------------------------------------------------------------------------------


def compile_kernels(args: Args, rules: Rules) -> None:
    """Take one step: what is compiled on a first run is compiled before the clock starts."""
    games = make_games(replace(args, num_envs=1), rules)
    games.reset()
    games.step(games.action_masks().argmax(axis=1))


def learn(args: Args, rules: Rules, folder: Path, console: Console) -> MaskablePPO:
    """Train until the budget is spent or Ctrl-C is pressed; leave everything in the folder."""
    compile_kernels(args, rules)
    games = make_games(args, rules)
    budget, bar = Budget(args), Bar(console, args.episode)
    model = make_model(args, games, budget, folder / "tensorboard")
    chronicle = Chronicle(args, rules, folder, budget, bar)
    with ctrl_c_ends(budget, console), bar.progress:
        model.learn(args.steps or 10**15, callback=chronicle)
    chronicle.save(folder)
    write_curve(chronicle.curve, folder, args)
    games.close()
    return model


def report(args: Args, rules: Rules, folder: Path, console: Console) -> list[MatchResult]:
    """Matches of the saved policy on mirrored deals, as tables and as ``evaluation.json``."""
    agent = LearnedAgent.load(folder)
    results = []
    for rival in dict.fromkeys(("random", "novice", args.opponent)):
        result = match(agent, rival, pairs=args.pairs, games=args.pairs // 10, rules=rules)
        console.print(result_table(result))
        results.append(result)
    numbers = json.dumps([result.to_json() for result in results], indent=2, allow_nan=False)
    write_atomically(folder / "evaluation.json", f"{numbers}\n".encode())
    return results


def check(args: Args) -> Rules:
    """The rules to train under, once all knobs are known to mean something.

    Raises:
        ValueError: a knob has a value that means nothing, or there is no such opponent.
        FileNotFoundError: the opponent is a folder that holds no policy.
    """
    for name in ("num_envs", "num_steps", "batch_size", "epochs", "threads", "learning_rate"):
        if getattr(args, name) <= 0:
            raise ValueError(f"{name}={getattr(args, name)}: it is above 0")
    for name in ("seed", "steps", "pairs", "entropy", "checkpoint_minutes"):
        if getattr(args, name) < 0:
            raise ValueError(f"{name}={getattr(args, name)}: it is 0 or above")
    if not args.steps and args.minutes <= 0:
        raise ValueError(f"minutes={args.minutes}: nothing would be learnt")
    if min((1, *args.trunk, *args.heads)) < 1:
        raise ValueError(f"trunk={args.trunk}, heads={args.heads}: layers have sizes above 0")
    num_acts = args.num_envs * args.num_steps
    if args.batch_size < 2 or num_acts % args.batch_size:
        raise ValueError(
            f"batch_size={args.batch_size}: it divides the {num_acts} acts of an update "
            f"(num_envs={args.num_envs} times num_steps={args.num_steps})"
        )
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        raise ValueError(f"device={args.device!r}: torch finds no such device here")
    make_agent(args.opponent)
    return parse_rules(args.rules)


def main(args: Args) -> Path:
    """Train, save, and say how strong the result is; returns the run folder.

    Raises:
        ValueError: see `check`; nothing is written then.
        FileNotFoundError: likewise.
    """
    console = Console()
    rules = check(args)
    folder = make_folder(args)
    write_config(args, rules, folder)
    console.print(f"training against {args.opponent}; everything goes to {folder}")
    learn(args, rules, folder, console)
    console.print(f"saved: {folder}")
    if args.pairs:
        try:
            report(args, rules, folder, console)
        except KeyboardInterrupt:
            console.print(f"no matches; play them with: python evaluate.py {folder} novice")
    return folder


if __name__ == "__main__":
    knobs = tyro.cli(Args, description=__doc__)
    try:
        check(knobs)
    except (ValueError, OSError, ImportError) as problem:
        sys.exit(f"train.py: {problem}")
    main(knobs)
