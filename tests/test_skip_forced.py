"""Forced acts skipped: the same deals, with every act a choice."""

import numpy as np
import pytest

from euchre_env import EuchreEnv, EuchreVectorEnv
from tests.strategies import SOME_RULES
from tests.test_env import RULES, Batched

OPPONENTS = ["expert", Batched("novice"), None]


def play(env, num_steps, rng, *, is_asked_all):
    """The acts where there was a choice, the rewards, and the deals' ends, by row.

    The act is drawn by the cards alone, so that both kinds of environment meet the same choices.
    """
    observations, infos = env.reset(seed=3)
    chosen = [[] for _ in range(env.num_envs)]
    for _ in range(num_steps):
        masks = infos["action_mask"]
        acts = np.array([rng(o, m) for o, m in zip(observations, masks, strict=True)])
        for row in np.flatnonzero(masks.sum(axis=1) > 1):
            chosen[row].append(int(acts[row]))
        if not is_asked_all:
            assert (masks.sum(axis=1) > 1).all()
        observations, _, ends, _, infos = env.step(acts)
        for row in np.flatnonzero(ends):
            chosen[row].append(("end", float(infos["final_info"]["reward"][row])))
    return chosen


def by_the_cards(observation, mask):
    """A legal act that depends on the observation alone."""
    legal = np.flatnonzero(mask)
    return legal[int(observation.astype(np.int64) @ np.arange(len(observation))) % len(legal)]


@pytest.mark.parametrize("rules", RULES, ids=repr)
@pytest.mark.parametrize("opponent", OPPONENTS, ids=str)
def test_choices_and_results_are_those_of_the_game_with_every_act(rules, opponent):
    options = {"rules": rules, "opponent": opponent, "episode": "deal"}
    options["autoreset_mode"] = "SameStep"
    every = play(EuchreVectorEnv(6, **options), 150, by_the_cards, is_asked_all=True)
    choices = play(
        EuchreVectorEnv(6, **options, skip_forced=True), 100, by_the_cards, is_asked_all=False
    )
    for all_acts, some in zip(every, choices, strict=True):
        shorter = min(len(all_acts), len(some))
        assert shorter > 60
        assert all_acts[:shorter] == some[:shorter]


def test_a_forced_act_is_not_asked_of_a_batched_opponent():
    opponent = Batched("novice")
    env = EuchreVectorEnv(4, opponent=opponent, skip_forced=True, autoreset_mode="SameStep")
    seen = []
    act = opponent.act
    opponent.act = lambda views, masks, rng: (seen.append(masks), act(views, masks, rng))[1]
    play(env, 40, by_the_cards, is_asked_all=False)
    assert (np.concatenate(seen).sum(axis=1) > 1).all()


def test_the_single_environment_skips_them_too():
    env, vector = (
        EuchreEnv(skip_forced=True),
        EuchreVectorEnv(1, skip_forced=True, autoreset_mode="Disabled"),
    )
    observation, info = env.reset(seed=5)
    observations, _ = vector.reset(seed=5)
    is_over = False
    while not is_over:
        assert (observations[0] == observation).all()
        assert info["action_mask"].sum() > 1
        act = by_the_cards(observation, info["action_mask"])
        observation, reward, is_over, _, info = env.step(act)
        observations, rewards, _, _, _ = vector.step(np.array([act]))
        assert rewards[0] == reward


@pytest.mark.parametrize("value", ["yes", 1, None])
def test_it_is_yes_or_no(value):
    with pytest.raises(ValueError, match="skip_forced"):
        EuchreVectorEnv(1, skip_forced=value)


@pytest.mark.parametrize("opponent", ["random", None], ids=str)
def test_every_step_is_a_choice_whatever_the_rules(opponent):
    """No episode begins, or goes on, without one: a reset never ends the episode it begins."""
    for seed, rules in enumerate(SOME_RULES):
        env = EuchreVectorEnv(
            4, rules=rules, opponent=opponent, skip_forced=True, autoreset_mode="SameStep"
        )
        _, infos = env.reset(seed=seed)
        for step in range(24):
            masks = infos["action_mask"]
            assert (masks.sum(axis=1) > 1).all(), rules
            acts = masks.argmax(axis=1) if step % 2 else 41 - masks[:, ::-1].argmax(axis=1)
            infos = env.step(acts)[-1]
