"""The best response, held against an exhaustive one over the referee, and against play."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents import make_agent
from agents.best_response import BestResponseAgent, Response, respond
from agents.models import Model
from agents.scripted import NoviceAgent
from agents.tree_nodes import STAGES, Leaks
from euchre_env import engine
from euchre_env.actions import NUM_ACTIONS, Phase, action_number, mask_array
from euchre_env.cards import card_list
from euchre_env.kernel import IS_COMPILED
from euchre_env.state import NOBODY, States
from euchre_env.views import blank
from tests import reference
from tests.engine_bridge import act_text, cards_mask, deal_states
from tests.reference import Game
from tests.strategies import hands_of, same_rules

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="trees take minutes without a compiler")

REFEREE_STAGE = {"round_one": 0, "round_two": 1, "ordered_up": 2, "discard": 2}
"""The referee's phase -> the place in `STAGES`; tricks follow."""


class Fickle:
    """Has two favourites before play and late in it, one between; they hang on all that it sees."""

    name = "fickle"

    def act(self, rows: States, masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
        return self.probabilities(rows, masks).argmax(axis=1)

    def probabilities(self, rows: States, masks: np.ndarray) -> np.ndarray:
        hands = rows["hands"][np.arange(len(rows)), rows["seat"]]
        salt = hands + rows["discard"].astype(np.int64) + rows["num_actions"].astype(np.int64) * 5
        order = np.where(masks > 0, (np.arange(NUM_ACTIONS) * 7 + salt[:, None]) % 43, -1)
        ranked = np.argsort(-order, axis=1)
        chances = np.zeros(masks.shape)
        lines = np.arange(len(rows))
        is_mixed = (rows["phase"] != Phase.PLAY) | (rows["tricks"].sum(axis=1) >= 3)
        second = np.where((masks.sum(axis=1) > 1) & is_mixed, 0.25, 0.0)
        chances[lines, ranked[:, 0]] += 1 - second
        chances[lines, ranked[:, 1]] += second
        return chances


# --- exhaustive, over the referee ----------------------------------------------------------------


class Exhaustive:
    """Every line of a deal with a small deck, in plain Python: what is best, what is lost."""

    def __init__(self, model: Model, own: int, deck: int) -> None:
        self.model, self.own, self.deck = model, own, deck
        self.asked: dict[bytes, npt.NDArray[np.float64]] = {}

    def chances(self, game: Game, row: Any) -> dict[str, float]:
        """What the model does in its place."""
        view = blank(row, int(row[0].to_act))
        key = view.tobytes()
        if key not in self.asked:
            self.asked[key] = self.model.chances(view, engine.action_bits(row.copy()))[0]
        told = self.asked[key]
        acts = {act_text(act, row[0].phase): told[act] for act in range(NUM_ACTIONS) if told[act]}
        assert set(acts) <= game.legal()
        return acts

    def value(self, worlds: list[tuple[Game, Any, float]]) -> tuple[float, npt.NDArray[np.float64]]:
        """The best that is won from worlds that look alike to the own player; what is lost."""
        game = worlds[0][0]
        if game.deal_over:
            points = sum(w * (g.points[self.own] - g.points[1 - self.own]) for g, _, w in worlds)
            return points, np.zeros(len(STAGES))
        return self._own(worlds) if game.to_act == self.own else self._his(worlds)

    def _own(self, worlds: list[tuple[Game, Any, float]]) -> tuple[float, npt.NDArray[np.float64]]:
        game, row, _ = worlds[0]
        after = {
            act: self.value([(*done(game, row, act), w) for game, row, w in worlds])
            for act in game.legal()
        }
        best = max(value for value, _ in after.values())
        stage = REFEREE_STAGE.get(game.phase, 3 + sum(game.tricks))
        losses = np.zeros(len(STAGES))
        losses[stage] = best
        for act, chance in self.chances(game, row).items():
            losses += chance * after[act][1]
            losses[stage] -= chance * after[act][0]
        return best, losses

    def _his(self, worlds: list[tuple[Game, Any, float]]) -> tuple[float, npt.NDArray[np.float64]]:
        ways: dict[str, list[tuple[Game, Any, float]]] = {}
        for game, row, weight in worlds:
            for act, chance in self.chances(game, row).items():
                seen = "discard" if act.startswith("discard") else act
                ways.setdefault(seen, []).append((*done(game, row, act), weight * chance))
        best, losses = 0.0, np.zeros(len(STAGES))
        for ends in ways.values():
            value, lost = self.value(ends)
            best, losses = best + value, losses + lost
        return best, losses


def done(game: Game, row: Any, act: str) -> tuple[Game, Any]:
    """An act done by the referee and by the engine, on copies."""
    game, row = game.copy(), row.copy()
    game.act(act)
    engine.apply_all(row, np.array([action_number(act)]))
    return game, row


def small_deal(seed: int, size: int, options: dict[str, Any]) -> tuple[list[str], Game]:
    """A deal out of a few cards, high and low ones of at least three suits."""
    rng = random.Random(seed)
    cards = rng.sample(reference.deck(options), size)
    if options.get("joker") and reference.JOKER not in cards:
        cards[0] = reference.JOKER
    return cards, Game(options, seed % 2, (cards[:5], cards[5:10]), cards[10])


def compare(model: Model, own: int, cards: list[str], game: Game) -> Response:
    """Both ways of working out the best response to a model; returns what the fast one found."""
    deck = cards_mask(cards)

    def world(hand: tuple[str, ...], weight: float) -> tuple[Game, Any, float]:
        hands = [list(game.dealt_hands[own]), list(hand)]
        again = Game(game.options, game.dealer, hands if own == 0 else hands[::-1], game.upcard)
        row = deal_states([again])
        row["deck"] = deck
        return again, row, weight

    unseen = sorted(set(cards) - {*game.dealt_hands[own], game.upcard})
    hands = list(combinations(unseen, 5))
    worlds = [world(hand, 1 / len(hands)) for hand in hands]
    best, losses = Exhaustive(model, own, deck).value(worlds)
    found = respond(blank(worlds[0][1], own), model)
    assert found.best == pytest.approx(best, abs=1e-12)
    assert found.losses == pytest.approx(losses, abs=1e-12)
    assert found.own == pytest.approx(best - losses.sum(), abs=1e-12)
    return found


@pytest.mark.parametrize(("own", "seed"), [(0, 11), (1, 12)])
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("novice", {}),
        ("expert", {"discard_upcard": True, "order_up_pickup": "must", "super_euchre": True}),
        ("search:worlds=4", {"joker": True, "joker_turned_up": "fixed_suit"}),
        ("fickle", {"stop_when_decided": True}),
        ("fickle", {"lowest_rank": "7", "joker": True, "discard_upcard": True}),
    ],
)
def test_every_line_of_a_small_deck_in_plain_python_gives_the_same(
    name: str, options: dict[str, Any], own: int, seed: int
) -> None:
    agent = Fickle() if name == "fickle" else make_agent(name)
    model = Model(agent, seed=3)
    compare(model, own, *small_deal(seed, 12, options))


# --- against play --------------------------------------------------------------------------------


def play_out(view: States, model: Model) -> float:
    """What the model makes against itself with one hand, in all deals that fit, by the engine."""
    own = int(view[0].seat)
    unseen = card_list(int(view[0].deck) & ~int(view[0].hands[own]) & ~(1 << int(view[0].upcard)))
    hands = hands_of(sum(1 << card for card in unseen), 5)
    states = np.repeat(view, len(hands))
    states["hands"][:, 1 - own] = hands
    states["seat"] = NOBODY
    live = np.arange(len(states))
    while len(live):
        rows = states[live]
        bits = engine.action_bits(rows.copy())
        engine.apply_all(rows, model.actions(blank(rows, rows["to_act"]), bits))
        states[live] = rows
        live = live[rows["phase"] < Phase.DEAL_OVER]
    points = states["points"].astype(float)
    return float((points[:, own] - points[:, 1 - own]).mean())


@pytest.mark.parametrize("name", ["novice", "expert"])
@pytest.mark.parametrize("seat", [0, 1])
def test_the_agents_own_value_is_what_it_makes_over_all_deals_played_out(
    name: str, seat: int
) -> None:
    model = Model(make_agent(name))
    view = blank(same_rules(1, seed=8), seat)
    found = respond(view, model)
    assert found.own == pytest.approx(play_out(view, model), abs=1e-9)
    assert (found.losses >= -1e-12).all()


def test_the_leaks_add_up_to_what_is_lost() -> None:
    leaks = Leaks(keep=10**6)
    found = respond(blank(same_rules(1, seed=8), 0), Model(NoviceAgent()), leaks)
    assert sum(loss for loss, *_ in leaks.found) == pytest.approx(found.losses.sum(), abs=1e-6)
    for _, action, better, view in leaks.found[:50]:
        assert action != better
        assert int(engine.action_bits(view.copy())[0]) >> better & 1


def test_the_agent_wins_what_was_computed() -> None:
    """One own hand: the agent plays every deal that fits, and makes the best response's value."""
    view = blank(same_rules(1, seed=8), 1)
    model, responder = Model(NoviceAgent()), BestResponseAgent(NoviceAgent())
    own = int(view[0].seat)

    class Both(Model):
        def actions(self, views: States, bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
            given = model.actions(views, bits)
            mine = np.flatnonzero(views["seat"] == own)
            masks = np.empty((len(mine), NUM_ACTIONS), dtype=np.int8)
            for mask, allowed in zip(masks, bits[mine], strict=True):
                mask[:] = mask_array(int(allowed))
            given[mine] = responder.act(views[mine], masks, np.zeros(len(mine), dtype=np.uint64))
            return given

    assert play_out(view, Both(NoviceAgent())) == pytest.approx(respond(view, model).best, abs=1e-9)
