"""The network, the algorithm and the pool that `train.py` learns with."""

import json

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO

from agents import make_agent, streams
from agents.learned import LearnedAgent
from agents.sb3 import EuchreVecEnv, ModelAgent
from agents.training.network import ActorCritic, observation_scale, to_policy
from agents.training.open_critic import HIDDEN_PLACES, OPEN_SIZE, OpenVecEnv
from agents.training.pool import Pool, PoolSettings
from agents.training.ppo import EuchrePPO
from agents.training.symmetry import SWAPPED_ACTIONS, SWAPPED_PLACES
from euchre_env import EuchreVectorEnv, Rules
from euchre_env.engine import legal_actions, write_mask
from euchre_env.notation import format_position, parse_position
from euchre_env.observation import (
    OBSERVATION_SIZE,
    RELATIVE_ACTIONS,
    decode,
    encode,
    frame_of,
    observe,
)
from euchre_env.views import blank

RULES = Rules()
SCALE = observation_scale(RULES, "deal")
OPTIONS = {"episode": "deal", "suits": "relative"}


def make_model(games, **options):
    """A small model, the same for the same games and options."""
    network = {
        "observation_scale": SCALE,
        "policy_layers": (16,),
        "value_layers": (24,),
        "activation_fn": torch.nn.ReLU,
        **options.pop("network", {}),
    }
    plain = {"n_steps": 8, "batch_size": 64, "n_epochs": 2, "gamma": 1.0, "seed": 3}
    return EuchrePPO(ActorCritic, games, policy_kwargs=network, **{**plain, **options})


def policy_of(model, **told):
    return to_policy(model.policy, RULES, SCALE, "relu", told)


def some_views(num=64, seed=5):
    """Views and masks of games under way, and the rows as a learner sees them."""
    games = EuchreVectorEnv(num, opponent="random", **OPTIONS)
    observations, infos = games.reset(seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        masks = infos["action_mask"]
        observations, _, _, _, infos = games.step(
            (rng.random(masks.shape) * (masks != 0)).argmax(axis=1)
        )
    return games, observations, infos["action_mask"]


# --- the critic's cards -------------------------------------------------------------------------


def test_a_critic_sees_the_other_hand_and_the_rest_stays_the_learners_own_observation():
    games = OpenVecEnv(32, opponent="novice", **OPTIONS)
    plain = EuchreVecEnv(32, opponent="novice", **OPTIONS)
    games.seed(1), plain.seed(1)
    rows, seen = games.reset(), plain.reset()
    for _ in range(12):
        assert rows.shape == (32, OPEN_SIZE)
        assert np.array_equal(rows[:, :OBSERVATION_SIZE], seen)
        states = games.env.get_state()["states"]
        seats = 1 - games.env.get_state()["tables"]["seat"].astype(np.int64)
        others = observe(states, seats, relative=True)
        assert np.array_equal(rows[:, OBSERVATION_SIZE:], others[:, HIDDEN_PLACES])
        hidden = np.zeros(OBSERVATION_SIZE, dtype=np.uint8)
        hidden[HIDDEN_PLACES] = rows[0, OBSERVATION_SIZE:]
        held = states[0]["hands"][seats[0]]
        assert len(decode(hidden)["hand"]) == int(held).bit_count()
        actions = games.action_masks().argmax(axis=1)
        rows, seen = games.step(actions)[0], plain.step(actions)[0]


def test_no_hidden_card_reaches_the_policy():
    games = OpenVecEnv(64, opponent="novice", **OPTIONS)
    model = make_model(games)
    model.learn(2 * 8 * 64)
    rows = torch.as_tensor(games.reset())
    others = rows.clone()
    others[:, OBSERVATION_SIZE:] = 1 - others[:, OBSERVATION_SIZE:]
    network = model.policy
    inputs, changed = network.inputs(rows), network.inputs(others)
    assert torch.equal(network.logits(inputs), network.logits(changed))
    assert not torch.equal(network.values(inputs), network.values(changed))


def test_an_open_critic_explains_more_of_what_a_deal_brings():
    """The reason that it is there: the same acts, with and without the cards nobody else saw."""
    explained = {}
    for kind in (EuchreVecEnv, OpenVecEnv):
        model = make_model(
            kind(256, opponent="novice", **OPTIONS),
            learning_rate=4e-3, batch_size=512, gae_lambda=1.0, network={"value_layers": (128,)},
        )  # fmt: skip
        model.learn(40 * 8 * 256)
        found = []
        for _ in range(20):  # one update's games say little
            model.learn(8 * 256, reset_num_timesteps=False)
            found.append(model.logger.name_to_value["train/explained_variance"])
        explained[kind] = np.mean(found)
    assert explained[OpenVecEnv] > explained[EuchreVecEnv] + 0.03, explained


# --- the saved policy is the trainer's ----------------------------------------------------------


@pytest.mark.parametrize("kind", [EuchreVecEnv, OpenVecEnv])
def test_the_saved_policy_does_what_the_model_does(kind):
    model = make_model(kind(64, opponent="novice", **OPTIONS), learning_rate=3e-3)
    model.learn(4 * 8 * 64)
    games, observations, _ = some_views(256)
    saved = LearnedAgent(policy_of(model))
    padded = np.pad(observations, [(0, 0), (0, OPEN_SIZE - OBSERVATION_SIZE)])
    rows = padded[:, : model.observation_space.shape[0]]
    with torch.no_grad():
        distribution = model.policy.get_distribution(torch.as_tensor(rows))
    expected = distribution.distribution.logits.numpy()
    logits = saved.logits(observations)
    logits = logits - torch.logsumexp(torch.as_tensor(logits), 1, keepdim=True).numpy()
    assert np.allclose(logits, expected, atol=1e-5)
    masks = np.ascontiguousarray(games.action_masks().astype(np.int8))
    plain = EuchreVectorEnv(256, opponent="random", episode="deal")
    plain.reset(seed=0)
    views, masks = plain.views.copy(), plain.reset(seed=0)[1]["action_mask"]
    assert np.array_equal(
        saved.act(views, masks, streams(0, 256)),
        ModelAgent(model, suits="relative").act(views, masks, streams(0, 256)),
    )


def test_bfloat16_learns_nearly_the_same():
    losses = []
    for is_bfloat16 in (False, True):
        games = OpenVecEnv(64, opponent="novice", **OPTIONS)
        model = make_model(games, network={"is_bfloat16": is_bfloat16})
        model.learn(8 * 64)
        losses.append(model.logger.name_to_value["train/value_loss"])
    assert losses[1] == pytest.approx(losses[0], rel=0.1)


# --- the two suits of the other colour ----------------------------------------------------------

_SWAP = {"C": "S", "S": "C", "H": "D", "D": "H"}


def swapped_text(text, turned):
    """A position's text with the two suits of the colour that was not turned exchanged."""
    pair = "CS" if turned in "HD" else "HD"
    return "".join(_SWAP[c] if c in pair else c for c in text)


def test_a_swap_of_the_two_suits_is_its_own_inverse():
    assert np.array_equal(SWAPPED_ACTIONS[SWAPPED_ACTIONS], np.arange(42))
    assert np.array_equal(SWAPPED_PLACES[SWAPPED_PLACES], np.arange(OPEN_SIZE))
    assert not np.array_equal(SWAPPED_PLACES, np.arange(OPEN_SIZE))


def test_the_swap_is_an_exact_symmetry_of_observation_mask_and_acts():
    """Positions of games under way, played on from with either's acts, stay each other's twin."""
    games = EuchreVectorEnv(48, opponent="random", **OPTIONS)
    games.reset(seed=2)
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(6):
        for state in games.get_state()["states"]:
            text = format_position(state)
            turned = text.split()[0].split("/")[2][-1]
            twin = parse_position(swapped_text(text, turned))
            seat = int(state["to_act"])
            seen, seen_twin = (blank(one, seat) for one in (parse_position(text), twin))
            row, row_twin = encode(seen, relative=True)[0], encode(seen_twin, relative=True)[0]
            assert np.array_equal(row[SWAPPED_PLACES[:OBSERVATION_SIZE]], row_twin)
            compared += not np.array_equal(row, row_twin)
        masks = games.action_masks()
        games.step((rng.random(masks.shape) * masks).argmax(axis=1))
    assert compared > 200


def test_masks_are_swapped_with_their_acts():
    text = "KCJHQH9STS/JDQD9HKHAH/JC d1 0-0 pass,pass"
    masks = []
    for one in (text, swapped_text(text, "C")):
        state = parse_position(one)
        mask = np.zeros(42, dtype=np.int8)
        write_mask(legal_actions(state[0]), mask)
        renamed = np.zeros_like(mask)
        renamed[RELATIVE_ACTIONS[frame_of(state[0], True)]] = mask
        masks.append(renamed)
    assert np.array_equal(masks[0][SWAPPED_ACTIONS], masks[1])


# --- the algorithm ------------------------------------------------------------------------------


def weights(model):
    return torch.nn.utils.parameters_to_vector(model.policy.parameters()).detach().clone()


def test_without_extras_the_loss_is_that_of_sb3_contrib():
    """One update from the same games: the same weights as the library's own `train`."""
    models = []
    for train in (EuchrePPO.train, MaskablePPO.train):
        model = make_model(
            EuchreVecEnv(64, opponent="novice", **OPTIONS), n_epochs=3, batch_size=512
        )
        model.ent_coef = 0.03
        model._setup_learn(1, None)
        model.collect_rollouts(
            model.env, model._init_callback(None), model.rollout_buffer, model.n_steps
        )
        train(model)  # one batch a pass: its order does not matter
        models.append(weights(model))
    assert torch.allclose(models[0], models[1], atol=1e-5)


def test_a_magnet_holds_the_policy_back():
    """The stronger it draws, the less the policy moves away from what it was."""
    moved = []
    for magnet_kl in (0.0, 10.0):
        games = EuchreVecEnv(64, opponent="novice", **OPTIONS)
        model = make_model(games, learning_rate=3e-3, magnet_kl=magnet_kl, magnet_updates=100)
        rows = model.policy.inputs(torch.as_tensor(games.reset()))
        before = torch.softmax(model.policy.logits(rows), 1).detach()
        model.learn(10 * 8 * 64)
        after = torch.softmax(model.policy.logits(rows), 1).detach()
        moved.append(float((after * (after / before).log()).sum(1).mean()))
    assert moved[1] < 0.5 * moved[0]


def test_swapped_suits_are_learnt_from_too():
    """The policy grows alike in positions that are each other's twin."""
    apart = []
    for augment_suits in (False, True):
        games = EuchreVecEnv(64, opponent="novice", **OPTIONS)
        model = make_model(games, learning_rate=3e-3, augment_suits=augment_suits)
        model.learn(30 * 8 * 64)
        rows = some_views(256)[1]
        chances = []
        for seen in (rows, rows[:, SWAPPED_PLACES[:OBSERVATION_SIZE]]):
            logits = model.policy.logits(model.policy.inputs(torch.as_tensor(seen)))
            chances.append(torch.softmax(logits, 1).detach().numpy())
        apart.append(np.abs(chances[0] - chances[1][:, SWAPPED_ACTIONS]).mean())
    assert apart[1] < apart[0]


# --- the pool -----------------------------------------------------------------------------------


@pytest.fixture
def policies():
    """Two policies of one network, and the games' options."""
    models = [
        make_model(EuchreVecEnv(8, opponent="random", **OPTIONS), seed=seed) for seed in (1, 2)
    ]
    return [policy_of(model) for model in models]


def test_a_pool_begins_with_the_learner_itself_and_its_scripts(policies):
    novice = make_agent("novice")
    pool = Pool(policies[0], [(novice, 2.0)], PoolSettings(self_share=0.5, past_share=0.3))
    assert [(agent.name, weight) for agent, weight in pool.opponents()] == [
        ("self", 0.5),
        ("novice", pytest.approx(0.2)),
    ]
    assert EuchreVecEnv(8, opponent=pool.opponents(), **OPTIONS).reset().shape[0] == 8


def test_young_snapshots_and_those_that_beat_the_learner_are_met_more(policies):
    pool = Pool(policies[0], [], PoolSettings(half_life=2.0, temperature=0.1))
    for steps in (100, 200, 300):
        pool.add(policies[0], steps)
    young = pool.past_weights()
    assert (np.diff(young) > 0).all()
    assert young[0] == pytest.approx(young[2] / 2)
    games = EuchreVecEnv(8, opponent=pool.opponents(), **OPTIONS)
    games.by_opponent["episodes"] = 1000
    games.by_opponent["reward"] = [0, -400, 0, 400]  # the learner loses to the oldest
    pool.note(games.by_opponent)
    assert pool.past_weights().argmax() == 0
    assert pool.past_weights().sum() == pytest.approx(1)
    assert pool.opponents()[0][1] == 0.5


@pytest.mark.parametrize(
    ("options", "means", "most_met"),
    [
        ({"temperature": 1e-320}, [0.3, 0.2, 0.4], 1),
        ({"temperature": 1e-320}, [-0.3, -0.4, -0.2], 1),
        ({"temperature": 1e-320}, [0.1, 0.1, 0.1], 2),
        ({"temperature": 1e-4}, [0.9, 0.8, 0.7], 2),
        ({"half_life": 1e-320}, [-0.3, 0.1, 0.3], 2),
    ],
)
def test_weights_of_a_pool_are_numbers_however_sharp_it_is(policies, options, means, most_met):
    pool = Pool(policies[0], [], PoolSettings(**options))
    for steps, mean in enumerate(means):
        pool.add(policies[0], steps)
        pool.past[-1].deals, pool.past[-1].points = 1000.0, 1200.0 * mean
    weights = pool.past_weights()
    assert np.isfinite(weights).all()
    assert weights.sum() == pytest.approx(1)
    assert weights.argmax() == most_met


def test_a_full_pool_drops_whom_it_would_meet_least(policies):
    pool = Pool(policies[0], [], PoolSettings(size=2))
    for steps in (1, 2, 3):
        pool.add(policies[0], steps)
    assert [one.steps for one in pool.past] == [2, 3]


def test_the_current_self_plays_by_new_numbers_and_stays_the_same_opponent(policies):
    pool = Pool(policies[0], [], PoolSettings(past_share=0.0))
    games = EuchreVecEnv(8, opponent=pool.opponents(), **OPTIONS)
    games.reset()
    agent = games.env.opponents[0]
    views = EuchreVectorEnv(64, opponent="random")
    masks = views.reset(seed=1)[1]["action_mask"]
    pool.refresh(policies[1])
    other = LearnedAgent(policies[1], is_sampled=True)
    assert games.env.opponents[0] is agent
    assert np.array_equal(
        agent.probabilities(views.views, masks), other.probabilities(views.views, masks)
    )


def test_a_pool_is_taken_up_where_it_was_left(policies):
    pool = Pool(policies[0], [(make_agent("novice"), 1.0)], PoolSettings())
    pool.add(policies[1], 100)
    pool.past[0].note(500, 20)
    arrays, told = pool.state()
    again = Pool(policies[0], [(make_agent("novice"), 1.0)], PoolSettings())
    again.restore(arrays, json.loads(json.dumps(told)))
    assert [one.steps for one in again.past] == [100]
    assert np.array_equal(again.past_weights(), pool.past_weights())
    assert again.past[0].mean == pool.past[0].mean
    for (weight, bias), (other_weight, other_bias) in zip(
        again.past[0].agent.policy.layers, policies[1].layers, strict=True
    ):
        assert np.array_equal(weight, other_weight)
        assert np.array_equal(bias, other_bias)


@pytest.mark.parametrize(
    "options",
    [{"self_share": 1.2}, {"self_share": 0.8, "past_share": 0.4}, {"size": 0}, {"half_life": 0}],
)
def test_settings_of_a_pool_that_mean_nothing_are_refused(options):
    with pytest.raises(ValueError, match="="):
        PoolSettings(**options)
