"""What users ask of `reset` and of wrappers: options stay, any position is set, seeds by row."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RecordEpisodeStatistics, TimeLimit

from euchre_env import EuchreEnv, EuchreVectorEnv, Rules
from euchre_env.actions import Phase
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import format_position
from euchre_env.state import rules_of
from euchre_env.views import blank
from tests.strategies import differing, sample

DEAL = "JHJDAH9STC/KHQHASKC9C/9H"
NOT_SET = ("stream", "num_draws", "deal_number")
"""What is no part of a position."""


def history(env: EuchreEnv, num_steps: int) -> list[bytes]:
    """Observations of so many random legal acts, episodes begun anew as they end."""
    rng = np.random.default_rng(0)
    seen = []
    masks = env.action_masks()
    for _ in range(num_steps):
        observation, _, ended, truncated, info = env.step(int(rng.choice(np.flatnonzero(masks))))
        seen.append(observation.tobytes())
        masks = info["action_mask"]
        if ended or truncated:
            observation, info = env.reset()
            seen.append(observation.tobytes())
            masks = info["action_mask"]
    return seen


def test_options_stay_when_it_is_seeded_anew() -> None:
    rules = Rules.british(target_score=3)
    env = EuchreEnv(rules=rules, opponent="random", seat=1, suits="relative", max_deals=2)
    for seed in (1, None, 2):
        _, info = env.reset(seed=seed, options={"scores": (1, 2)})
        assert env.rules == rules_of(env.view) == rules
        assert info["seat"] == 1
        assert info["scores"].tolist() == [1, 2]
        history(env, 30)
    assert info["scores"].tolist() == [1, 2]


def test_what_is_set_once_is_not_set_for_ever() -> None:
    env = EuchreEnv(opponent=None)
    env.reset(seed=0, options={"deal": DEAL, "dealer": 1, "scores": (3, 4)})
    _, info = env.reset(seed=0)
    plain = EuchreEnv(opponent=None)
    plain.reset(seed=0)
    assert info["scores"].tolist() == [0, 0]
    assert env.view == plain.view


def test_a_seed_fixes_what_a_set_deal_leaves_open() -> None:
    """The deal is the one given, whatever the seed; all that follows is the seed's."""
    envs = [EuchreEnv() for _ in range(3)]
    options = {"deal": DEAL, "dealer": 1}
    for env, seed in zip(envs, (5, 5, 6), strict=True):
        env.reset(seed=seed, options=options)
        assert format_position(env.get_state()["states"][0]).split()[0] == (
            "TCJDJHAH9S/9CKCQHKHAS/9H"
        )
    one, same, other = (history(env, 60) for env in envs)
    assert one == same != other


@pytest.mark.parametrize("seed", range(3))
def test_any_position_of_any_game_can_be_set(seed: int) -> None:
    for state in sample(120 if IS_COMPILED else 30, seed=seed):
        if state.phase >= Phase.DEAL_OVER:
            continue
        env = EuchreEnv(rules=rules_of(state), opponent=None)
        env.reset(seed=seed, options={"position": format_position(state)})
        expected = blank(np.array([state], dtype=state.dtype), int(state.to_act))
        assert not differing(np.array([env.view]), expected, but=NOT_SET)


def test_a_masked_sample_is_always_legal() -> None:
    env = gymnasium.make("euchre_env/Euchre-v0", rules=Rules.railroad_pack())
    env.action_space.seed(0)
    _, info = env.reset(seed=0)
    for _ in range(200):
        _, _, ended, _, info = env.step(env.action_space.sample(mask=info["action_mask"]))
        if ended:
            _, info = env.reset()
    envs = EuchreVectorEnv(5, autoreset_mode="SameStep")
    envs.action_space.seed(0)
    _, infos = envs.reset(seed=0)
    for _ in range(100):
        *_, infos = envs.step(envs.action_space.sample(mask=tuple(infos["action_mask"])))


@pytest.mark.parametrize(("seed", "seeds"), [(7, (7, 8, 9)), ([4, 4, 100], (4, 4, 100))])
def test_each_game_has_its_own_seed(seed: int | list[int], seeds: tuple[int, ...]) -> None:
    envs = EuchreVectorEnv(3)
    observations, _ = envs.reset(seed=seed)
    for row, own in enumerate(seeds):
        assert (EuchreEnv().reset(seed=own)[0] == observations[row]).all()


@pytest.mark.parametrize("num_envs", [1, 4])
def test_so_many_deals_truncate_a_game(num_envs: int) -> None:
    envs = EuchreVectorEnv(num_envs, max_deals=1, autoreset_mode="SameStep")
    _, infos = envs.reset(seed=0)
    num_truncated = 0
    for _ in range(80):
        acts = infos["action_mask"].argmax(axis=1)
        _, _, terminations, truncations, infos = envs.step(acts)
        num_truncated += int(truncations.sum())
        assert not terminations.any()  # to 10 points it takes more than one deal
    assert num_truncated > 4 * num_envs


def test_wrappers_of_gymnasium_leave_masks_and_options_alone() -> None:
    env = RecordEpisodeStatistics(
        TimeLimit(gymnasium.make("euchre_env/Euchre-v0", max_deals=3), max_episode_steps=7)
    )
    _, info = env.reset(seed=1, options={"deal": DEAL, "dealer": 0})
    truncated = ended = False
    steps = 0
    while not (ended or truncated):
        assert (env.get_wrapper_attr("action_masks")() == info["action_mask"]).all()
        _, _, ended, truncated, info = env.step(int(info["action_mask"].argmax()))
        steps += 1
    assert steps == 7
    assert info["episode"]["l"] == 7
