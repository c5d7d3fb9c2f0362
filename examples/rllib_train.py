"""Train an agent with Ray RLlib's PPO: games on several workers, one learner.

    python -m examples.rllib_train                          two workers here, 2,000,000 steps
    python -m examples.rllib_train --address auto --workers 32     on a running Ray cluster

The policy is written as a folder that every other command reads::

    python evaluate.py runs/rllib novice

RLlib's own runner of environments keeps a Python object for each game and each step. `GamesRunner`
stands in its place: it steps one native `EuchreVectorEnv` per worker and sends home whole arrays,
so a step of all games costs one compiled call and one pass of the network. Network, masking and
settings are those of ``train.py``. When this pays is told in ``docs/rllib.md``.
"""

import logging
import os
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

# a later Ray will no longer hide accelerators from workers that ask for none; nor now
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import numpy as np
import numpy.typing as npt
import ray
import torch
import tyro
from ray.rllib.algorithms.algorithm import Algorithm
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.utils.metrics import ENV_RUNNER_RESULTS, EPISODE_RETURN_MEAN
from torch import nn

from agents.policies import Policy, fold_scale, save_policy
from agents.training.network import observation_scale
from euchre_env import EuchreVectorEnv
from euchre_env.rules import Rules

ACTION_MASK: Final = "action_mask"
_NEVER: Final = -1e9
"""Added to the logits of illegal acts: their probability is 0 in float32."""
Floats = npt.NDArray[np.float32]


@dataclass
class Args:
    """Train an agent with Ray RLlib's PPO; see docs/rllib.md."""

    folder: Path = Path("runs/rllib")
    """where the policy goes"""
    workers: int = 2
    """processes that play; 0: this one plays and learns in turn"""
    address: str = ""
    """of a running Ray cluster ("auto": the one of this machine); empty: Ray is started here"""
    steps: int = 2_000_000
    """how long to train, in the learner's acts"""
    opponent: str = "novice"
    """whom to train against: an agent's name"""
    seed: int = 0
    """of everything random: deals, opponent, first weights, acts tried"""
    num_envs: int = 1024
    """games played side by side, on all workers together"""
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
    trunk: tuple[int, ...] = (256,)
    """sizes of the layers that policy and value share"""
    heads: tuple[int, ...] = (128,)
    """sizes of the layers that policy and value each have on top"""


# --- the network --------------------------------------------------------------------------------


class EuchreModule(TorchRLModule, ValueFunctionAPI):  # type: ignore[misc]
    """Policy and value over a common trunk; illegal acts get no probability.

    ``model_config`` holds ``scale`` (what each number of the observation is multiplied with; 0:
    not looked at), ``trunk`` and ``heads`` (sizes of layers). The value layers stay on the
    workers too (this is no ``InferenceOnlyAPI``): advantages are computed there.
    """

    places: torch.Tensor
    scale: torch.Tensor

    def setup(self) -> None:
        """Make the layers."""
        scale = np.asarray(self.model_config["scale"], dtype=np.float32)
        trunk, heads = self.model_config["trunk"], self.model_config["heads"]
        places = np.flatnonzero(scale)
        self.register_buffer("places", torch.as_tensor(places))
        self.register_buffer("scale", torch.as_tensor(scale[places]))
        features = (len(places), *trunk)
        self.trunk = _layers(features)
        sizes = (features[-1], *heads)
        self.policy_head = _layers(sizes, outputs=int(self.action_space.n))
        self.value_head = _layers(sizes, outputs=1)

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Logits of the acts, illegal ones at `_NEVER`, and the trunk's features.

        Args:
            batch: ``obs`` (uint8, shape (n, observation size)) and ``action_mask`` (shape (n, 42),
                1 = legal).
            **kwargs: RLlib's, not looked at.
        """
        features = self._features(batch)
        is_legal = batch[ACTION_MASK].bool()
        logits = self.policy_head(features).masked_fill(~is_legal, _NEVER)
        return {Columns.ACTION_DIST_INPUTS: logits, Columns.EMBEDDINGS: features}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """Expected points: float32, shape (n,)."""
        features = self._features(batch) if embeddings is None else embeddings
        values: torch.Tensor = self.value_head(features)
        return values.squeeze(-1)

    def _features(self, batch: dict[str, Any]) -> torch.Tensor:
        features: torch.Tensor = self.trunk(batch[Columns.OBS][:, self.places] * self.scale)
        return features


def _layers(sizes: tuple[int, ...], outputs: int = 0) -> nn.Sequential:
    """ReLU layers of these sizes, and a last one without ReLU if there are ``outputs``."""
    layers: list[nn.Module] = []
    for inputs, size in pairwise(sizes):
        layers += [nn.Linear(inputs, size), nn.ReLU()]
    if outputs:
        layers.append(nn.Linear(sizes[-1], outputs))
    return nn.Sequential(*layers)


# --- games on the workers -----------------------------------------------------------------------


@dataclass(frozen=True)
class Fragment:
    """What one worker sends home: the acts of all its games, and what became of them.

    RLlib passes it on as it does its episodes, of which it asks only the methods below.
    """

    columns: dict[str, npt.NDArray[Any]]
    """Arrays that share their first axis, the acts; by RLlib's names of columns."""

    def __len__(self) -> int:
        """How many acts."""
        return len(self.columns[Columns.ACTIONS])

    def env_steps(self) -> int:
        """How many acts."""
        return len(self)

    def agent_steps(self) -> int:
        """How many acts: one agent learns."""
        return len(self)


class GamesRunner(SingleAgentEnvRunner):  # type: ignore[misc]
    """Plays on one native vector environment and computes the advantages where it plays."""

    def make_env(self) -> None:
        """All games of this worker as one `EuchreVectorEnv`."""
        self.env = EuchreVectorEnv(
            self.config.num_envs_per_env_runner,
            **self.config.env_config,
            autoreset_mode="SameStep",
            copy=False,
        )
        self.num_envs = self.env.num_envs
        self._returns = np.zeros(self.num_envs)
        self._needs_initial_reset = True

    def sample(self, **kwargs: Any) -> list[Fragment]:
        """Play ``rollout_fragment_length`` acts in every game with the policy as it stands."""
        if self._needs_initial_reset:
            self._observations, infos = self.env.reset(seed=self._seed * 1_000_000)
            self._masks = infos[ACTION_MASK]
            self._needs_initial_reset = False
        num_steps = self.config.get_rollout_fragment_length(self.worker_index)
        seen: dict[str, list[npt.NDArray[Any]]] = {}
        ended: list[npt.NDArray[np.float64]] = []
        for _ in range(num_steps):
            for name, array in self._act().items():
                seen.setdefault(name, []).append(array)
            ended.append(self._step(seen[Columns.ACTIONS][-1], seen))
        returns = np.concatenate(ended)
        self._increase_sampled_metrics(num_steps * self.num_envs, len(returns))
        if len(returns):
            self.metrics.log_value(EPISODE_RETURN_MEAN, float(returns.mean()), window=1)
        return [self._fragment({name: np.stack(arrays) for name, arrays in seen.items()})]

    def _act(self) -> dict[str, npt.NDArray[Any]]:
        """Acts drawn from the policy for all games, with what they were drawn from."""
        batch = {
            Columns.OBS: torch.from_numpy(self._observations.copy()),
            ACTION_MASK: torch.from_numpy(self._masks.copy()),
        }
        out = self.module.forward_exploration(batch)
        with torch.no_grad():
            values = self.module.compute_values(batch, out[Columns.EMBEDDINGS])
        logits = out[Columns.ACTION_DIST_INPUTS]
        chances = torch.distributions.Categorical(logits=logits, validate_args=False)
        actions = chances.sample()  # type: ignore[no-untyped-call]
        tensors = batch | {
            Columns.ACTIONS: actions,
            Columns.ACTION_LOGP: chances.log_prob(actions),  # type: ignore[no-untyped-call]
            Columns.ACTION_DIST_INPUTS: logits,
            Columns.VF_PREDS: values,
        }
        return {name: tensor.numpy() for name, tensor in tensors.items()}

    def _step(
        self, actions: npt.NDArray[np.int64], seen: dict[str, list[npt.NDArray[Any]]]
    ) -> npt.NDArray[np.float64]:
        """Do the acts; returns the rewards of the episodes that have ended."""
        self._observations, rewards, terminations, truncations, infos = self.env.step(actions)
        self._masks = infos[ACTION_MASK]
        ends = terminations | truncations
        seen.setdefault(Columns.REWARDS, []).append(rewards.astype(np.float32))
        seen.setdefault(Columns.TERMINATEDS, []).append(ends)
        self._returns += rewards
        returns: npt.NDArray[np.float64] = self._returns[ends]
        self._returns[ends] = 0
        return returns

    def _fragment(self, seen: dict[str, npt.NDArray[Any]]) -> Fragment:
        """The acts in one row, each with its advantage."""
        values = seen.pop(Columns.VF_PREDS)
        with torch.no_grad():
            last = self.module.compute_values({Columns.OBS: torch.from_numpy(self._observations)})
        seen[Postprocessing.ADVANTAGES] = advantages(
            seen.pop(Columns.REWARDS),
            np.concatenate([values, last.numpy()[np.newaxis]]),
            seen.pop(Columns.TERMINATEDS),
            self.config.lambda_,
        )
        seen[Postprocessing.VALUE_TARGETS] = seen[Postprocessing.ADVANTAGES] + values
        return Fragment({name: array.reshape(-1, *array.shape[2:]) for name, array in seen.items()})


def advantages(
    rewards: Floats, values: Floats, ends: npt.NDArray[np.bool_], gae_lambda: float
) -> Floats:
    """Generalised advantage estimates without discount (Schulman et al. 2016).

    Args:
        rewards: of each act, shape (steps, games).
        values: expected points before each act and after the last, shape (steps + 1, games).
        ends: whether the act ended its episode, shape (steps, games).
        gae_lambda: 0 to 1.

    Returns:
        float32, shape (steps, games).
    """
    result = np.zeros_like(rewards)
    later = np.zeros(rewards.shape[1], dtype=np.float32)
    for t in reversed(range(len(rewards))):
        goes_on = 1 - ends[t].astype(np.float32)
        surprise = rewards[t] + goes_on * values[t + 1] - values[t]
        later = surprise + np.float32(gae_lambda) * goes_on * later
        result[t] = later
    return result


class ToBatch(ConnectorV2):  # type: ignore[misc]
    """The workers' fragments as one shuffled batch, its advantages brought to mean 0, spread 1."""

    def __call__(self, *, episodes: list[Fragment], **kwargs: Any) -> dict[str, dict[str, Any]]:
        """Put the fragments together (RLlib's signature; what else it hands over goes unused)."""
        columns = {
            name: np.concatenate([fragment.columns[name] for fragment in episodes])
            for name in episodes[0].columns
        }
        found = columns[Postprocessing.ADVANTAGES]
        columns[Postprocessing.ADVANTAGES] = (found - found.mean()) / (found.std() + 1e-8)
        order = torch.randperm(len(found))
        return {
            DEFAULT_MODULE_ID: {
                name: torch.from_numpy(array)[order] for name, array in columns.items()
            }
        }


# --- the run ------------------------------------------------------------------------------------


def make_config(args: Args, rules: Rules) -> PPOConfig:
    """RLlib's configuration; nothing is started yet.

    Raises:
        ValueError: the games cannot be shared out evenly.
    """
    runners = max(args.workers, 1)
    if args.workers < 0 or args.num_envs % runners or not args.num_envs:
        raise ValueError(
            f"{args.num_envs} games for {args.workers} workers: each plays as many as the others"
        )
    model = {
        "scale": observation_scale(rules, "deal").tolist(),
        "trunk": args.trunk,
        "heads": args.heads,
    }
    options = {
        "rules": rules, "opponent": args.opponent, "episode": "deal", "suits": "relative",
    }  # fmt: skip
    return (
        PPOConfig()
        .environment("euchre_env/Euchre-v0", env_config=options)
        .framework("torch")
        .env_runners(
            env_runner_cls=GamesRunner,
            num_env_runners=args.workers,
            num_envs_per_env_runner=args.num_envs // runners,
            rollout_fragment_length=args.num_steps,
        )
        .learners(
            num_learners=0,
            learner_connector=lambda *_: ToBatch(),
            add_default_connectors_to_learner_pipeline=False,
        )
        .training(
            lr=_down_to_0(args.learning_rate, args.steps),
            entropy_coeff=_down_to_0(args.entropy, args.steps),
            train_batch_size_per_learner=args.num_envs * args.num_steps,
            minibatch_size=args.batch_size,
            num_epochs=args.epochs,
            gamma=1.0,  # a deal is short, and a point is a point
            lambda_=args.gae_lambda,
            clip_param=0.2,
            use_kl_loss=False,
            vf_loss_coeff=0.5,
            vf_clip_param=float("inf"),
            grad_clip=0.5,
            grad_clip_by="global_norm",
        )
        .rl_module(rl_module_spec=RLModuleSpec(module_class=EuchreModule, model_config=model))
        .debugging(seed=args.seed, log_level="ERROR")
    )


def _down_to_0(start: float, steps: int) -> list[list[float]]:
    """A schedule of RLlib: in a line from ``start`` to 0."""
    return [[0, start], [steps, 0.0]]


def to_policy(module: EuchreModule, rules: Rules, training: dict[str, Any]) -> Policy:
    """The network as plain numbers, for a policy folder."""
    scale = np.asarray(module.model_config["scale"], dtype=np.float32)

    def numbers(*parts: nn.Module) -> tuple[tuple[Floats, Floats], ...]:
        linear = [m for part in parts for m in part.modules() if isinstance(m, nn.Linear)]
        layers = [(m.weight.detach().cpu().numpy(), m.bias.detach().cpu().numpy()) for m in linear]
        return fold_scale(layers, scale)

    return Policy(
        layers=numbers(module.trunk, module.policy_head),
        value_layers=numbers(module.trunk, module.value_head),
        activation="relu",
        suits="relative",
        rules=rules,
        training=training,
    )


def train(algorithm: Algorithm, args: Args, rules: Rules) -> float:
    """Train for ``args.steps`` acts; a printed line and the policy written at each update.

    Returns:
        Steps a second, without the first update (in which kernels are compiled); NaN when it was
        the only one.
    """
    told: dict[str, Any] = {
        "trainer": "Ray RLlib PPO", "opponent": args.opponent, "episode": "deal",
        "seed": args.seed, "workers": args.workers,
    }  # fmt: skip
    update = args.num_envs * args.num_steps
    start, speed = time.monotonic(), float("nan")
    warm = start
    for steps in range(update, args.steps + update, update):
        found = algorithm.train()
        now = time.monotonic()
        if steps == update:
            warm = now
        else:
            speed = (steps - update) / (now - warm)
        told |= {"steps": steps, "seconds": round(now - start, 1)}
        save_policy(to_policy(algorithm.get_module(), rules, told), args.folder)
        points = found[ENV_RUNNER_RESULTS].get(EPISODE_RETURN_MEAN, float("nan"))
        print(f"{steps:12,} steps · {now - start:6.1f} s · {points:+.3f} points a deal", flush=True)
    return speed


def connect(address: str, workers: int) -> None:
    """A running Ray cluster, or one of this machine that ends with this process."""
    if ray.is_initialized():
        return
    here = {"num_cpus": max(workers, 1), "include_dashboard": False}
    where = {"address": address} if address else here
    ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)


def main(args: Args) -> None:
    """Train, and write the policy folder."""
    rules = Rules()
    config = make_config(args, rules)
    connect(args.address, args.workers)
    algorithm = config.build_algo()
    try:
        speed = train(algorithm, args, rules)
    finally:
        algorithm.stop()
    print(f"{speed:,.0f} steps a second. Now: python evaluate.py {args.folder} novice")


if __name__ == "__main__":
    main(tyro.cli(Args))
