"""Stable-Baselines3 sees the games that the vector environment plays, masks included."""

import sys

import gymnasium
import numpy as np
import pytest
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecVideoRecorder

from agents import streams
from agents.evaluation import match
from agents.sb3 import EuchreVecEnv, ModelAgent
from euchre_env import EuchreVectorEnv
from euchre_env.engine import action_masks
from euchre_env.observation import ABSOLUTE_ACTIONS, OBSERVATION_SIZE, frame_of

NUM = 7
OPTIONS = {"opponent": "random", "episode": "deal", "suits": "relative"}


def legal_acts(masks, rng):
    """One legal act a row, at random."""
    return (rng.random(masks.shape) * (masks != 0)).argmax(axis=1)


@pytest.mark.parametrize("options", [OPTIONS, {"opponent": "random", "max_deals": 3}])
def test_it_plays_the_games_of_the_vector_environment(options):
    ours = EuchreVecEnv(NUM, **options)
    native = EuchreVectorEnv(NUM, autoreset_mode="SameStep", **options)
    ours.seed(11)
    observations = ours.reset()
    expected, infos = native.reset(seed=11)
    rng = np.random.default_rng(0)
    returns, lengths, ends = np.zeros(NUM), np.zeros(NUM, dtype=int), 0
    for _ in range(150):
        assert np.array_equal(observations, expected)
        assert np.array_equal(ours.action_masks(), infos["action_mask"] == 1)
        actions = legal_acts(infos["action_mask"], rng)
        observations, rewards, dones, sb3_infos = ours.step(actions)
        expected, expected_rewards, terminations, truncations, infos = native.step(actions)
        returns += expected_rewards
        lengths += 1
        assert np.array_equal(rewards, expected_rewards)
        assert np.array_equal(dones, terminations | truncations)
        for i, info in enumerate(sb3_infos):
            if not dones[i]:
                assert info == {}
                continue
            ends += 1
            assert np.array_equal(info["terminal_observation"], infos["final_obs"][i])
            assert info["TimeLimit.truncated"] == truncations[i]
            assert info["episode"]["r"] == returns[i] == infos["final_info"]["reward"][i]
            assert info["episode"]["l"] == lengths[i]
            returns[i], lengths[i] = 0, 0
    assert ours.num_episodes == ends > NUM


def test_sums_over_episodes_are_kept():
    games = EuchreVecEnv(NUM, **OPTIONS)
    games.seed(2)
    games.reset()
    rng, results = np.random.default_rng(1), []
    for _ in range(60):
        _, _, _, infos = games.step(legal_acts(games.action_masks(), rng))
        results += [info["episode"]["r"] for info in infos if info]
    assert games.num_episodes == len(results)
    assert games.total_reward == sum(results)
    assert games.total_squares == sum(result**2 for result in results)


def test_masks_reach_sb3_contrib():
    games = EuchreVecEnv(NUM, **OPTIONS)
    games.reset()
    masks = get_action_masks(games)
    assert is_masking_supported(games)
    assert masks.shape == (NUM, 42)
    assert np.array_equal(masks, games.env.action_masks())
    assert np.array_equal(np.stack(games.env_method("action_masks", indices=[4, 1])), masks[[4, 1]])
    assert np.array_equal(np.stack(games.env_method("action_masks", indices=3)), masks[[3]])


def test_maskable_ppo_only_tries_legal_acts():
    games = EuchreVecEnv(8, illegal="raise", **OPTIONS)  # an illegal act would end the test
    model = MaskablePPO("MlpPolicy", games, n_steps=32, batch_size=64, n_epochs=1, seed=0)
    model.learn(1024)
    assert model.num_timesteps == 1024
    taken = model.rollout_buffer.actions.astype(int).ravel()
    masks = model.rollout_buffer.action_masks.reshape(-1, 42)
    assert masks[np.arange(len(taken)), taken].all()
    assert len(model.ep_info_buffer) > 8


def test_evaluation_of_sb3_contrib_needs_no_monitor():
    games = EuchreVecEnv(4, **OPTIONS)
    model = MaskablePPO("MlpPolicy", games, n_steps=8, batch_size=32, seed=0)
    rewards, lengths = evaluate_policy(model, games, 12, return_episode_rewards=True)
    assert len(rewards) == 12
    assert set(rewards) <= {-2.0, -1.0, 0.0, 1.0, 2.0}
    assert min(lengths) >= 1


def test_observations_are_not_overwritten_by_the_next_step():
    games = EuchreVecEnv(NUM, **OPTIONS)
    first = games.reset()
    kept = first.copy()
    rng = np.random.default_rng(3)
    second, *_ = games.step(legal_acts(games.action_masks(), rng))
    kept_second = second.copy()
    games.step(legal_acts(games.action_masks(), rng))
    assert np.array_equal(first, kept)
    assert np.array_equal(second, kept_second)


def test_seeds_repeat_the_games():
    games = EuchreVecEnv(NUM, **OPTIONS)

    def first_observations(seed):
        games.seed(seed)
        return games.reset()

    assert np.array_equal(first_observations(5), first_observations(5))
    assert not np.array_equal(first_observations(5), first_observations(6))


@pytest.mark.parametrize(
    ("games", "error", "words"),
    [
        (lambda: EuchreVectorEnv(2, opponent="random"), ValueError, "NextStep.*EuchreVecEnv"),
        (
            lambda: gymnasium.make("euchre_env/Euchre-v0", opponent="random"),
            TypeError,
            "single gymnasium.Env.*EuchreVecEnv",
        ),
        (
            lambda: gymnasium.make_vec("CartPole-v1", 2, vectorization_mode="sync"),
            TypeError,
            "a gymnasium.vector.VectorEnv.*EuchreVecEnv",
        ),
        (lambda: "euchre", TypeError, "a str.*EuchreVecEnv"),
    ],
)
def test_what_does_not_fit_is_told_what_does(games, error, words):
    with pytest.raises(error, match=words):
        EuchreVecEnv(games())


def test_games_already_made_are_taken_without_options():
    games = EuchreVectorEnv(3, opponent="random", autoreset_mode="SameStep")
    assert EuchreVecEnv(games).env is games
    with pytest.raises(TypeError, match="episode"):
        EuchreVecEnv(games, episode="deal")


def test_games_have_no_other_methods_of_their_own():
    games = EuchreVecEnv(2, **OPTIONS)
    with pytest.raises(AttributeError, match="shuffle"):
        games.env_method("shuffle")
    assert not games.has_attr("shuffle")
    assert games.get_attr("rules", indices=[0]) == [games.env.rules]
    with pytest.raises(ValueError, match="all games"):
        games.set_attr("copy", True, indices=[0])
    games.set_attr("copy", True)
    assert games.env.copy is True


def test_pictures_of_all_games_are_one_picture_for_stable_baselines3(tmp_path):
    games = EuchreVecEnv(2, render_mode="rgb_array", **OPTIONS)
    recorder = VecVideoRecorder(games, str(tmp_path), lambda step: step == 0, video_length=9)
    recorder.reset()
    pictures = games.get_images()
    assert [(picture.shape, picture.dtype) for picture in pictures] == [((448, 640, 3), "u1")] * 2
    assert np.array_equal(pictures[0], games.env.render()[0])
    assert games.render().size == sum(picture.size for picture in pictures)
    recorder.step(games.action_masks().argmax(axis=1))
    assert [frame.shape for frame in recorder.recorded_frames] == [games.render().shape] * 2
    assert recorder.frames_per_sec == games.env.metadata["render_fps"]
    recorder.recorded_frames.clear()  # no film is made of them


def test_texts_of_all_games_are_a_tuple():
    games = EuchreVecEnv(2, render_mode="ansi", **OPTIONS)
    games.reset()
    assert games.render() == games.env.render()
    assert all("legal:" in text for text in games.render())
    assert list(games.get_images()) == [None, None]


def test_a_window_wants_opencv(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)  # as if it were not installed
    games = EuchreVecEnv(1, render_mode="rgb_array", **OPTIONS)
    games.reset()
    with pytest.raises(ImportError, match="pip install opencv-python"):
        games.render("human")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("opponent", "expert", r"set_opponents\(\.\.\.\)"),
        ("suits", "absolute", r"make new ones, as in EuchreVecEnv\(num_envs, suits=\.\.\.\)"),
        ("shuffled", True, "shuffled cannot be set"),
    ],
)
def test_setting_what_would_change_nothing_is_refused(name, value, words):
    games = EuchreVecEnv(2, **OPTIONS)
    with pytest.raises(AttributeError, match=words):
        games.set_attr(name, value)
    assert not hasattr(games.env, name)


def test_opponents_are_changed_between_two_rounds_of_learning():
    games = EuchreVecEnv(8, **OPTIONS)
    model = MaskablePPO("MlpPolicy", games, n_steps=8, batch_size=64, n_epochs=1, seed=0)
    model.learn(64)
    games.set_opponents({"novice": 0.7, "random": 0.3})
    model.learn(64, reset_num_timesteps=False)
    assert games.env.opponents.names == ("novice", "random")
    assert len(games.by_opponent) == 2


@pytest.mark.parametrize("suits", ["relative", "absolute"])
def test_a_model_is_an_agent(suits):
    """Its acts in a match are those it chooses in the games it learned from."""
    model = MaskablePPO("MlpPolicy", EuchreVecEnv(8, suits=suits), n_steps=8, batch_size=64, seed=0)
    agent = ModelAgent(model, suits=suits)
    games = EuchreVectorEnv(64, suits=suits, opponent="random", autoreset_mode="SameStep")
    observations, infos = games.reset(seed=0)
    for _ in range(20):
        masks = infos["action_mask"]
        expected, _ = model.predict(observations, action_masks=masks, deterministic=True)
        absolute = np.empty((64, 42), dtype=np.int8)
        action_masks(games._tables.states, absolute)
        acts = agent.act(games.views, absolute, streams(0, 64))
        frames = [frame_of(games.views[i], suits == "relative") for i in range(64)]
        assert (ABSOLUTE_ACTIONS[frames, expected] == acts).all()
        observations, *_, infos = games.step(expected)
    plain_model = PPO("MlpPolicy", EuchreVecEnv(8, suits=suits), n_steps=8, batch_size=64)
    plain = ModelAgent(plain_model, suits=suits)
    assert match(agent, plain, pairs=20).pairs == 20


def test_how_a_model_was_shown_suits_is_said_in_the_words_of_the_environment():
    model = MaskablePPO("MlpPolicy", EuchreVecEnv(8, **OPTIONS), n_steps=8, batch_size=64)
    with pytest.raises(TypeError, match="suits"):
        ModelAgent(model)
    with pytest.raises(ValueError, match="suits='rel': it is one of 'absolute', 'relative'"):
        ModelAgent(model, suits="rel")


@pytest.mark.filterwarnings("ignore:.*render_mode='rgb_array'")  # Stable-Baselines3 asks for it
def test_the_usual_way_of_stable_baselines3_to_make_games_works():
    games = make_vec_env("euchre_env/Euchre-v0", 2, seed=0)
    assert games.reset().shape == (2, OBSERVATION_SIZE)
