"""The vector environment: Gymnasium's contract, and row i equal to a single environment."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv

from euchre_env import EuchreEnv, EuchreVectorEnv, Rules
from euchre_env.actions import NUM_ACTIONS
from tests.test_env import RULES, Batched

ID = "euchre_env/Euchre-v0"
OPTIONS = [
    {},
    {"episode": "deal", "suits": "relative"},
    {"reward": "win", "max_deals": 3},
    {"opponent": None},
    {"opponent": None, "episode": "deal", "seat": 1},
    {"opponent": Batched("novice"), "seat": 0},
    {"opponent": Batched("random"), "episode": "deal"},
    {"illegal": "penalise"},
    {"illegal": "end", "episode": "deal"},
]


def make(num_envs, **options):
    return EuchreVectorEnv(num_envs, **options)


def draw(masks, rng, is_careless):
    """A legal act a row; now and then any act where that is allowed."""
    acts = [rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks]
    if is_careless and rng.random() < 0.2:
        acts[rng.integers(len(acts))] = rng.integers(NUM_ACTIONS)
    return np.array(acts)


def check_row(row, observations, infos, single):
    """A row of the vector environment shows what the single environment shows."""
    observation, info = single[0], single[-1]
    assert (observations[row] == observation).all()
    for name in ("action_mask", "to_act", "seat", "scores", "winner", "opponent"):
        assert np.array_equal(infos[name][row], info[name]), name
        assert infos[f"_{name}"][row]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("rules", RULES, ids=repr)
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_row_i_is_the_single_environment(rules, options, mode):
    num_envs, seed, rng = 4, 11, np.random.default_rng(0)
    vector = make(num_envs, rules=rules, autoreset_mode=mode, **options)
    singles = [EuchreEnv(rules=rules, **options) for _ in range(num_envs)]
    observations, infos = vector.reset(seed=seed)
    shown = [env.reset(seed=seed + i) for i, env in enumerate(singles)]
    pending = np.zeros(num_envs, dtype=bool)
    for _ in range(120):
        for row in range(num_envs):
            check_row(row, observations, infos, shown[row])
        acts = draw(infos["action_mask"], rng, "illegal" in options)
        observations, rewards, terminations, truncations, infos = vector.step(acts)
        for row, env in enumerate(singles):
            if pending[row]:
                shown[row] = env.reset()
                pending[row] = False
                assert (rewards[row], terminations[row], truncations[row]) == (0, False, False)
                continue
            shown[row] = env.step(acts[row])
            assert (rewards[row], terminations[row], truncations[row]) == shown[row][1:4]
            if not (terminations[row] or truncations[row]):
                continue
            final = shown[row][-1]
            if mode == "NextStep":
                pending[row] = True
                assert infos["_reward"][row]
                assert infos["reward"][row] == final["reward"]
            else:
                assert infos["_final_obs"][row]
                assert (infos["final_obs"][row] == shown[row][0]).all()
                for name, value in final.items():
                    assert np.array_equal(infos["final_info"][name][row], value), name
                shown[row] = env.reset()


def test_gymnasium_makes_the_native_one():
    env = gymnasium.make_vec(ID, num_envs=3, episode="deal")
    assert isinstance(env.unwrapped, EuchreVectorEnv)
    assert isinstance(env, VectorEnv)
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    same = gymnasium.make_vec(ID, num_envs=3, autoreset_mode=AutoresetMode.SAME_STEP)
    assert same.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    assert EuchreEnv.metadata.get("autoreset_mode") is None


def test_it_agrees_with_gymnasiums_own_vector_environment():
    """The same games through SyncVectorEnv over the single environment."""
    ours = make(3, episode="deal")
    theirs = gymnasium.make_vec(ID, num_envs=3, vectorization_mode="sync", episode="deal")
    observations, infos = ours.reset(seed=1)
    expected, infos_expected = theirs.reset(seed=1)
    rng = np.random.default_rng(0)
    assert theirs.observation_space == ours.observation_space
    assert theirs.action_space == ours.action_space
    for _ in range(150):
        assert (observations == expected).all()
        masks = np.stack(infos_expected["action_mask"])
        assert (infos["action_mask"] == masks).all()
        acts = draw(masks, rng, False)
        observations, *outcome, infos = ours.step(acts)
        expected, *outcome_expected, infos_expected = theirs.step(acts)
        for one, other in zip(outcome, outcome_expected, strict=True):
            assert (one == other).all()
            assert one.dtype == other.dtype


def test_what_a_row_plays_depends_on_its_seed_alone():
    def deals(num_envs, row, seeds):
        env = make(num_envs, opponent="random")
        _, infos = env.reset(seed=seeds)
        seen = []
        for _ in range(60):
            acts = infos["action_mask"].argmax(axis=1)
            observations, *_, infos = env.step(acts)
            seen.append(observations[row].tobytes())
        return seen

    assert deals(1, 0, [5]) == deals(4, 3, [1, 2, 3, 5]) == deals(7, 0, 5)


def test_an_illegal_act_in_one_row_changes_no_row():
    env = make(5)
    _, infos = env.reset(seed=0)
    before = env._tables.states.copy(), env._tables.observations.copy()
    acts = infos["action_mask"].argmax(axis=1)
    acts[3] = int(np.flatnonzero(infos["action_mask"][3] == 0)[0])
    with pytest.raises(InvalidAction, match="row 3: "):
        env.step(acts)
    assert (env._tables.states == before[0]).all()
    assert (env._tables.observations == before[1]).all()


@pytest.mark.parametrize(
    "acts", [np.zeros(4, int), np.zeros((3, 1), int), np.zeros(3), "PPP", None], ids=str
)
def test_actions_of_another_shape_are_refused(acts):
    env = make(3)
    env.reset(seed=0)
    with pytest.raises(ValueError, match="whole numbers of shape"):
        env.step(acts)


def test_reset_is_needed_first():
    env = make(2)
    for call in (lambda: env.step(np.zeros(2, int)), env.action_masks, env.render):
        with pytest.raises(ResetNeeded):
            call()


def test_with_autoreset_off_a_mask_resets():
    env = make(4, autoreset_mode="Disabled", episode="deal")
    _, infos = env.reset(seed=0)
    over = np.zeros(4, dtype=bool)
    while not over.any():
        _, _, over, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    with pytest.raises(ResetNeeded, match="row"):
        env.step(infos["action_mask"].argmax(axis=1))
    untouched = env._tables.states[~over].copy()
    observations, infos = env.reset(options={"reset_mask": over})
    assert (env._tables.states[~over] == untouched).all()
    assert infos["action_mask"].any(axis=1).all()
    assert len(observations) == 4
    env.step(infos["action_mask"].argmax(axis=1))
    for mask in ([True] * 4, np.zeros(4, bool), np.ones(3, bool)):
        with pytest.raises(ValueError, match="reset_mask"):
            env.reset(options={"reset_mask": mask})


def test_arrays_are_fresh_unless_asked_otherwise():
    env = make(3)
    first, infos = env.reset(seed=0)
    kept = first.copy(), infos["action_mask"].copy()
    second, *_ = env.step(infos["action_mask"].argmax(axis=1))
    assert (first == kept[0]).all()
    assert (infos["action_mask"] == kept[1]).all()
    assert not np.shares_memory(first, second)
    reused = make(3, copy=False)
    first, infos = reused.reset(seed=0)
    second, *_ = reused.step(infos["action_mask"].argmax(axis=1))
    assert np.shares_memory(first, second)


def test_options_for_all_games_or_one_a_game():
    env = make(3, opponent=None)
    _, infos = env.reset(seed=0, options={"dealer": 1})
    assert infos["to_act"].tolist() == [0, 0, 0]
    _, infos = env.reset(seed=0, options={"dealer": [0, 1, 0], "scores": [(1, 2), (3, 4), (5, 6)]})
    assert infos["to_act"].tolist() == [1, 0, 1]
    assert infos["scores"].tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize("seed", [[1, 2], -1, [1, -2, 3]])
def test_seeds_that_are_none_are_refused(seed):
    with pytest.raises((ValueError, gymnasium.error.Error), match=r"[Ss]eed"):
        make(3).reset(seed=seed)


@pytest.mark.parametrize("num", [0, -1, 2.0, True])
def test_there_is_at_least_one_game(num):
    with pytest.raises(ValueError, match=f"num_envs={num}: it is a whole number of games"):
        gymnasium.make_vec("euchre_env/Euchre-v0", num_envs=num)


def test_rendering_every_game():
    env = make(2, render_mode="ansi")
    env.reset(seed=0)
    texts = env.render()
    assert len(texts) == 2
    assert all("upcard" in text for text in texts)


def test_many_deals_keep_their_hidden_cards_and_their_count():
    """A long run: no empty mask, no card lost, scores only grow within a game."""
    env = make(256, autoreset_mode="SameStep", rules=Rules.british())
    _, infos = env.reset(seed=0)
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(300):
        masks = infos["action_mask"]
        assert masks.any(axis=1).all()
        acts = (rng.random(masks.shape) * masks).argmax(axis=1)
        _, _, terminations, truncations, infos = env.step(acts)
        ended += terminations.sum()
        assert not truncations.any()
    assert ended > 500
