"""The engine against the referee: random deals under every set of options, act for act.

``EUCHRE_REFEREE_DEALS`` sets how many deals are compared (5,000 when unset). The long run takes
some minutes on one core::

    EUCHRE_REFEREE_DEALS=100000 python -m pytest tests/test_engine_against_referee.py
"""

from __future__ import annotations

import os
import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from euchre_env import views
from euchre_env.actions import NUM_ACTIONS, Phase
from euchre_env.dealing import is_dealt_right
from euchre_env.engine import action_masks, find_illegal
from euchre_env.kernel import IS_COMPILED
from euchre_env.rules import OPTION_VALUES, Rules
from tests import reference
from tests.engine_bridge import (
    FACTS,
    deal_states,
    engine_at,
    engine_facts,
    legal_texts,
    option_sets,
    random_deals,
    referee_facts,
    trace,
)
from tests.reference import Game

NUM_DEALS = int(os.environ.get("EUCHRE_REFEREE_DEALS", "5000" if IS_COMPILED else "300"))
BATCH = 1000


def batches(seed: int) -> list[Any]:
    """``(deals of the batch, its seed)`` until NUM_DEALS is reached, as test parameters."""
    sizes = [min(BATCH, NUM_DEALS - start) for start in range(0, NUM_DEALS, BATCH)]
    return [pytest.param(size, seed + i, id=f"batch {i}") for i, size in enumerate(sizes)]


def play_at_random(game: Game, rng: random.Random) -> tuple[Game, list[Game]]:
    """The game at its end, and as it was after 0, 1, 2 ... acts."""
    stages = [game.copy()]
    while not game.deal_over:
        game.act(rng.choice(sorted(game.legal())))
        stages.append(game.copy())
    return game, stages


def test_the_option_sets_are_those_that_the_rules_accept() -> None:
    sets = {tuple(sorted(options.items())) for options in option_sets()}
    accepted = set()
    for values in product(*OPTION_VALUES.values()):
        options = dict(zip(OPTION_VALUES, values, strict=True))
        try:
            Rules(**options)
        except ValueError:
            continue
        accepted.add(tuple(sorted({**options, "target_score": 10}.items())))
    assert accepted == sets
    assert len(sets) == 2352


@pytest.mark.parametrize(("size", "seed"), batches(10_000))
def test_every_act_of_random_deals(size: int, seed: int) -> None:
    rng = random.Random(seed)
    played = [play_at_random(game, rng) for game in random_deals(size, seed)]
    games = [game for game, _ in played]
    traced = trace(games)
    facts = engine_facts(traced)
    for i, (game, stages) in enumerate(played):
        expected = np.array([referee_facts(stage) for stage in stages])
        wrong = np.argwhere(expected != facts[i, : len(stages)])
        if len(wrong):
            k, fact = wrong[0]
            pytest.fail(
                f"{FACTS[fact]}: referee {expected[k, fact]}, engine {facts[i, k, fact]}\n"
                f"options {game.options}\ndealer {game.dealer} hands {game.dealt_hands} "
                f"upcard {game.upcard}\nafter {game.history[:k]}"
            )
        if not game.game_over:
            assert traced.next_dealer[i] == game.next_dealer, (
                game.options,
                game.history,
            )


@pytest.mark.parametrize(("size", "seed"), batches(20_000)[:2])
def test_masks_as_arrays_say_the_same(size: int, seed: int) -> None:
    rng = random.Random(seed)
    games = [play_at_random(game, rng)[0] for game in random_deals(size, seed)]
    traced = trace(games)
    there = traced.present()
    masks = np.full((int(there.sum()), NUM_ACTIONS), -1, dtype=np.int8)
    action_masks(traced.snapshots[there], masks)
    bits = traced.legal[there]
    assert np.array_equal(masks, bits[:, None] >> np.arange(NUM_ACTIONS) & 1)
    # a mask is empty at the end of a deal and nowhere else
    over = traced.snapshots[there]["phase"] >= Phase.DEAL_OVER
    assert np.array_equal(masks.sum(axis=1) == 0, over)


def test_every_option_set_is_dealt_and_every_act_is_met() -> None:
    rng = random.Random(30_000)
    num = len(option_sets()) if IS_COMPILED else 500
    games = [play_at_random(game, rng)[0] for game in random_deals(num, 30_000)]
    met = {tuple(sorted({**g.options, "target_score": 10}.items())) for g in games}
    assert len(met) == num
    words = {act.partition(":")[0] for game in games for _, act in game.history}
    assert words == {
        "pass",
        "order_up",
        "accept",
        "take",
        "leave",
        "name",
        "discard",
        "play",
    }
    lengths = {len(game.history) for game in games}
    assert max(lengths) == 14
    points = {game.points for game in games}
    assert points == {(p, 0) for p in (0, 1, 2, 4)} | {(0, p) for p in (0, 1, 2, 4)}


def test_illegal_acts_are_found() -> None:
    rng = random.Random(7)
    for game in random_deals(60, 7):
        _, stages = play_at_random(game, rng)
        stage = rng.choice(stages)
        state = engine_at(stage)
        legal = legal_texts(state)
        assert legal == stage.legal()
        row = np.array([state])
        allowed = [
            action
            for action in range(-1, NUM_ACTIONS + 1)
            if find_illegal(row, np.array([action], dtype=np.int64)) < 0
        ]
        assert len(allowed) == len(legal)


def test_a_joker_turned_up_that_is_to_be_dealt_again_is_refused_by_both() -> None:
    options = {"joker": True, "joker_turned_up": "redeal"}
    hands = (["9S", "QS", "KH", "QD", "TC"], ["AS", "KS", "QC", "KC", "9D"])
    with pytest.raises(ValueError, match="R13"):
        Game(options, 0, hands, "JK")
    state = deal_states([Game(options, 0, hands, "9H")])[0]
    for seat, hand in enumerate(hands):
        state.hands[seat] = sum(1 << reference_number(card) for card in hand)
    assert is_dealt_right(state, reference_number("9H"))
    assert not is_dealt_right(state, reference_number("JK"))


def reference_number(card: str) -> int:
    """The engine's number of a card, worked out from the words of ``cards.py``'s first lines."""
    return 32 if card == "JK" else 8 * "CDHS".index(card[1]) + "789TJQKA".index(card[0])


# --- what a seat knows (R22) --------------------------------------------------------------------


def twin(stage: Game, seat: int, rng: random.Random) -> Game | None:
    """The same position as far as a seat knows, its hidden cards dealt anew; None when they
    could not have been played like that.
    """
    other = 1 - seat
    hands = [list(hand) for hand in stage.dealt_hands]
    shown = {card for who, card in stage.plays if who == other}
    kept = [card for card in hands[other] if card in shown]
    if not stage.own_hand_visible(seat):
        hands[seat] = []
    pool = set(reference.deck(stage.options)) - {*hands[seat], *kept, stage.upcard}
    pool -= {card for _, card in stage.plays}
    hidden = sorted(pool)
    rng.shuffle(hidden)
    hands[other] = kept + [hidden.pop() for _ in range(5 - len(kept))]
    hands[seat] = hands[seat] or [hidden.pop() for _ in range(5)]
    before = (stage.scores[0] - stage.points[0], stage.scores[1] - stage.points[1])
    again = Game(stage.options, stage.dealer, hands, stage.upcard, before)
    for who, act in stage.history:
        if act.startswith("discard:") and who == other:
            act = rng.choice(sorted(again.legal()))
        if act not in again.legal():
            return None
        again.act(act)
    return again


def view_bytes(games: list[Game], seats: list[int]) -> list[bytes]:
    """The engine's views of positions, as bytes field by field (padding left out)."""
    traced = trace(games)
    rows = traced.snapshots[np.arange(len(games)), traced.lengths]
    seen = views.blank(rows, np.array(seats))
    columns = [seen[name].reshape(len(games), -1) for name in seen.dtype.names]
    return [b"".join(column[i].tobytes() for column in columns) for i in range(len(games))]


@pytest.mark.parametrize(("size", "seed"), batches(40_000))
def test_views_tell_what_a_seat_knows_and_nothing_else(size: int, seed: int) -> None:
    rng = random.Random(seed)
    games: list[Game] = []
    num_twins = 0
    for game in random_deals(size, seed):
        sibling = game.copy()
        _, stages = play_at_random(game, rng)
        stage, seat = rng.choice(stages), rng.randrange(2)
        if game.upcard == reference.JOKER and rng.random() < 0.5:
            stage, seat = stages[0], game.dealer  # he may be the one who names blind
        games.append(stage)
        # the same cards, played otherwise: as near as different knowledge can come
        games += rng.sample(play_at_random(sibling, rng)[1], 3)
        for _ in range(4):
            again = twin(stage, seat, rng)
            if again is not None:
                assert again.knows(seat) == stage.knows(seat)
                num_twins += 1
                games.append(again)
                break
    assert num_twins > size // 4
    both = [(game, seat) for game in games for seat in (0, 1)]
    seen = view_bytes([game for game, _ in both], [seat for _, seat in both])
    view_of: dict[Any, tuple[bytes, Game]] = {}
    known_from: dict[bytes, tuple[Any, Game]] = {}
    for (game, seat), view in zip(both, seen, strict=True):
        known = game.knows(seat)
        first_view, like = view_of.setdefault(known, (view, game))
        assert first_view == view, f"equal knowledge, different views: {_text(game, like, seat)}"
        first_known, like = known_from.setdefault(view, (known, game))
        assert first_known == known, f"different knowledge, equal views: {_text(game, like, seat)}"
    assert len(view_of) < len(both)


def _text(game: Game, like: Game, seat: int) -> str:
    return "\n".join(
        f"seat {seat} dealer {g.dealer} {g.dealt_hands} {g.upcard} {g.scores} {g.history} "
        f"{g.options}"
        for g in (game, like)
    )


@pytest.mark.parametrize(("size", "seed"), batches(50_000)[:2])
def test_the_true_hand_is_among_the_cards_the_other_may_hold(size: int, seed: int) -> None:
    rng = random.Random(seed)
    stages = [rng.choice(play_at_random(game, rng)[1]) for game in random_deals(size, seed)]
    traced = trace(stages)
    rows = traced.snapshots[np.arange(size), traced.lengths]
    for seat in (0, 1):
        held = views.cards_held(views.blank(rows, seat))
        for i, stage in enumerate(stages):
            for card in stage.current_hand(1 - seat):
                assert held[i] >> reference_number(card) & 1, (card, stage.history)
