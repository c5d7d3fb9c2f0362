"""The belief agent: what it takes the other for, what it then believes, what it plays."""

from __future__ import annotations

import numpy as np
import pytest

from agents import make_agent, streams
from agents.belief_search import BeliefAgent, BeliefSettings
from agents.beliefs import posterior
from agents.bidder import BidderAgent
from agents.evaluation import match
from agents.likely_hands import MAX_DEALT, act_chance, belief_at, likely_hands
from agents.open_hands import fold
from agents.search import SearchAgent, Settings
from euchre_env.actions import NUM_ACTIONS, Phase, action_name
from euchre_env.cards import card_number
from euchre_env.engine import action_masks, apply_all
from euchre_env.kernel import IS_COMPILED, kernel
from euchre_env.notation import parse_position
from euchre_env.state import STATE_DTYPE, States
from euchre_env.views import blank
from tests.strategies import same_rules
from tests.test_agents import masks_of

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="the open-hand table takes minutes")


@kernel
def _chances(views: States, masks: np.ndarray, address: int, chances: np.ndarray) -> None:
    memory = belief_at(address)
    for i in range(views.shape[0]):
        bits = np.int64(0)
        for action in range(NUM_ACTIONS):
            bits |= np.int64(masks[i, action]) << action
        for action in range(NUM_ACTIONS):
            if masks[i, action]:
                chances[i, action] = act_chance(views[i], bits, action, memory)


@kernel
def _likely(view: np.record, address: int, hands: np.ndarray, weights: np.ndarray) -> int:
    rows = np.empty(2, dtype=STATE_DTYPE)
    return likely_hands(view, belief_at(address), hands, weights, rows)


class TheModel:
    """The belief agent's picture of the other, as an agent that says its chances."""

    name = "the model"

    def __init__(self, agent: BeliefAgent) -> None:
        self.agent = agent

    def act(self, views: States, masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
        return self.probabilities(views, masks).argmax(axis=1)

    def probabilities(self, views: States, masks: np.ndarray) -> np.ndarray:
        chances = np.zeros(masks.shape)
        _chances(views, masks, self.agent.memory_address, chances)
        return chances


def in_play(num: int, acts_of_play: int, seed: int = 0) -> States:
    """Views of the seat to act after some cards, in deals that bidders play."""
    states = full_states(num, acts_of_play, seed)
    return blank(states, states["to_act"])


def full_states(num: int, acts_of_play: int, seed: int = 0) -> States:
    """Deals that bidders play, after some cards."""
    states = same_rules(8 * num, seed=seed)
    agent = BidderAgent()
    kept = []
    for step in range(14):
        states = states[states["phase"] < Phase.DEAL_OVER]
        played = states["played"][:, 0] | states["played"][:, 1]
        is_due = np.array([int(cards).bit_count() == acts_of_play for cards in played])
        is_due &= states["phase"] == Phase.PLAY
        kept.append(states[is_due])
        states = states[~is_due]
        if not len(states):
            break
        masks = masks_of(states)
        views = blank(states, states["to_act"])
        apply_all(states, agent.act(views, masks, streams(step, len(states))))
    states = np.concatenate(kept)[:num]
    assert len(states) == num
    return states


@pytest.mark.parametrize(
    ("acts_of_play", "model_worlds"),
    [(0, 20), (1, 20), (3, 20), (6, 20), (0, 24), (0, 30)],  # from 24 on, other arrays are made
)
def test_its_beliefs_are_bayes_rule_with_its_model_of_the_other(
    acts_of_play: int, model_worlds: int
) -> None:
    agent = BeliefAgent(BeliefSettings(model_worlds=model_worlds, prune=0.0))
    hands, weights = np.empty(6 * MAX_DEALT, dtype=np.int64), np.empty(6 * MAX_DEALT)
    for view in in_play(3, acts_of_play):
        num = _likely(view, agent.memory_address, hands, weights)
        found: dict[int, float] = {}
        for hand, weight in zip(hands[:num], weights[:num] / weights[:num].sum(), strict=True):
            found[int(hand)] = found.get(int(hand), 0.0) + float(weight)
        exact, chances = posterior(view, TheModel(agent), floor=0.0).by_hand()
        wanted = {
            int(fold(int(hand), int(view["trump"]))): float(chance)
            for hand, chance in zip(exact, chances, strict=True)
            if chance > 0
        }
        assert found.keys() == wanted.keys()
        assert found == pytest.approx(wanted, abs=1e-9)


def test_worlds_left_out_are_unlikely_ones() -> None:
    hands, weights = np.empty(6 * MAX_DEALT, dtype=np.int64), np.empty(6 * MAX_DEALT)
    whole, pruned = BeliefAgent(BeliefSettings(prune=0.0)), BeliefAgent()
    for view in in_play(10, 2):
        num = _likely(view, whole.memory_address, hands, weights)
        total = weights[:num].sum()
        fewer = _likely(view, pruned.memory_address, hands, weights)
        assert fewer <= num
        assert 0.95 < weights[:fewer].sum() / total <= 1.0 + 1e-9


@pytest.mark.parametrize("acts_of_play", [0, 2, 4, 6])
def test_the_models_chances_of_cards_sum_to_one(acts_of_play: int) -> None:
    views = in_play(30, acts_of_play)
    masks = np.empty((len(views), NUM_ACTIONS), dtype=np.int8)
    action_masks(views, masks)
    chances = TheModel(BeliefAgent()).probabilities(views, masks)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    assert (chances[masks == 1] > 0).all()  # no card is unthinkable
    assert (chances[masks == 0] == 0).all()


def test_a_dealer_who_passed_is_not_believed_to_hold_the_bowers() -> None:
    view = parse_position("9CTHQHKH9S/??????????/AH d1 0-0 pass,pass seat=0")
    belief = posterior(view, BidderAgent())
    plain = posterior(view, make_agent("random"))
    right = card_number("JH")
    assert belief.in_hand[right] < 0.7 * plain.in_hand[right]  # with it he would have accepted


def test_with_a_model_that_may_do_anything_it_is_plain_search_over_all_worlds() -> None:
    blind = BeliefAgent(BeliefSettings(floor=1.0, card_floor=1.0, prune=0.0))
    plain = SearchAgent(Settings(worlds=0))
    for acts_of_play in (0, 1, 5):
        views = in_play(20, acts_of_play, seed=3)
        masks = np.empty((len(views), NUM_ACTIONS), dtype=np.int8)
        action_masks(views, masks)
        rng = streams(0, len(views))
        np.testing.assert_array_equal(blind.act(views, masks, rng), plain.act(views, masks, rng))


def test_it_beats_the_expert() -> None:
    result = match("belief", "expert", pairs=500)
    assert result.low > 0.0


def test_bids_are_the_bidders() -> None:
    states = same_rules(200)
    views, masks, rng = blank(states, states["to_act"]), masks_of(states), streams(1, 200)
    bids = make_agent("belief").act(views, masks, rng)
    np.testing.assert_array_equal(bids, BidderAgent().act(views, masks, rng))
    assert {action_name(int(bid)) for bid in bids} == {"pass", "order_up"}


@pytest.mark.parametrize(
    ("setting", "value"),
    [("floor", -0.1), ("card_floor", 1.5), ("prune", np.nan), ("temperature", 0.0)],
)
def test_settings_out_of_range_are_refused(setting: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{setting}="):
        BeliefSettings(**{setting: value})


def test_the_name_takes_no_argument() -> None:
    assert make_agent("belief").name == "belief"
    with pytest.raises(ValueError, match="'belief' with argument 'x'"):
        make_agent("belief:x")
