"""From knobs to objects: the games, the model, the pool of past selves, the policy to save."""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from agents.memory import keep_memory
from agents.policies import Policy
from agents.sb3 import EuchreVecEnv
from agents.training.budget import Budget
from agents.training.config import Config, named_opponents
from agents.training.network import (
    ACTIVATIONS,
    ActorCritic,
    has_fast_bfloat16,
    observation_scale,
    to_policy,
)
from agents.training.open_critic import OpenVecEnv
from agents.training.pool import Pool
from agents.training.ppo import EuchrePPO
from euchre_env.rules import Rules


def make_games(config: Config, rules: Rules) -> EuchreVecEnv:
    """The games to learn from, suits named from the upcard."""
    kind = OpenVecEnv if config.critic == "open" else EuchreVecEnv
    return kind(
        config.num_envs,
        rules=rules,
        opponent=named_opponents(config) or "random",  # in self-play the pool sits down anyway
        episode=config.episode,
        suits="relative",
        skip_forced=True,
    )


def scale_of(config: Config, rules: Rules) -> npt.NDArray[np.float32]:
    """What the observation's numbers are multiplied with in this run."""
    return observation_scale(rules, config.episode)


def make_model(config: Config, games: EuchreVecEnv, budget: Budget) -> EuchrePPO:
    """The network and what it learns by; learning rate and clip range follow the budget."""
    torch.set_num_threads(config.threads)
    keep_memory()
    is_auto, on_cpu = config.precision == "auto", config.device == "cpu"
    is_bfloat16 = has_fast_bfloat16() and on_cpu if is_auto else config.precision == "bfloat16"
    return EuchrePPO(
        ActorCritic,
        games,
        learning_rate=lambda _: budget.between(config.learning_rate, config.learning_rate_end),
        n_steps=config.num_steps,
        batch_size=config.batch_size,
        n_epochs=config.epochs,
        gamma=1.0,  # a deal is short, and a point is a point
        gae_lambda=config.gae_lambda,
        clip_range=lambda _: budget.between(config.clip_range, config.clip_range_end),
        ent_coef=config.entropy,
        magnet_kl=config.magnet_kl,
        magnet_updates=config.magnet_updates,
        augment_suits=config.augment_suits,
        policy_kwargs={
            "observation_scale": scale_of(config, games.env.rules),
            "policy_layers": config.policy_layers,
            "value_layers": config.value_layers,
            "is_bfloat16": is_bfloat16,
            "activation_fn": ACTIVATIONS[config.activation],
        },
        seed=config.seed,
        device=config.device,
    )


def make_pool(config: Config, policy: Policy) -> Pool:
    """Whom a learner in self-play meets."""
    return Pool(policy, named_opponents(config), config.pool_settings)


def policy_of(model: EuchrePPO, config: Config, rules: Rules, told: dict[str, Any]) -> Policy:
    """The policy as it stands, with facts about the training for people."""
    facts = {
        "opponent": config.opponents_told,
        "preset": config.preset,
        "episode": config.episode,
        "seed": config.seed,
        "steps": model.num_timesteps,
        **told,
    }
    return to_policy(model.policy, rules, scale_of(config, rules), config.activation, facts)


def compile_kernels(config: Config, rules: Rules) -> None:
    """Take one step: what is compiled on a first run is compiled before the clock starts."""
    from dataclasses import replace

    games = make_games(replace(config, num_envs=1), rules)
    games.reset()
    games.step(games.action_masks().argmax(axis=1))
