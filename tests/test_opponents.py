"""Whom an environment plays: one opponent, or several of which every episode draws one."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence

from agents import make_agent
from agents.sb3 import EuchreVecEnv
from euchre_env import EuchreEnv, EuchreVectorEnv
from euchre_env.opponents import Opponents, opponents_of
from tests.test_env import Batched

MIXTURES = [
    pytest.param([("novice", 0.7), ("random", 0.3)], id="compiled"),
    pytest.param([(Batched("novice"), 0.7), (Batched("random"), 0.3)], id="batched"),
    pytest.param([(Batched("novice"), 0.7), ("random", 0.3)], id="both"),
]


def play(env, num_steps, change=None):
    """Steps of a vector environment with the lowest legal act; what they show."""
    observations, infos = env.reset(seed=3)
    shown = [(observations, infos)]
    for step in range(num_steps):
        if change and step == num_steps // 2:
            change(env)
        shown.append(env.step(infos["action_mask"].argmax(axis=1)))
        infos = shown[-1][-1]
    return shown


def make(num_envs=40, **options):
    return EuchreVectorEnv(num_envs, **{"autoreset_mode": "SameStep", "episode": "deal", **options})


@pytest.mark.parametrize("episode", ["deal", "game"])
@pytest.mark.parametrize("mixture", MIXTURES)
def test_opponents_are_drawn_by_weight_one_an_episode(mixture, episode):
    env = make(200, opponent=mixture, episode=episode)
    shown = play(env, 100)
    drawn = []
    for (_, *_, before), (*_, after) in pairwise(shown):
        ended = after.get("_final_obs", np.zeros(200, dtype=bool))
        assert (before["opponent"] == after["opponent"])[~ended].all()
        if ended.any():
            assert (after["final_info"]["opponent"] == before["opponent"])[ended].all()
            drawn += after["opponent"][ended].tolist()
    share = 1 - np.mean(drawn)
    assert abs(share - 0.7) < 4 * (0.21 / len(drawn)) ** 0.5
    assert env.opponents.names == ("novice", "random")


@pytest.mark.parametrize("mixture", MIXTURES[1:])
def test_opponents_play_alike_compiled_and_in_batches(mixture):
    compiled = play(make(opponent=[("novice", 0.7), ("random", 0.3)]), 60)
    for one, other in zip(compiled, play(make(opponent=mixture), 60), strict=True):
        assert data_equivalence(one, other)


@pytest.mark.parametrize("opponent", [["novice"], {"novice": 3}, [("novice", 0.1)]])
def test_one_in_a_list_is_one_alone(opponent):
    for one, other in zip(
        play(make(opponent="novice"), 40), play(make(opponent=opponent), 40), strict=True
    ):
        assert data_equivalence(one, other)


def test_against_one_opponent_a_mixture_plays_as_that_opponent_alone():
    """An episode against the novice is the same whether or not others could have come."""
    mixed = play(make(1000, opponent={"random": 1, "novice": 1}), 1)
    alone = play(make(1000, opponent="novice"), 1)
    met = mixed[0][1]["opponent"] == 1
    assert 400 < met.sum() < 600
    assert (mixed[0][0] == alone[0][0])[met].all()
    assert (mixed[1][1] == alone[1][1])[met].all()


def test_who_has_no_weight_never_plays():
    env = make(500, opponent=[("random", 0), ("novice", 2), ("random", 0)])
    assert all((shown[-1]["opponent"] == 1).all() for shown in play(env, 30))


def test_in_self_play_there_is_no_opponent():
    env = make(3, opponent=None)
    assert env.opponents is None
    assert (env.reset(seed=0)[1]["opponent"] == -1).all()
    with pytest.raises(ValueError, match="self-play"):
        env.set_opponents("novice")


@pytest.mark.parametrize("mixture", MIXTURES)
def test_a_single_environment_tells_its_opponent(mixture):
    env = EuchreEnv(opponent=mixture, episode="deal")
    seen = {env.reset(seed=seed)[1]["opponent"] for seed in range(30)}
    assert seen == {0, 1}
    seen = {env.reset()[1]["opponent"] for _ in range(30)}
    assert seen == {0, 1}


# --- changing them ------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [make_agent, Batched], ids=["compiled", "batched"])
def test_running_episodes_keep_an_opponent_that_stays(wrap):
    novice, random, other = wrap("novice"), wrap("random"), wrap("random")
    env = make(300, opponent=[novice, random])
    _, infos = env.reset(seed=0)
    before = infos["opponent"]
    env.set_opponents([(other, 1), (random, 5), (novice, 0)])
    _, _, terminations, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    after = np.where(terminations, -1, infos["opponent"])
    assert set(after[(before == 0) & ~terminations]) == {2}
    assert set(after[(before == 1) & ~terminations]) == {1}
    for _ in range(40):
        _, _, _, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    assert set(infos["opponent"]) == {0, 1}


def test_where_the_opponent_leaves_another_takes_over_by_weight():
    env = make(2000, opponent="novice")
    env.reset(seed=0)
    env.set_opponents([("random", 3), ("novice", 1)])
    drawn = env._tables.columns["opponent"]
    assert abs(np.mean(drawn) - 0.25) < 0.05


def test_changing_the_weights_alone_leaves_running_games_as_they_are():
    agents = [make_agent("novice"), make_agent("random")]

    def change(env):
        env.set_opponents(list(zip(agents, (1, 9), strict=True)))

    one = play(make(50, opponent=agents, episode="game"), 10)
    other = play(make(50, opponent=agents, episode="game"), 10, change)
    assert all(data_equivalence(*pair) for pair in zip(one, other, strict=True))


def test_a_single_environment_changes_its_opponent_too():
    env = EuchreEnv(opponent="novice")
    env.reset(seed=0)
    env.set_opponents({"random": 1, "novice": 0})
    assert env.opponents.names == ("random", "novice")
    assert env.reset()[1]["opponent"] == 0


def test_a_change_that_is_refused_changes_nothing():
    env = make(5, opponent=["novice", "random"])
    env.reset(seed=0)
    opponents, before = env.opponents, env._tables.tables.copy()
    for wrong in (None, "nobody", [], [("novice", -1)], {"novice": 0}, {"novice": float("nan")}, 3):
        with pytest.raises((ValueError, TypeError)):
            env.set_opponents(wrong)
    assert env.opponents is opponents
    assert (env._tables.tables == before).all()


# --- keeping them -------------------------------------------------------------------------------


@pytest.mark.parametrize("mixture", MIXTURES)
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_go_on_alike(mixture, copied):
    env = make(opponent=mixture)
    infos = play(env, 10)[-1][-1]
    again = copied(env)
    for _ in range(20):
        acts = infos["action_mask"].argmax(axis=1)
        one, other = env.step(acts), again.step(acts)
        assert data_equivalence(one, other)
        infos = one[-1]


def test_a_saved_state_keeps_who_plays():
    env = EuchreEnv(opponent={"novice": 1, "random": 1})
    seen = []
    for seed in range(10):
        _, info = env.reset(seed=seed)
        saved = env.get_state()
        env.reset(seed=seed + 1)
        env.set_state(saved)
        _, _, _, _, after = env.step(info["action_mask"].argmax())
        assert after["opponent"] == info["opponent"]
        seen.append(info["opponent"])
    assert set(seen) == {0, 1}
    while not saved["tables"]["opponent"][0]:
        env.reset()
        saved = env.get_state()
    with pytest.raises(ValueError, match="more opponents than the 1 here"):
        EuchreEnv(opponent="novice").set_state(saved)


@pytest.mark.parametrize(
    ("opponent", "error", "words"),
    [
        ([], ValueError, "0 opponents"),
        (["novice"] * 257, ValueError, "257 opponents"),
        ({"novice": -1}, ValueError, "weight is -1"),
        ({"novice": True}, ValueError, "weight is True"),
        ({"novice": "much"}, ValueError, "weight is 'much'"),
        ({"novice": float("inf")}, ValueError, "weight is inf"),
        ({"novice": 0, "random": 0}, ValueError, "nobody would play"),
        ({"nobody": 1}, ValueError, "no agent is called 'nobody'"),
        ([None], TypeError, "None is no agent"),
        ([("novice", "random")], TypeError, "is no agent"),
    ],
)
def test_mixtures_that_mean_nothing_are_refused(opponent, error, words):
    with pytest.raises(error, match=words):
        make(2, opponent=opponent)


def test_the_opponent_that_errs_is_the_one_named():
    class Wrong:
        name = "wrong"

        def act(self, views, action_masks, rng):
            return np.full(len(views), 41)

    env = make(50, opponent=["novice", Batched("random"), Wrong()])
    with pytest.raises(RuntimeError, match="the opponent wrong"):
        play(env, 20)


def test_the_table_covers_every_word():
    opponents = opponents_of([("novice", 0.1), ("random", 0.2), ("novice", 1e-30)])
    assert isinstance(opponents, Opponents)
    table = opponents._table
    assert np.diff(table["below"][:3].astype(float)).min() >= 0
    assert int(table["below"][2]) == 2**64 - 1
    assert opponents.is_compiled.all()
    assert opponents.weights.sum() == pytest.approx(1)


def test_stable_baselines3_is_told_the_opponent_of_every_episode():
    games = EuchreVecEnv(30, opponent=["novice", "random"], episode="deal")
    games.seed(0)
    games.reset()
    sums = np.zeros((2, 4))
    for _ in range(40):
        _, _, dones, infos = games.step(games.action_masks().argmax(axis=1))
        for info in (infos[i] for i in np.flatnonzero(dones)):
            points = info["episode"]["r"]
            sums[info["opponent"]] += [1, points, points**2, points > 0]
    result = games.by_opponent
    found = [result[key] for key in ("episodes", "reward", "squares", "won")]
    assert np.array_equal(np.stack(found, axis=1), sums)
    assert games.num_episodes == sums[:, 0].sum()
