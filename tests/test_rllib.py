"""Ray RLlib trains on the same games: masks, advantages, and two workers whose policy plays."""

import importlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from agents import make_agent
from agents.evaluation import match
from agents.learned import load_agent
from euchre_env import EuchreVectorEnv
from euchre_env.rules import Rules

pytest.importorskip("ray", reason="Ray is not installed (extra ray)")
pytest.importorskip("tree", reason="RLlib's own requirements are not installed (extra ray)")
pytest.importorskip("torch", reason="torch is not installed (extra train)")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def rllib():
    """The example as a module: Ray and RLlib load slowly, so only here."""
    return importlib.import_module("examples.rllib_train")


points = st.floats(-4, 4, width=32)


@given(
    rewards=hnp.arrays(np.float32, (6, 3), elements=points),
    values=hnp.arrays(np.float32, (7, 3), elements=points),
    ends=hnp.arrays(np.bool_, (6, 3)),
    gae_lambda=st.sampled_from([0.0, 0.5, 0.95, 1.0]),
)
def test_advantages_are_those_of_the_paper(rllib, rewards, values, ends, gae_lambda):
    """Every advantage is the sum of later surprises, fading by lambda, to the episode's end."""
    found = rllib.advantages(rewards, values, ends, gae_lambda)
    for game in range(3):
        for t in range(6):
            expected = 0.0
            for later in range(t, 6):
                is_last = ends[later, game]
                after = 0.0 if is_last else values[later + 1, game]
                surprise = rewards[later, game] + after - values[later, game]
                expected += gae_lambda ** (later - t) * surprise
                if is_last:
                    break
            assert math.isclose(found[t, game], expected, abs_tol=1e-4)


def small(rllib, folder, **changed):
    """Arguments of a training of three updates."""
    return rllib.Args(
        folder=folder, steps=3 * 512, num_envs=64, num_steps=8, batch_size=128, **changed
    )


@pytest.mark.parametrize(("workers", "games"), [(3, 64), (-1, 64), (2, 0)])
def test_games_are_shared_out_evenly_or_refused(rllib, tmp_path, workers, games):
    args = small(rllib, tmp_path, workers=workers)
    args.num_envs = games
    with pytest.raises(ValueError, match="games for"):
        rllib.make_config(args, Rules())


def worker_facts(runner):
    """Of a worker: how it sees its games, what it plays, and its weights."""
    weights = runner.module.state_dict()
    return (
        type(runner.env).__name__,
        runner.num_envs,
        runner._observations.copy(),
        runner.sample()[0].columns,
        {name: value.numpy() for name, value in weights.items()},
    )


def test_two_workers_train_a_policy_that_plays(rllib, tmp_path):
    from ray import cloudpickle

    args = small(rllib, tmp_path / "policy")
    cloudpickle.register_pickle_by_value(importlib.import_module(__name__))
    rllib.connect("", 2)
    algorithm = rllib.make_config(args, Rules()).build_algo()
    try:
        before = {k: v.clone() for k, v in algorithm.get_module().state_dict().items()}
        rllib.train(algorithm, args, Rules())
        after = algorithm.get_module().state_dict()
        facts = algorithm.env_runner_group.foreach_env_runner(worker_facts, local_env_runner=False)
    finally:
        algorithm.stop()
        importlib.import_module("ray").shutdown()

    assert any((before[name] != after[name]).any() for name in after)
    assert [fact[:2] for fact in facts] == [("EuchreVectorEnv", 32)] * 2
    assert (facts[0][2] != facts[1][2]).any(), "both workers play the same deals"
    for *_, columns, weights in facts:
        acts, masks = columns["actions"], columns["action_mask"]
        assert len(acts) == 32 * 8
        assert (masks[np.arange(len(acts)), acts] == 1).all()
        for name, value in after.items():
            np.testing.assert_array_equal(weights[name], value.numpy(), err_msg=name)

    agent = load_agent(str(args.folder))
    assert_same_acts(agent, algorithm.get_module())
    result = match(agent, make_agent("novice"), pairs=50)
    assert math.isfinite(result.mean)


def assert_same_acts(agent, module):
    """The policy folder's network is the one that was trained."""
    import torch

    games = EuchreVectorEnv(200, suits="relative")
    observations, infos = games.reset(seed=3)
    masks = infos["action_mask"]
    out = module.forward_inference(
        {"obs": torch.from_numpy(observations), "action_mask": torch.from_numpy(masks)}
    )
    logits = out["action_dist_inputs"].numpy()
    np.testing.assert_allclose(
        np.where(masks == 1, agent.logits(observations), -1e9), logits, rtol=1e-4, atol=1e-4
    )
    assert (np.exp(logits)[masks == 0] == 0).all()
