"""A run: updates until the budget is spent, with a curve, evaluations and checkpoints on the way.

One update is one call of Stable-Baselines3's ``learn``: play ``num_steps`` acts in every game, then
learn from them. Between two updates nothing is under way, so that is where a run is measured, saved
and stopped; a run that goes on from a checkpoint does what it would have done.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from stable_baselines3.common.logger import HParam, configure

from agents.base import AgentError
from agents.evaluation import match
from agents.learned import LearnedAgent
from agents.policies import Policy, save_policy
from agents.sb3 import SUMS_DTYPE
from agents.training import checkpoints, curve, snapshot, watch
from agents.training.budget import Budget, stopped_by_signals
from agents.training.config import Config, split_weight
from agents.training.pool import Pool
from agents.training.screen import Screen
from agents.training.setup import compile_kernels, make_games, make_model, make_pool, policy_of
from euchre_env.rules import Rules
from euchre_env.saving import load_env

_NEVER: Final = 1 << 30
"""Updates between two tables of Stable-Baselines3's own."""
_OF_NETWORK: Final = ("activation", "policy_layers", "value_layers", "critic", "episode", "rules")
"""Knobs that say which network learns, and which numbers enter it."""
_KEPT: Final = 0.95
"""Of what counts as recent for the table, what an update leaves."""


class BrokenRunError(RuntimeError):
    """The learner's numbers are not finite any more, or an opponent plays no legal acts."""


class OtherNetworkError(ValueError):
    """A checkpoint is that of another network than the knobs describe."""


class Run:
    """A training run in its folder.

    Attributes:
        config: its knobs.
        games: what is learnt from.
        model: the learner.
        budget: how much is left.
        pool: past selves, in self-play.
        curve: a line an update (`curve.COLUMNS`).
        evaluations: matches on the way, JSON values: ``steps``, ``seconds``, ``rival``, ``mean``,
            ``low``, ``high`` (points per deal) and ``rates`` (of calls).
        warned: what was warned of, a sentence each by the name of the fault.
    """

    def __init__(self, config: Config, rules: Rules, folder: Path, screen: Screen) -> None:
        """Make all objects; nothing is played yet."""
        compile_kernels(config, rules)
        self.config, self.rules, self.folder, self.screen = config, rules, folder, screen
        self.budget = Budget(config.steps, config.minutes)
        self.games = make_games(config, rules)
        self.model = make_model(config, self.games, self.budget)
        if config.wandb:
            self._show_at_wandb()
        self.model.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
        self.pool: Pool | None = None
        if config.self_play:
            self.pool = make_pool(config, self.policy())
            self.games.set_opponents(self.pool.opponents())
        self.curve: list[curve.Row] = []
        self.evaluations: list[dict[str, Any]] = []
        self.warned: dict[str, str] = {}
        self._next_snapshot = config.pool_steps
        self._next_checkpoint = 60 * config.checkpoint_minutes
        self._sums: npt.NDArray[Any] = self.games.by_opponent.copy()
        self._recent: dict[str, npt.NDArray[np.float64]] = {}
        self._asked = self._asked_before = 0.0

    def go(self) -> None:
        """Update until the budget is spent or somebody stops it; leave everything in the folder.

        Raises:
            BrokenRunError: the loss is no number any more, or an opponent's answer is no legal
                act; what was learnt before is saved.
            OSError: the result cannot be written.
        """
        try:
            with self.telling_what_stands():
                self._go()
        except AgentError as fault:
            if self.model.num_timesteps:
                self._save_on_the_way()
            raise BrokenRunError(f"{fault}; {self.what_stands()}") from fault

    def _go(self) -> None:
        with self.screen, stopped_by_signals(self.budget, self.screen.say):
            if self.model.num_timesteps:
                self.budget.mark(self.model.num_timesteps)
            else:  # the clock starts; what was made before was no training
                self.budget.set_back(0.0, 0.0)
            while not (self.budget.is_over and self.model.num_timesteps):
                self.update()  # once at least: there is nothing to save before
            self.screen.show_last(self.budget, self.curve)
        save_policy(self.policy(), self.folder)
        self._write_curve()
        self.save()

    def update(self) -> None:
        """Play, learn, and all that is due after it."""
        config, model = self.config, self.model
        model.ent_coef = self.budget.between(config.entropy, config.entropy_end)
        self._learn()
        self._note()
        if self.pool is not None:
            self._renew_opponents(self.pool)
        self.budget.mark(model.num_timesteps)
        self._warn()
        if len(self.evaluations) < self._evaluations_due() * len(config.rivals):
            self._measure()
        self.screen.show(self.budget, self.curve, self._by_opponent, self._measured())
        if self.budget.elapsed > self._next_checkpoint:
            self._next_checkpoint = self.budget.elapsed + 60 * config.checkpoint_minutes
            self._save_on_the_way()

    def _learn(self) -> None:
        """Play and learn; where an opponent's fault ends that, be where it began."""
        model = self.model
        is_first = not model.num_timesteps
        before = None if is_first else snapshot.save_moment(model, self.games)
        try:
            model.learn(self.config.acts_per_update, reset_num_timesteps=False, log_interval=_NEVER)
        except AgentError:
            model.num_timesteps = 0
            if before is not None:
                snapshot.restore_moment(model, self.games, before)
            raise

    # --- the learner and whom it meets ---

    def policy(self) -> Policy:
        """The policy as it stands."""
        told = {
            "seconds": round(self.budget.elapsed, 1),
            "cpu_seconds": round(self.budget.cpu_seconds, 1),
        }
        return policy_of(self.model, self.config, self.rules, told)

    def _renew_opponents(self, pool: Pool) -> None:
        """The learner as it is now among its opponents, and every so often one more past self."""
        policy = self.policy()
        pool.note(self.games.by_opponent)
        if self.model.num_timesteps >= self._next_snapshot:
            self._next_snapshot += self.config.pool_steps
            pool.add(policy, self.model.num_timesteps)
        pool.refresh(policy)
        self.games.set_opponents(pool.opponents())
        self._sums = np.zeros_like(self.games.by_opponent)  # they are counted anew
        self._asked_before = 0.0

    def _names(self) -> list[str]:
        """What each opponent is called in the table, in the order of the games' opponents."""
        scripts = [split_weight(text)[0] for text in self.config.opponent]
        if self.pool is None:
            return scripts
        return ["itself", *["past selves"] * len(self.pool.past), *scripts]

    # --- what is noted ---

    def _note(self) -> None:
        """A line for the curve: the games of this update, and what was learnt from them."""
        sums = self.games.by_opponent.copy()
        since = {name: sums[name] - self._sums[name] for name in SUMS_DTYPE.names or ()}
        self._sums = sums
        self._count(since)
        num = float(since["episodes"].sum())
        points, error = curve.mean_and_error(since)
        scripts = len(self.config.opponent)
        named = {name: values[len(values) - scripts :] for name, values in since.items()}
        asked = float(self.games.env.asked_seconds.sum())
        self._asked += asked - self._asked_before
        self._asked_before = asked
        logged = self.model.logger.name_to_value
        seconds = self.budget.elapsed
        row = {
            "seconds": seconds,
            "steps": self.model.num_timesteps,
            "episodes": num + (self.curve[-1]["episodes"] if self.curve else 0),
            "points": points,
            "points_error": error,
            "won": float(since["won"].sum()) / num if num else float("nan"),
            "script_points": curve.mean_and_error(named)[0],
            "entropy": -logged.get("train/entropy_loss", np.nan),
            **{key: logged.get(f"train/{key}", np.nan) for key in curve.LOGGED},
            "cpu_seconds": self.budget.cpu_seconds,
            "opponents_share": self._asked / seconds,
        }
        self.curve.append({key: float(row[key]) for key in curve.COLUMNS})
        for key in ("points", "won", "script_points", "opponents_share"):
            self.model.logger.record(f"euchre/{key}", self.curve[-1][key])
        self.model.logger.record("euchre/entropy_coefficient", self.model.ent_coef)
        self.model.logger.dump(self.model.num_timesteps)

    def _count(self, since: dict[str, npt.NDArray[np.float64]]) -> None:
        """Add up recent results by opponent, for the table."""
        for sums in self._recent.values():
            sums *= _KEPT
        for place, name in enumerate(self._names()):
            new = np.array([since[key][place] for key in ("episodes", "reward", "won")])
            self._recent[name] = self._recent.get(name, np.zeros(3)) + new

    def _by_opponent(self) -> list[tuple[str, float, float, float]]:
        """Name, episodes, points and share won of recent episodes, for each opponent met."""
        return [
            (name, episodes, reward / episodes, won / episodes)
            for name, (episodes, reward, won) in self._recent.items()
            if episodes >= 1
        ]

    def _warn(self) -> None:
        if watch.is_broken(self.curve[-1]):
            raise BrokenRunError(
                f"after {self.model.num_timesteps:,} acts the loss is no number any more (a lower "
                f"--learning-rate helps); what was saved before stands in {self.folder}"
            )
        for fault, sentence in watch.warnings(self.curve, self.budget.left).items():
            if fault not in self.warned:
                self.warned[fault] = sentence
                self.screen.say(f"warning: {sentence}")

    def _show_at_wandb(self) -> None:
        """Send what TensorBoard is told there too; a run that goes on is the same run there."""
        import wandb

        wandb.init(
            project="euchre_env",
            id=self.folder.name,
            name=self.folder.name,
            dir=str(self.folder),
            config=self.config.to_json(),
            resume="allow",
            sync_tensorboard=True,
        )

    # --- evaluation on the way ---

    def _evaluations_due(self) -> int:
        num = self.config.evaluations
        return int((1 - self.budget.left) * num + 1e-9) if num else 0

    def _measure(self) -> None:
        """A short match of the policy as it stands against each rival, on dev deals."""
        agent = LearnedAgent(self.policy())
        for rival in self.config.rivals:
            result = match(agent, rival, pairs=self.config.evaluation_pairs, rules=self.rules)
            told = result.to_json()
            self.evaluations.append(
                {
                    "steps": self.model.num_timesteps,
                    "seconds": round(self.budget.elapsed, 1),
                    "rival": rival,
                    **{key: told[key] for key in ("mean", "low", "high")},
                    "rates": told["rates"][0],
                }
            )
            self.model.logger.record(f"dev/{rival}", result.mean)
            self.screen.tell(f"against {rival} on dev deals: {self._measured()[rival]}")
        self.model.logger.dump(self.model.num_timesteps)

    def _measured(self) -> dict[str, str]:
        """The last evaluation, by rival."""
        return {
            one["rival"]: f"{one['mean']:+.3f} ± {one['high'] - one['mean']:.3f}"
            for one in self.evaluations
        }

    def note_result(self, results: dict[str, float]) -> None:
        """The knobs and what came out, for TensorBoard's tab of hyper-parameters.

        Args:
            results: points per deal by rival; may be empty.
        """
        knobs = {
            name: value if isinstance(value, bool | int | float | str) else str(value)
            for name, value in self.config.to_json().items()
        }
        metrics = {"euchre/points": self.curve[-1]["points"]} if self.curve else {}
        metrics |= {f"result/{rival}": mean for rival, mean in results.items()}
        if metrics:
            for name, value in metrics.items():
                self.model.logger.record(name, value)
            self.model.logger.record("hparams", HParam(knobs, metrics))
            self.model.logger.dump(self.model.num_timesteps)

    # --- saved and taken up again ---

    def _write_curve(self) -> None:
        curve.write_curve(
            self.curve, self.folder, unit=self.config.episode, against=self.config.opponents_told
        )

    def _save_on_the_way(self) -> None:
        """A checkpoint; a disk that is full costs the checkpoint, not the run."""
        try:
            steps = f"{self.model.num_timesteps:010d}"
            save_policy(self.policy(), self.folder / "checkpoints" / steps)
            self._write_curve()
            self.save()
        except OSError as problem:
            newest = next(iter(checkpoints.found(self.folder)), None)
            before = f"the one of {int(newest.name):,} acts stands" if newest else "there is none"
            self.screen.say(f"warning: no checkpoint could be written ({problem}); {before}")

    @contextmanager
    def telling_what_stands(self) -> Iterator[None]:
        """Where a disk is full, tell which folder it was about and what had been saved before.

        Raises:
            OSError: what comes out of the block, with these words.
        """
        try:
            yield
        except BrokenPipeError:  # it is about no disk
            raise
        except OSError as problem:
            raise OSError(f"{self.folder}: {problem}; {self.what_stands()}") from problem

    def what_stands(self) -> str:
        """Where the last checkpoint lies and how to go on from it, in words."""
        newest = next(iter(checkpoints.found(self.folder)), None)
        if newest is None:
            return "no checkpoint was saved before"
        return (
            f"the checkpoint of {int(newest.name):,} acts stands in {newest}: "
            f"python train.py --resume {self.folder} goes on from there"
        )

    def save(self) -> Path:
        """Write everything that going on needs.

        Raises:
            OSError: it cannot be written; older checkpoints are as they were.
        """
        arrays, learner = snapshot.save_model(self.model)
        streams, stream = snapshot.save_streams(self.config.device)
        arrays |= snapshot.named("streams", streams)
        arrays |= snapshot.named("games", snapshot.save_sums(self.games))
        arrays["curve"] = curve.as_array(self.curve)
        arrays |= snapshot.named("recent", self._recent)
        told = {
            "learner": learner,
            "network": self._network(),
            "streams": stream,
            "seconds": self.budget.elapsed,
            "cpu_seconds": self.budget.cpu_seconds,
            "next_snapshot": self._next_snapshot,
            "asked": self._asked,
            "evaluations": self.evaluations,
            "warned": self.warned,
        }
        if self.pool is not None:
            past, told["pool"] = self.pool.state()
            arrays |= snapshot.named("pool", past)
        steps = self.model.num_timesteps
        return checkpoints.write(self.folder, steps, arrays, told, self.games.env)

    def _network(self) -> dict[str, Any]:
        """The knobs that say which network it is, as JSON values."""
        knobs = json.loads(json.dumps(self.config.to_json()))
        return {name: knobs[name] for name in _OF_NETWORK}

    def _check_network(self, checkpoint: checkpoints.Checkpoint) -> None:
        ours, theirs = self._network(), checkpoint.told.get("network", {})  # older do not say
        for name in ours.keys() & theirs.keys():
            if ours[name] != theirs[name]:
                raise OtherNetworkError(
                    f"{checkpoint.folder} has a network with {name}={theirs[name]!r}, and "
                    f"{self.folder / 'config.json'} says {ours[name]!r}: put it back to go on"
                )

    def restore(self, checkpoint: checkpoints.Checkpoint) -> None:
        """Go back to where a checkpoint was written, bit by bit.

        Raises:
            OtherNetworkError: the knobs describe another network.
            ValueError: it is damaged, or that of another run.
            OSError: its games cannot be read.
        """
        arrays, told = checkpoint.arrays, checkpoint.told
        try:
            self._check_network(checkpoint)
            snapshot.restore_model(self.model, arrays, told["learner"])
            if self.pool is not None:
                self.pool.restore(snapshot.part(arrays, "pool"), told["pool"])
                self.pool.refresh(self.policy())
                self.games.set_opponents(self.pool.opponents())
            load_env(checkpoint.games, self.games.env)
            snapshot.restore_sums(self.games, snapshot.part(arrays, "games"))
            self._sums, self._asked_before = self.games.by_opponent.copy(), 0.0
            self.curve = curve.from_array(arrays["curve"])
            self._recent = dict(snapshot.part(arrays, "recent"))
            self._next_snapshot, self._asked = told["next_snapshot"], told["asked"]
            self.evaluations, self.warned = told["evaluations"], told["warned"]
            self.budget.set_back(told["seconds"], told["cpu_seconds"])
            self._next_checkpoint = told["seconds"] + 60 * self.config.checkpoint_minutes
            snapshot.restore_streams(
                self.config.device, snapshot.part(arrays, "streams"), told["streams"]
            )
        except (KeyError, TypeError, AttributeError) as problem:
            raise ValueError(f"{checkpoint.folder} is damaged: {problem}") from problem

    def resume(self) -> None:
        """Go back to the newest checkpoint that can be read; to the start where there is none.

        Raises:
            OtherNetworkError: somebody has changed the knobs.
            ValueError: there are some, and none can be read.
        """
        checkpoints.tidy(self.folder)
        places = checkpoints.found(self.folder)
        for count, place in enumerate(places):
            try:
                self.restore(checkpoints.read(place))
            except OtherNetworkError:
                raise
            except (ValueError, OSError) as problem:
                self.screen.say(f"warning: {problem}; the checkpoint before it is tried")
                continue
            for damaged in places[:count]:
                checkpoints.set_aside(damaged)
            self.budget.mark(self.model.num_timesteps)
            self.screen.say(
                f"this run is at its end, after {self.model.num_timesteps:,} steps: nothing is "
                "learnt any more (its schedules end there; for more, a new run with more --steps)"
                if self.budget.is_over
                else f"goes on after {self.model.num_timesteps:,} steps"
            )
            return
        if places:
            raise ValueError(f"no checkpoint in {self.folder} can be read: start a new run")
        self.screen.say("there was no checkpoint yet: starts from the beginning")
