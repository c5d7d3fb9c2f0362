"""Every knob of a training run in one object: typed, checked, written beside the run.

A preset (`agents.training.presets`) says what the knobs are where nobody sets them; what a run
changes about it is printed when it starts, and the whole stands in its ``config.json``.
"""

import dataclasses
import importlib.util
import json
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from agents import AGENTS, make_agent
from agents.evaluation import parse_rules
from agents.training.pool import PoolSettings
from agents.training.presets import PRESETS, Preset
from euchre_env.opponents import MAX_OPPONENTS, opponents_of
from euchre_env.registry import agent_names
from euchre_env.rules import Rules

_ABOVE_0: Final = (
    "num_envs", "num_steps", "batch_size", "epochs", "threads", "learning_rate", "clip_range",
    "clip_range_end", "magnet_updates", "pool_steps",
)  # fmt: skip
_NOT_BELOW_0: Final = (
    "seed", "steps", "minutes", "pairs", "entropy", "entropy_end", "learning_rate_end",
    "magnet_kl", "checkpoint_minutes", "evaluations", "evaluation_pairs",
)  # fmt: skip
_MOST: Final = {"seed": 2**32 - 1, "threads": 1024}
"""Above a seed of 32 bits NumPy refuses; no machine has more cores."""
_MOST_ACTS: Final = 1 << 24
"""Of an update: their observations alone are 20 GiB."""
_LARGEST_LAYER: Final = 65_536
"""A policy with a larger one could not be read again (`agents.policies`)."""
_LONGEST_NAME: Final = 200
"""Bytes; systems allow 255 for the folder with its time."""
_OPTIONS: Final = ("worlds",)
"""Options with numbers that this package's agents take."""
_LARGE: Final = ("--steps", "--pool-steps")
"""Knobs that people write like ``1e6``."""
_OF_NO_RUN: Final = ("resume",)
"""Knobs of the command line that are none of the run."""


@dataclass(frozen=True)
class Config:
    """Train an agent with PPO; see docs/training.md."""

    preset: Preset = "quick"
    """what the other knobs are where you do not set them: quick, strong or selfplay"""
    resume: Path | None = None
    """go on with the run in this folder, with its own knobs; no other knob is given then"""
    name: str = ""
    """what the run folder is called, after its time; empty: after the preset"""
    minutes: float = 5.0
    """how long to train by the clock, instead of by steps"""
    steps: int = 5_000_000
    """how long to train, in the learner's choices (acts that are forced are none), rounded up to
    whole updates; 0: by the clock"""
    opponent: tuple[str, ...] = ("novice",)
    """whom to train against: names of agents and folders of runs, each with =WEIGHT or without"""
    self_play: bool = False
    """play against itself and its past selves too; the opponents named stay among them"""
    pool_self: float = 0.5
    """in self-play, the share of deals against the learner as it is"""
    pool_past: float = 0.3
    """in self-play, the share against its past selves; the rest is for the opponents named"""
    pool_size: int = 16
    """past selves that are kept"""
    pool_steps: int = 600_000
    """the learner's acts between two past selves"""
    pool_half_life: float = 6.0
    """younger past selves that halve how often one is met"""
    pool_temperature: float = 0.1
    """points a deal won more against a past self for it to be met 1/e as often"""
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
    """Adam's step size at the start"""
    learning_rate_end: float = 0.0
    """and at the end; in between, a line"""
    entropy: float = 0.03
    """reward for keeping several acts likely, at the start"""
    entropy_end: float = 0.0
    """and at the end"""
    gae_lambda: float = 0.85
    """how far results are believed over the critic's estimate: 0 hardly, 1 entirely"""
    clip_range: float = 0.15
    """how far one update may move the probability of an act, at the start"""
    clip_range_end: float = 0.05
    """and at the end"""
    magnet_kl: float = 0.0
    """how strongly the policy is drawn to what it was some updates ago; 0: not at all"""
    magnet_updates: int = 50
    """after how many updates the magnet is renewed"""
    augment_suits: bool = False
    """learn from every act a second time with the two suits of the other colour swapped"""
    critic: Literal["open", "own"] = "open"
    """what the critic sees while learning: the other hand too, or the learner's own view only"""
    policy_layers: tuple[int, ...] = (256, 128)
    """sizes of the policy's hidden layers"""
    value_layers: tuple[int, ...] = (256, 128)
    """sizes of the critic's"""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """of the hidden layers while learning; auto: bfloat16 where the processor has units for it"""
    activation: Literal["relu", "tanh"] = "relu"
    """between layers"""
    device: str = "cpu"
    """where the network learns: cpu, cuda, mps (for networks this small the cpu is fastest)"""
    threads: int = 1
    """cores that the network's arithmetic may use; with 1 a seed gives the same weights again"""
    checkpoint_minutes: float = 1.0
    """how often everything needed to go on is saved"""
    evaluations: int = 10
    """how often, over the run, the policy is measured on dev deals; 0: never"""
    evaluation_pairs: int = 1_000
    """mirrored pairs of deals in each of these matches"""
    pairs: int = 10_000
    """mirrored pairs of deals in each match at the end; 0: no match"""
    wandb: bool = False
    """show the run at Weights & Biases too (pip install wandb)"""
    folder: Path = Path("runs")
    """where run folders go"""

    @property
    def opponents_told(self) -> str:
        """Whom the run learns against, in words."""
        return ", ".join(("itself", *self.opponent) if self.self_play else self.opponent)

    @property
    def rivals(self) -> tuple[str, ...]:
        """Whom the policy is measured against: the novice, and the opponents named."""
        return tuple(dict.fromkeys(("novice", *(split_weight(text)[0] for text in self.opponent))))

    @property
    def acts_per_update(self) -> int:
        """The learner's acts between two updates."""
        return self.num_envs * self.num_steps

    @property
    def pool_settings(self) -> PoolSettings:
        """How often a learner in self-play meets whom.

        Raises:
            ValueError: a setting means nothing.
        """
        return PoolSettings(
            self.pool_self, self.pool_past, self.pool_size, self.pool_half_life,
            self.pool_temperature,
        )  # fmt: skip

    def changed(self) -> dict[str, Any]:
        """The knobs that differ from those of the preset."""
        plain = with_preset(self.preset)
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in _OF_NO_RUN
            and getattr(self, field.name) != getattr(plain, field.name)
        }

    def to_json(self) -> dict[str, Any]:
        """All knobs of the run as JSON values."""
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _OF_NO_RUN}
        return {key: str(v) if isinstance(v, Path) else v for key, v in values.items()}


def with_preset(preset: Preset, **knobs: Any) -> Config:
    """The knobs of a preset, and others.

    Args:
        preset: quick, strong or selfplay.
        **knobs: fields of `Config`. ``minutes`` alone trains by the clock, whatever the preset.
    """
    config = replace(Config(preset=preset), **PRESETS[preset])
    if "minutes" in knobs:
        config = replace(config, steps=0)
    return replace(config, **knobs)


def from_json(told: Any) -> Config:
    """The knobs that `Config.to_json` gave.

    Raises:
        ValueError: a knob is missing, unknown, of another type, or none of its choices.
    """
    known = {f.name: f for f in fields(Config) if f.name not in _OF_NO_RUN}
    if not isinstance(told, Mapping) or told.keys() != known.keys():
        odd = sorted(told.keys() ^ known.keys()) if isinstance(told, Mapping) else "no object"
        raise ValueError(f"the knobs are those of another version: {odd}")
    kinds = get_type_hints(Config)
    return Config(**{name: _as_kind(name, value, kinds[name]) for name, value in told.items()})


def _as_kind(name: str, value: Any, kind: Any) -> Any:
    """A JSON value as what a knob is: a plain type, a choice of words, or a tuple of one type."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise ValueError(f"{name}={value!r}: it is one of {', '.join(get_args(kind))}")
        return value
    if get_origin(kind) is tuple and isinstance(value, list):
        return tuple(_as_kind(name, one, get_args(kind)[0]) for one in value)
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind is float and type(value) is int and abs(value) <= sys.float_info.max:
        return float(value)
    if type(value) is not kind:
        told = f"list of {get_args(kind)[0].__name__}" if get_args(kind) else kind.__name__
        raise ValueError(f"{name}={value!r}: that is no {told}")
    return value


# --- the command line ---------------------------------------------------------------------------


def read_config(argv: Sequence[str], description: str | None = None) -> Config:
    """The knobs of a command line: those of its preset, but for what it sets."""
    import tyro

    argv = _plain_words(argv)
    preset = _value_of("--preset", argv)
    knobs = {} if _value_of("--minutes", argv) is None else {"minutes": Config.minutes}
    names: tuple[Preset, ...] = get_args(Preset)
    known: Preset = next((name for name in names if name == preset), "quick")
    config = tyro.cli(
        Config, args=argv, default=with_preset(known, **knobs), description=description
    )
    if config.resume is not None and config != replace(Config(), resume=config.resume):
        raise ValueError("--resume goes on with the run's own knobs: it stands alone")
    if knobs and config.steps and _value_of("--steps", argv) is not None:
        raise ValueError("--steps and --minutes: a run ends by one of them, give one alone")
    return config


def _plain_words(argv: Sequence[str]) -> list[str]:
    """The words of a command line, whole numbers like ``1e6`` written out.

    Raises:
        ValueError: a run is named where none is taken.
    """
    if argv and not argv[0].startswith("-"):
        raise ValueError(f"{argv[0]!r}: to go on with a run, --resume {argv[0]}")
    words = list(argv)
    for k, word in enumerate(words):
        flag, sign, value = word.partition("=")
        if flag not in _LARGE:
            continue
        place = k if sign else k + 1
        if not sign:
            value = next(iter(words[place : place + 1]), "")
        if re.fullmatch(r"[0-9.]+[eE]\+?[0-9]{1,2}", value) and float(value).is_integer():
            words[place] = f"{flag}={int(float(value))}" if sign else str(int(float(value)))
    return words


def _value_of(flag: str, argv: Sequence[str]) -> str | None:
    """What a flag of the command line is set to, the last time."""
    found = None
    for k, word in enumerate(argv):
        name, sign, value = word.partition("=")
        if name == flag:
            found = value if sign else next(iter(argv[k + 1 :]), "")
    return found


def read_run(folder: Path) -> Config:
    """The knobs that a run folder was made with, from its ``config.json``.

    Raises:
        ValueError: there is no such run, or the file is damaged.
    """
    path = folder / "config.json"
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        return from_json(told["args"])
    except FileNotFoundError:
        raise ValueError(f"{folder} is no run folder: it holds no config.json") from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
        raise ValueError(f"{path} cannot be read: {problem}") from problem


# --- what knobs mean ----------------------------------------------------------------------------


def split_weight(text: str) -> tuple[str, float]:
    """``expert=2`` as name and weight; an option's value, as in ``search:worlds=40``, is none.

    A folder that is there is a name as a whole, whatever it is called. What an agent from outside
    is told, ``my_agent.py:Careful:depth=3``, is its own: a weight comes after it.

    Raises:
        ValueError: an agent's name, ``=``, and no number.
    """
    name, sign, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        if name in agent_names() and not os.path.isdir(text):
            raise ValueError(
                f"opponent {text!r}: behind = stands its weight, a number, as in {name}=2"
            ) from None
        return text, 1.0
    is_folder = os.path.isdir(text) or os.path.isdir(text.removeprefix("run:"))
    return (text, 1.0) if not sign or is_folder or _ends_in_option(name) else (name, weight)


def _ends_in_option(name: str) -> bool:
    """Whether a number after this text and ``=`` is an option's value."""
    first, _, argument = name.partition(":")
    if first not in AGENTS and argument:  # a module or file names an agent first
        is_place = first not in agent_names()
        argument = argument.partition(":")[2] if is_place else argument
        return argument.rpartition(",")[2].isidentifier()
    return bool(argument) and re.split("[:,]", argument)[-1] in _OPTIONS


def named_opponents(config: Config) -> list[tuple[Any, float]]:
    """The agents that ``--opponent`` names, with their weights.

    Raises:
        ValueError: there is no such agent.
        FileNotFoundError: a folder that holds no policy.
    """
    return [(make_agent(name), weight) for name, weight in map(split_weight, config.opponent)]


def check(config: Config) -> Rules:
    """The rules to train under, once all knobs are known to mean something.

    Raises:
        ValueError: a knob has a value that means nothing, or there is no such opponent.
        FileNotFoundError: the opponent is a folder that holds no policy.
        ImportError: a library that a knob asks for is not installed.
    """
    _check_numbers(config)
    _check_name(config.name)
    sizes = (1, *config.policy_layers, *config.value_layers)
    if min(sizes) < 1 or max(sizes) > _LARGEST_LAYER:
        raise ValueError(
            f"policy_layers={config.policy_layers}, value_layers={config.value_layers}: layers "
            f"have sizes from 1 to {_LARGEST_LAYER}"
        )
    if not config.opponent and not config.self_play:
        raise ValueError("opponent: name one at least, or ask for self-play")
    if config.self_play:
        _check_pool(config)
    _check_device(config.device)
    if config.wandb:
        _check_wandb()
    opponents_of(named_opponents(config) or "random")
    return parse_rules(config.rules)


def _check_numbers(config: Config) -> None:
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"{field.name}={value}: it is a number")
    for name in _ABOVE_0:
        if getattr(config, name) <= 0:
            raise ValueError(f"{name}={getattr(config, name)}: it is above 0")
    for name in _NOT_BELOW_0:
        if getattr(config, name) < 0:
            raise ValueError(f"{name}={getattr(config, name)}: it is 0 or above")
    for name, most in _MOST.items():
        if getattr(config, name) > most:
            raise ValueError(f"{name}={getattr(config, name)}: it is {most} at the most")
    if not 0 <= config.gae_lambda <= 1:
        raise ValueError(f"gae_lambda={config.gae_lambda}: it is from 0 to 1")
    if not config.steps and config.minutes <= 0:
        raise ValueError(f"minutes={config.minutes}: nothing would be learnt")
    if config.evaluations and config.evaluation_pairs < 2:
        raise ValueError(
            f"evaluation_pairs={config.evaluation_pairs}: it is 2 or above (one pair has no "
            "interval); with no evaluation at all, evaluations=0"
        )
    _check_acts(config)


def _check_acts(config: Config) -> None:
    told = f"num_envs={config.num_envs} times num_steps={config.num_steps}"
    if config.acts_per_update > _MOST_ACTS:
        raise ValueError(
            f"{told}: an update has {_MOST_ACTS:,} acts at the most, which must lie in memory"
        )
    if config.batch_size < 2 or config.acts_per_update % config.batch_size:
        raise ValueError(
            f"batch_size={config.batch_size}: it divides the {config.acts_per_update} acts of an "
            f"update ({told})"
        )


def _check_name(name: str) -> None:
    try:
        is_long = len(name.encode()) > _LONGEST_NAME  # what cannot be encoded can be no folder
    except UnicodeEncodeError as problem:
        raise ValueError(f"name={name!r}: no folder can be called that: {problem}") from problem
    if is_long or not name.isprintable() or "/" in name or "\\" in name:
        raise ValueError(
            f"name={name!r}: it is a part of a folder's name, without / and \\, of "
            f"{_LONGEST_NAME} bytes at the most"
        )


def _check_pool(config: Config) -> None:
    shares = (config.pool_self, config.pool_past)
    if not all(0 <= share <= 1 for share in shares) or sum(shares) > 1:
        raise ValueError(
            f"pool_self={config.pool_self}, pool_past={config.pool_past}: each is a share of the "
            "deals from 0 to 1, and they are 1 together at the most"
        )
    _ = config.pool_settings
    most = MAX_OPPONENTS - 1 - len(config.opponent)
    if config.pool_size > most:
        raise ValueError(
            f"pool_size={config.pool_size}: it is {most} at the most, since {MAX_OPPONENTS} can "
            "be met in all: past selves, the learner itself, and the opponents named"
        )


def _check_device(device: str) -> None:
    import torch

    try:
        kind = torch.device(device).type
    except RuntimeError as problem:
        raise ValueError(f"device={device!r}: torch knows no such device") from problem
    found: dict[str, Callable[[], bool]] = {
        "cuda": torch.cuda.is_available,
        "mps": torch.backends.mps.is_available,
    }
    if kind not in ("cpu", *found):
        raise ValueError(f"device={device!r}: it is cpu, cuda or mps")
    if kind in found and not found[kind]():
        raise ValueError(f"device={device!r}: torch finds no such device here")


def _check_wandb() -> None:
    try:
        is_there = importlib.util.find_spec("wandb") is not None
    except ValueError:  # kept out of sys.modules by hand
        is_there = False
    if not is_there:
        raise ImportError("--wandb: wandb is not installed: pip install wandb", name="wandb")
