"""What the other player holds, given how he acted: Bayes' rule, checked by brute force."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from rich.console import Console

from agents import ProbabilisticAgent, make_agent
from agents.beliefs import Belief, heat_map, posterior, table
from agents.models import Model
from agents.replay import MAX_DEALT
from agents.scripted import NoviceAgent, RandomAgent
from agents.worlds import worlds
from euchre_env import engine, views
from euchre_env.actions import NUM_ACTIONS, PASS, Phase, mask_array
from euchre_env.cards import JOKER, card_number, card_set
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import parse_position
from euchre_env.state import NO_CARD, States
from tests.strategies import games, laid_out, sample, seats

NUM_POSITIONS = 60 if IS_COMPILED else 6


class Careful:
    """A model with uneven chances that depend on what it sees: the later an act, the likelier."""

    name = "careful"

    def act(self, rows: States, masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
        return self.probabilities(rows, masks).argmax(axis=1)

    def probabilities(self, rows: States, masks: np.ndarray) -> np.ndarray:
        hands = rows["hands"][np.arange(len(rows)), rows["seat"]]
        tilt = 1 + (np.arange(NUM_ACTIONS) * 7 + hands[:, None] % 11 + rows["discard"][:, None]) % 5
        chances = masks * tilt
        return chances / chances.sum(axis=1, keepdims=True)


class Plain:
    """The novice, asked through `act` alone."""

    name = "plain"

    def __init__(self) -> None:
        self.novice = NoviceAgent()

    def act(self, rows: States, masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
        return self.novice.act(rows, masks, rng)


def brute_force(view: States, model: Model, floor: float) -> dict[tuple[int, int], float]:
    """Every world, played again from its deal act by act, and the product of the chances."""
    other = 1 - int(view["seat"][0])
    complete = worlds(view)
    ends = complete.states()
    states = laid_out(ends)
    chances = np.ones(len(ends))
    for place in range(int(view["num_actions"][0])):
        acts = ends["history"][:, place].astype(np.int64)
        if states["to_act"][0] == other:
            bits = engine.action_bits(states)
            told = model.chances(views.blank(states, other), bits)[np.arange(len(ends)), acts]
            num_legal = np.array([each.bit_count() for each in bits.tolist()])
            chances *= (1 - floor) * told + floor / num_legal
        engine.apply_all(states, acts)
    pairs = zip(complete.hands.tolist(), complete.discards.tolist(), strict=True)
    return dict(zip(pairs, (chances / chances.sum()).tolist(), strict=True))


def as_dict(belief: Belief) -> dict[tuple[int, int], float]:
    pairs = zip(belief.hands.tolist(), belief.discards.tolist(), strict=True)
    return dict(zip(pairs, belief.weights.tolist(), strict=True))


def is_blind(view: np.record) -> bool:
    return bool(view.phase == Phase.NAME_BLIND and view.dealer == view.seat)


@pytest.mark.parametrize(
    "agent", [RandomAgent(), NoviceAgent(), Plain(), Careful()], ids=lambda agent: agent.name
)
def test_the_posterior_is_bayes_rule_over_all_worlds(agent: Any) -> None:
    model, checked = Model(agent), 0
    states = sample(NUM_POSITIONS * 12, 4)
    for i, state in enumerate(states):
        view = views.blank(states[i : i + 1], i % 2)
        if is_blind(view[0]) or state.num_actions < 3 or len(worlds(view)) > 3_000:
            continue
        expected = brute_force(view, model, 0.05)
        belief = as_dict(posterior(view, model, 0.05))
        assert set(belief) == set(expected)
        for world, chance in expected.items():
            assert belief[world] == pytest.approx(chance, rel=1e-9, abs=1e-12)
        checked += 1
        if checked == NUM_POSITIONS:
            break
    assert checked >= NUM_POSITIONS / 2


def test_compiled_and_batched_ways_agree() -> None:
    for i, state in enumerate(sample(NUM_POSITIONS, 5)):
        view = views.blank(np.array([state]), i % 2)
        if is_blind(view[0]):
            continue
        one, two = posterior(view, NoviceAgent()), posterior(view, Plain())
        np.testing.assert_array_equal(one.hands, two.hands)
        np.testing.assert_allclose(one.weights, two.weights, rtol=1e-9)


@given(games(), seats)
@settings(max_examples=60 if IS_COMPILED else 4, deadline=None)
def test_beliefs_are_a_distribution_over_the_worlds_that_fit(states: States, seat: int) -> None:
    view = views.blank(states, seat)
    if is_blind(view[0]):
        return
    belief = posterior(view, NoviceAgent())
    fitting = worlds(view)
    assert len(belief) == len(fitting)
    assert set(as_dict(belief)) == set(
        zip(fitting.hands.tolist(), fitting.discards.tolist(), strict=True)
    )
    assert belief.weights.sum() == pytest.approx(1.0)
    assert (belief.weights > 0).all()  # the floor: nothing that fits is ruled out
    size = views.hand_size(view[0], 1 - seat)
    assert belief.in_hand.sum() == pytest.approx(int(size))
    assert belief.laid_away.sum() == pytest.approx(float((belief.discards[:1] != NO_CARD).sum()))
    everywhere = belief.in_hand + belief.laid_away + belief.in_stock
    assert np.isclose(everywhere, 0.0).sum() + np.isclose(everywhere, 1.0).sum() == 33
    hands, chances = belief.by_hand()
    assert len(set(hands.tolist())) == len(hands)
    assert chances.sum() == pytest.approx(1.0)
    assert 1.0 - 1e-9 <= belief.effective_worlds <= len(belief) * (1 + 1e-9)


def test_before_he_has_acted_every_hand_is_as_likely() -> None:
    belief = posterior(parse_position("9CTCQCKC9S/??????????/TH d1 0-0 - seat=0"), NoviceAgent())
    np.testing.assert_allclose(belief.weights, 1 / 8568)
    np.testing.assert_allclose(belief.in_hand[belief.in_hand > 0], 5 / 18)


def test_a_uniform_model_teaches_nothing_but_the_rules() -> None:
    text = "9CTCQCKC9S/AH????????/TH d1 0-0 pass,accept,discard:??,9S,AH,TH,9C seat=0"
    belief = posterior(parse_position(text), RandomAgent())
    spades = int(card_set("TS JS QS KS AS"))
    assert not (belief.hands & spades).any()  # he did not follow: no spades, R15
    laid_away = np.flatnonzero(belief.laid_away).tolist()
    assert card_number("TS") in laid_away  # but he may have laid one away
    assert card_number("AH") not in laid_away


def test_the_floor_keeps_what_the_model_would_never_do() -> None:
    """Novice dealers accept with three trumps: holding two besides the upcard, he does not pass."""
    view = parse_position("9CTCQCKC9S/??????????/JH d1 0-0 pass,pass seat=0")
    trumps = int(card_set("9H TH QH KH AH JD"))
    sure, unsure = posterior(view, NoviceAgent(), floor=0.0), posterior(view, NoviceAgent())
    num_trumps = np.array([(int(hand) & trumps).bit_count() for hand in sure.hands])
    assert sure.weights[num_trumps >= 2].sum() == 0
    assert 0 < unsure.weights[num_trumps >= 2].sum() < 0.05
    np.testing.assert_allclose(sure.weights[num_trumps < 2], 1 / (num_trumps < 2).sum())


@pytest.mark.parametrize("floor", [0.0, 0.01])
def test_what_contradicts_the_model_throughout_leaves_beliefs(floor: float) -> None:
    """A player who never orders up has ordered up: all that fits is as likely."""

    class Never(Plain):
        def act(self, rows: States, masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
            return np.where(masks[:, PASS], PASS, masks.argmax(axis=1))

    view = parse_position("??????????/9CTCQCKC9S/JH d1 0-0 order_up seat=1")
    belief = posterior(view, Never(), floor)
    np.testing.assert_allclose(belief.weights, 1 / 8568)


def test_blind_naming_tells_nothing() -> None:
    view = parse_position("9CTCQCKC9S/??????????/JK d1 0-0 name:H joker=True seat=0")
    belief = posterior(view, NoviceAgent())
    np.testing.assert_allclose(belief.weights, belief.weights[0])
    assert belief.in_hand[JOKER] == pytest.approx(1.0)


def test_there_is_always_room_for_the_candidates() -> None:
    view = parse_position("9CTCQCKC9S/??????????/TH d1 0-0 - seat=0 lowest_rank=7 joker=True")
    assert len(posterior(view, NoviceAgent())) == MAX_DEALT


# --- models ---------------------------------------------------------------------------------------


def questions() -> tuple[States, np.ndarray]:
    states = sample(200, 6)
    states = states[states["phase"] < Phase.DEAL_OVER]
    return views.blank(states, states["to_act"]), engine.action_bits(states)


def test_random_and_learned_agents_say_how_likely_their_acts_are() -> None:
    rows, bits = questions()
    assert isinstance(RandomAgent(), ProbabilisticAgent)
    assert not isinstance(NoviceAgent(), ProbabilisticAgent)
    chances = Model(RandomAgent()).chances(rows, bits)
    legal = np.array([mask_array(each) for each in bits.tolist()])
    np.testing.assert_allclose(chances, legal / legal.sum(axis=1, keepdims=True))


def test_a_model_does_the_same_whenever_it_sees_the_same() -> None:
    class Drawing(Plain):
        def act(self, rows: States, masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
            return RandomAgent().act(rows, masks, rng)

    rows, bits = questions()
    order = np.random.default_rng(0).permutation(len(rows))
    model = Model(Drawing(), seed=4)
    actions = model.actions(rows, bits)
    np.testing.assert_array_equal(model.actions(rows[order], bits[order]), actions[order])
    assert (Model(Drawing(), seed=5).actions(rows, bits) != actions).any()


def test_small_chances_are_dropped_and_the_rest_scaled_up() -> None:
    rows, bits = questions()
    plain, pure = Model(Careful()).chances(rows, bits), Model(Careful(), purify=0.2)
    kept = np.where(plain >= np.minimum(0.2, plain.max(axis=1, keepdims=True)), plain, 0)
    np.testing.assert_allclose(
        pure.chances(rows, bits), kept / kept.sum(axis=1, keepdims=True), rtol=1e-12
    )
    assert ((Model(Careful(), purify=1.0).chances(rows, bits) > 0).sum(axis=1) >= 1).all()


@pytest.mark.parametrize(
    ("chances", "message"),
    [
        pytest.param(lambda masks: masks * 0.3, "do not sum to 1", id="no distribution"),
        pytest.param(lambda masks: 1.0 - masks, "do not sum to 1", id="illegal acts"),
        pytest.param(lambda masks: masks[:, :5] * 1.0, "of shape", id="shape"),
        pytest.param(lambda masks: masks * np.nan, "do not sum to 1", id="no numbers"),
    ],
)
def test_bad_probabilities_are_refused(chances: Any, message: str) -> None:
    class Bad(Plain):
        def probabilities(self, rows: States, masks: np.ndarray) -> np.ndarray:
            return np.asarray(chances(masks.astype(float)))

    rows, bits = questions()
    with pytest.raises(ValueError, match=f"plain gave probabilities .*{message}"):
        Model(Bad()).chances(rows[:3], bits[:3])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(lambda masks: masks.argmin(axis=1), "not legal in .* seat=", id="illegal"),
        pytest.param(lambda masks: np.full(len(masks), 99), "did 99", id="no act"),
        pytest.param(lambda masks: masks.argmax(axis=1)[:1], "shape", id="shape"),
        pytest.param(lambda masks: masks.argmax(axis=1) * 1.0, "float64", id="dtype"),
    ],
)
def test_bad_acts_are_refused(answer: Any, message: str) -> None:
    class Bad(Plain):
        def act(self, rows: States, masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
            return np.asarray(answer(masks))

    rows, bits = questions()
    with pytest.raises(ValueError, match=message):
        Model(Bad()).actions(rows, bits)


@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_shares_are_shares(value: float) -> None:
    view = parse_position("9CTCQCKC9S/??????????/TH d1 0-0 - seat=0")
    with pytest.raises(ValueError, match="floor"):
        posterior(view, NoviceAgent(), floor=value)
    with pytest.raises(ValueError, match="purify"):
        Model(NoviceAgent(), purify=value)


# --- to look at -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("9CTCQCKC9S/??????????/JH d1 0-0 pass,accept,discard:?? seat=0", "laid away"),
        ("9CTCQCKC9S/??????????/JH d1 0-0 pass,pass seat=0", "in his hand"),
        ("9CTCQCKC9S/??????????/JH d1 0-0 pass,pass seat=0 joker=True lowest_rank=7", "joker"),
    ],
)
def test_the_table_and_the_picture_say_what_is_believed(text: str, told: str) -> None:
    view, agent = parse_position(text), make_agent("novice")
    console = Console(record=True, width=100, file=io.StringIO())
    console.print(table(view, agent))
    drawn = console.export_text()
    assert "if he plays like" in drawn
    assert told in drawn
    belief = posterior(view, agent)
    likely = int(np.argmax(np.where(np.arange(33) == JOKER, 0, belief.in_hand)))
    figure = heat_map(view, agent)
    texts = {each.get_text() for each in figure.axes[0].texts}
    assert f"{100 * belief.in_hand[likely]:.0f}" in texts
    assert f"{100 * belief.in_hand[likely]:.0f}" in drawn
    assert len(figure.axes) == 2 + ("discard" in text)
