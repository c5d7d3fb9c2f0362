"""PPO from scratch learns the game, and would not with masks or observations that are wrong."""

import numpy as np
import pytest
import torch
from gymnasium.error import InvalidAction
from rich.console import Console

from agents.evaluation import match
from agents.learned import LearnedAgent
from agents.training import setup
from agents.training.config import Config, check
from agents.training.network import layers
from agents.training.open_critic import OpenVecEnv
from agents.training.run import Run
from agents.training.screen import Screen
from euchre_env.observation import OBSERVATION_SIZE

SHORT = Config(
    steps=300_000,
    num_envs=128,
    num_steps=32,
    batch_size=1024,
    policy_layers=(64, 64),
    value_layers=(64, 64),
    evaluations=0,
    pairs=0,
)
OVER_RANDOM = 0.4
"""Points a deal that a short run reaches against random, and more; the novice reaches 0.8."""


def make_run(folder, **knobs):
    config = Config(**{**SHORT.__dict__, **knobs})
    return Run(config, check(config), folder, Screen(Console(quiet=True), "deal"))


class ShuffledMasks(OpenVecEnv):
    """Games that give each learner's row the mask of another game."""

    def env_method(self, method_name, *args, indices=None, **options):
        """What sb3-contrib asks for the masks with."""
        masks = super().env_method(method_name, *args, indices=indices, **options)
        return np.roll(masks, 1, axis=0)


def reads_hidden_cards(model, games):
    """Whether the policy's outputs move when the cards that the learner cannot see do."""
    rows = torch.as_tensor(games.reset())
    others = rows.clone()
    others[:, OBSERVATION_SIZE:] = 1 - others[:, OBSERVATION_SIZE:]
    network = model.policy
    with torch.no_grad():
        return not torch.equal(
            network.logits(network.inputs(rows)), network.logits(network.inputs(others))
        )


def test_a_short_run_beats_random_by_far_and_the_novice(tmp_path):
    run = make_run(tmp_path)
    run.go()
    agent = LearnedAgent.load(tmp_path)
    over_random = match(agent, "random", pairs=1_000)
    over_novice = match(agent, "novice", pairs=2_000)
    assert over_random.low > OVER_RANDOM
    assert over_novice.low > 0
    assert not reads_hidden_cards(run.model, run.games)


def test_with_the_masks_of_other_games_the_first_illegal_act_ends_it(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "OpenVecEnv", ShuffledMasks)
    with pytest.raises(InvalidAction):
        make_run(tmp_path, steps=4_096).go()


def test_a_policy_that_sees_the_other_hand_is_found_out(tmp_path):
    """The leak check can fail: a network whose policy reads all that the critic does."""
    run = make_run(tmp_path, steps=8_192)
    network = run.model.policy
    network.num_policy_inputs = len(network.places)
    network.actor = layers((len(network.places), 64, 64), torch.nn.ReLU)
    assert reads_hidden_cards(run.model, run.games)
