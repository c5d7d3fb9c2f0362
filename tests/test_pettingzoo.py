"""The PettingZoo environment: PettingZoo's own tests, and the games of the single environment."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from gymnasium.error import InvalidAction

from euchre_env import EuchreEnv, Rules
from euchre_env.stepping import ILLEGAL_REWARD

library = pytest.importorskip("pettingzoo")
pettingzoo = pytest.importorskip("euchre_env.pettingzoo")
AGENTS = pettingzoo.AGENTS

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its tests import a game the old way
    from pettingzoo.test import api_test, render_test, seed_test

OPTIONS = (
    {},
    {"episode": "deal", "suits": "relative"},
    {"rules": Rules.railroad_pack(stick_the_dealer=True), "reward": "win"},
    {"rules": Rules.british(joker_turned_up="fixed_suit"), "max_deals": 2},
)


def play(env, seed, *, decide=None, before_step=None):
    """Random legal acts to the end: each agent's total reward, and the acts done."""
    totals, acts = dict.fromkeys(AGENTS, 0.0), []
    env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        totals[agent] += reward
        action = None
        if not (terminated or truncated):
            action = int(rng.choice(np.flatnonzero(observation["action_mask"])))
            if before_step:
                before_step(env, agent, observation)
            acts.append(action)
        env.step(action)
    return totals, acts


@pytest.mark.parametrize("options", OPTIONS, ids=str)
# The test knows PettingZoo's own games by name; ours has a mask beside its observation as well,
# and nothing is legal for the agent that is not to act.
@pytest.mark.filterwarnings("ignore:Observation is not a NumPy array")
@pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be")
@pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros")
@pytest.mark.filterwarnings("ignore:.*reset knows no option 'options'")
def test_pettingzoos_own_test_of_the_interface(options):
    api_test(pettingzoo.env(**options), num_cycles=200)
    api_test(pettingzoo.raw_env(**options), num_cycles=200)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_pettingzoos_own_test_of_seeds(options):
    seed_test(lambda: pettingzoo.env(**options), num_cycles=200)


def test_pettingzoos_own_test_of_drawing(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setitem(EuchreEnv.metadata, "render_fps", 1000)
    render_test(pettingzoo.env)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_games_are_those_of_self_play(options):
    """Same seed, same acts: the observations and rewards of the single environment."""
    env, single = pettingzoo.env(**options), EuchreEnv(opponent=None, **options)
    for seed in range(3):
        env.reset(seed=seed)
        seen, info = single.reset(seed=seed)
        ended = False
        while not ended:
            observation, _, _, _, _ = env.last()
            np.testing.assert_array_equal(observation["observation"], seen)
            np.testing.assert_array_equal(observation["action_mask"], info["action_mask"])
            assert env.agent_selection == AGENTS[info["to_act"]]
            action = np.flatnonzero(info["action_mask"])[-1]
            actor = env.agent_selection
            env.step(action)
            seen, reward, terminated, truncated, info = single.step(action)
            assert env.rewards[actor] == reward
            ended = terminated or truncated
            assert env.terminations == dict.fromkeys(AGENTS, terminated)
            assert env.truncations == dict.fromkeys(AGENTS, truncated)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_rewards_sum_to_zero_and_every_agent_is_told_its_own(options):
    env = pettingzoo.env(**options)
    for seed in range(5):
        totals, acts = play(env, seed)
        assert totals["player_0"] == -totals["player_1"]
        assert len(acts) >= 2
        assert env.agents == []


def test_the_points_of_a_game_are_its_rewards():
    env = pettingzoo.env()
    last = {}
    totals, _ = play(env, 3, before_step=lambda env, agent, _: last.update(env.infos[agent]))
    assert totals["player_0"] != 0
    assert min(last["scores"]) < 10


def test_an_agent_that_is_not_to_act_sees_its_own_hand_and_no_legal_act():
    def check(env, agent, observation):
        other = AGENTS[1 - AGENTS.index(agent)]
        seen = env.observe(other)
        assert not seen["action_mask"].any()
        assert not env.infos[other]["action_mask"].any()
        assert env.observation_space(other).contains(seen)
        assert (seen["observation"][:33] & observation["observation"][:33]).sum() == 0

    play(pettingzoo.env(episode="deal"), 1, before_step=check)


def test_reset_sets_up_what_the_single_environment_does():
    env = pettingzoo.env()
    options = {"deal": "9CTCJDQDKH/ASKSQS9DTH/JH", "dealer": 1, "scores": (8, 9)}
    env.reset(seed=0, options=options)
    single = EuchreEnv(opponent=None)
    seen, _ = single.reset(seed=0, options=options)
    np.testing.assert_array_equal(env.observe("player_0")["observation"], seen)
    assert env.unwrapped.view == single.view
    with pytest.raises(ValueError, match="dealer=2"):
        env.reset(options={"dealer": 2})


def test_an_illegal_act_raises_and_changes_nothing():
    env = pettingzoo.env()
    env.reset(seed=0)
    before = env.last()[0]
    with pytest.raises(InvalidAction, match="JH"):
        env.step(20)
    np.testing.assert_equal(env.last()[0], before)
    with pytest.raises(AssertionError):
        env.step(42)  # the bounds wrapper's
    with pytest.raises(ValueError, match="is not done"):
        env.unwrapped.step(None)


@pytest.mark.parametrize("illegal", ["penalise", "end"])
def test_an_illegal_act_costs_who_does_it_alone(illegal):
    env = pettingzoo.env(illegal=illegal)
    env.reset(seed=0)
    actor = env.agent_selection
    env.step(20)
    other = AGENTS[1 - AGENTS.index(actor)]
    assert env.rewards == {actor: ILLEGAL_REWARD, other: 0.0}
    assert all(env.terminations.values()) == (illegal == "end")


def test_copies_and_pickles_go_on_alike():
    env = pettingzoo.raw_env()
    env.reset(seed=0)
    env.step(int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"])[0]))
    for other in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        assert other.agent_selection == env.agent_selection
        np.testing.assert_equal(other.last()[0], env.last()[0])


@pytest.mark.skipif(not hasattr(library, "make"), reason="PettingZoo has no registry yet")
def test_pettingzoos_registry_knows_it():
    env = library.make("aec", "euchre_env/Euchre-v0", episode="deal")
    env.reset(seed=0)
    assert str(env) == "euchre_v0"


def test_the_package_does_not_need_pettingzoo():
    program = (
        "import sys; sys.modules['pettingzoo'] = None\n"
        "import euchre_env\n"
        "try: import euchre_env.pettingzoo\n"
        "except ModuleNotFoundError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "pip install 'euchre-env[pettingzoo]'" in done.stdout
