"""What a step costs in `examples/rllib_train.py`: playing, learning, and RLlib's own runner.

    python -m benchmarks.rllib_speed

Costs are processor seconds of one core, so other programs on the machine hardly change them. The
last line is what they bound: workers play side by side, then one core learns.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import tyro
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner

from euchre_env.actions import NUM_ACTIONS
from euchre_env.rules import Rules
from examples.rllib_train import Args as TrainArgs
from examples.rllib_train import EuchreModule, GamesRunner, connect, make_config


@dataclass
class Args:
    """Measure what a step costs with Ray RLlib."""

    repeats: int = 5
    """measurements of each figure; the lowest counts"""
    num_envs: int = 1024
    """games played side by side"""


def cost(act: Callable[[], Any], steps: int, repeats: int) -> float:
    """Microseconds of processor time a step, the lowest of several, the first call not counted."""
    act()
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        act()
        seconds.append(time.process_time() - start)
    return 1e6 * min(seconds) / steps


class Unmasked(EuchreModule):
    """The same network for RLlib's own runner, which knows of no masks."""

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        everything = torch.ones(len(batch["obs"]), NUM_ACTIONS)
        return super()._forward({"obs": batch["obs"], "action_mask": everything})


def own_runner(num_envs: int, num_steps: int) -> SingleAgentEnvRunner:
    """RLlib's runner on the same vector environment; illegal acts, which it tries, cost points."""
    options = {"opponent": "novice", "episode": "deal", "illegal": "penalise"}
    model = make_config(TrainArgs(), Rules()).rl_module_spec.model_config
    config = (
        PPOConfig()
        .environment("euchre_env/Euchre-v0", env_config=options)
        .env_runners(
            num_env_runners=0,
            num_envs_per_env_runner=num_envs,
            rollout_fragment_length=num_steps,
            gym_env_vectorize_mode="vector_entry_point",
        )
        .rl_module(rl_module_spec=RLModuleSpec(module_class=Unmasked, model_config=model))
        .debugging(seed=0)
    )
    return SingleAgentEnvRunner(config=config, worker_index=0)


def main(args: Args) -> None:
    """Print the table."""
    logging.getLogger("ray.rllib").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    train = TrainArgs(workers=0, num_envs=args.num_envs)
    steps = train.num_envs * train.num_steps
    connect("", 1)
    algorithm = make_config(train, Rules()).build_algo()
    runner = algorithm.env_runner
    assert isinstance(runner, GamesRunner)
    episodes = runner.sample()
    learner = algorithm.learner_group

    def learn() -> None:
        learner.update(
            episodes=episodes,
            timesteps={"num_env_steps_sampled_lifetime": 0},
            num_epochs=train.epochs,
            minibatch_size=train.batch_size,
            shuffle_batch_per_epoch=True,
        )

    playing = cost(runner.sample, steps, args.repeats)
    learning = cost(learn, steps, args.repeats)
    few = 4
    theirs = own_runner(args.num_envs, few)
    own = cost(theirs.sample, args.num_envs * few, args.repeats)
    algorithm.stop()
    print(f"playing, GamesRunner          {playing:6.1f} µs a step")
    print(f"playing, SingleAgentEnvRunner {own:6.1f} µs a step")
    print(f"learning                      {learning:6.1f} µs a step")
    bounds = (f"{workers}: {1e6 / (playing / workers + learning):,.0f}" for workers in (1, 2, 4, 8))
    print(f"steps a second at most, by workers  {'   '.join(bounds)}")


if __name__ == "__main__":
    main(tyro.cli(Args))
