"""Best play with all hands open: the table against plain search, and against the referee.

``EUCHRE_SOLVER_POSITIONS`` sets how many positions the table is held against alpha-beta on (3,000
when unset). The long run takes some minutes on one core::

    EUCHRE_SOLVER_POSITIONS=1000000 python -m pytest tests/test_solver.py
"""

from __future__ import annotations

import os
import random
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import open_hands as table_module
from agents.open_hands import (
    CARD_AT,
    NUM_PLACES,
    NUM_POSITIONS,
    PLACES,
    TRUMP_PLACES,
    fold,
    lead_tricks,
    open_hands,
    own_tricks,
    position,
)
from agents.solver import NO_VALUE, Solution, alpha_beta, solve
from euchre_env.actions import NUM_ACTIONS, Phase, action_number
from euchre_env.cards import card_list, card_set
from euchre_env.engine import apply
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import parse_position
from euchre_env.rules import EFFECTIVE_SUIT, STRENGTH, SUIT_CARDS, Rules
from euchre_env.state import STATE_DTYPE, States
from euchre_env.views import blank
from tests.engine_bridge import deal_states, engine_at, random_deals
from tests.reference import Game
from tests.strategies import EVERY_RULES, games, new_games, walk

NUM_POSITIONS_COMPARED = int(
    os.environ.get("EUCHRE_SOLVER_POSITIONS", "3000" if IS_COMPILED else "20")
)
BATCH = 50_000


def positions(num: int, seed: int) -> States:
    """Positions with an act to do, of all phases, lengths, decks and option sets."""
    rows = walk(seed).flat()
    rows = rows[rows["phase"] < Phase.DEAL_OVER]
    return rows[np.random.default_rng(seed).permutation(len(rows))[:num]]


def assert_equal(found: Solution, expected: Solution) -> None:
    for name in Solution._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


# --- the table ----------------------------------------------------------------------------------


@pytest.mark.parametrize("trump", range(4))
def test_folding_keeps_suits_and_order_and_nothing_else(trump: int) -> None:
    starts = (0, TRUMP_PLACES, TRUMP_PLACES + 8, TRUMP_PLACES + 16, NUM_PLACES)
    fields = np.searchsorted(starts, PLACES[trump], side="right") - 1
    assert len(set(PLACES[trump].tolist())) == len(PLACES[trump])
    for one in range(33):
        assert fold(1 << one, trump) == 1 << int(PLACES[trump, one])
        assert CARD_AT[trump, PLACES[trump, one]] == one
        assert (fields[one] == 0) == (EFFECTIVE_SUIT[trump, one] == trump)
        for other in range(33):
            alike = EFFECTIVE_SUIT[trump, one] == EFFECTIVE_SUIT[trump, other]
            assert alike == (fields[one] == fields[other])
            if alike:
                stronger = STRENGTH[trump, one] > STRENGTH[trump, other]
                assert stronger == (PLACES[trump, one] < PLACES[trump, other])


def test_a_folded_set_is_its_folded_cards() -> None:
    rng = np.random.default_rng(0)
    for cards in rng.integers(0, 1 << 33, size=200).tolist():
        for trump in range(4):
            each = [fold(1 << card, trump) for card in card_list(cards)]
            assert fold(cards, trump) == sum(each)


def test_the_number_of_positions() -> None:
    ordered = [comb(2 * n, n) * comb(2 * n + 3, 3) for n in range(6)]
    assert sum(ordered) == NUM_POSITIONS == 85_533


def test_every_position_has_a_number_of_its_own() -> None:
    """Three cards each, all trumps and all cuts: 1,680 numbers, each met."""
    table = open_hands().table
    pool = [1 << place for place in (*range(3), *range(10, 13), *range(18, 21), *range(26, 29))]
    rng = random.Random(3)
    met: dict[int, set[tuple[int, ...]]] = {}
    for _ in range(60_000 if IS_COMPILED else 2_000):
        drawn = rng.sample(pool, 6)
        own, other = sum(drawn[:3]), sum(drawn[3:])
        index = position(table, own, other, 3, 0)
        starts = ((0, 10), (10, 18), (18, 26), (26, 34))
        strings = []
        for start, end in starts:
            owners = [own >> p & 1 for p in range(start, end) if (own | other) >> p & 1]
            strings.append(int("1" + "".join(map(str, owners)), 2))
        met.setdefault(index, set()).add(tuple(strings))
    assert all(len(strings) == 1 for strings in met.values())
    assert len({next(iter(strings)) for strings in met.values()}) == len(met)
    assert min(met) >= 231
    assert max(met) < 231 + 1680


@given(state=games())
def test_the_place_of_the_own_hand_does_not_matter(state: States) -> None:
    row = state[0]
    hands = [int(hand) for hand in row["hands"]]
    if row["phase"] != Phase.PLAY or row["led_card"] >= 0:
        return
    table, num = open_hands().table, hands[0].bit_count()
    zero, one = (fold(hand, int(row["trump"])) for hand in hands)
    for other_leads in (0, 1):
        own = own_tricks(table, zero, one, num, other_leads)
        assert own == num - own_tricks(table, one, zero, num, 1 - other_leads)
        assert 0 <= own <= num


def test_a_lead_of_the_table_is_what_solve_says_of_the_act() -> None:
    rows = positions(20_000 if IS_COMPILED else 2_000, 4)
    rows = rows[(rows["phase"] == Phase.PLAY) & (rows["led_card"] < 0)][:300]
    solution, table = solve(rows), open_hands().table
    for row, tricks, acts in zip(rows, solution.tricks, solution.act_tricks, strict=True):
        seat, trump = int(row["to_act"]), int(row["trump"])
        own, other = (fold(int(row["hands"][s]), trump) for s in (seat, 1 - seat))
        packed = lead_tricks(table, position(table, own, other, own.bit_count(), 0))
        for k, place in enumerate([p for p in range(NUM_PLACES) if own >> p & 1]):
            value = int(row["tricks"][seat]) + (packed >> 3 * k & 7)
            assert acts[CARD_AT[trump, place]] == value
        assert tricks == max(acts)


def test_the_table_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        open_hands().table[0] = 1
    assert open_hands() is open_hands()


def test_building_it_again_gives_the_same() -> None:
    before = open_hands().table.copy()
    if not IS_COMPILED:
        pytest.skip("minutes without a compiler")
    np.testing.assert_array_equal(table_module.open_hands.__wrapped__().table, before)


# --- against plain search -----------------------------------------------------------------------


@pytest.mark.parametrize("start", range(0, NUM_POSITIONS_COMPARED, BATCH))
def test_the_table_and_plain_alpha_beta_agree(start: int) -> None:
    rows = positions(min(BATCH, NUM_POSITIONS_COMPARED - start), start // BATCH)
    assert_equal(solve(rows), alpha_beta(rows))


def test_the_positions_compared_are_of_all_kinds() -> None:
    rows = positions(3_000, 0)
    assert set(rows["phase"].tolist()) == set(range(Phase.DEAL_OVER))
    decks = {int(deck).bit_count() for deck in rows["deck"]}
    assert decks == ({24, 25, 28, 29, 32, 33} if IS_COMPILED else decks)
    played = rows[rows["phase"] == Phase.PLAY]
    for on_lead in (True, False):
        part = played[(played["led_card"] < 0) == on_lead]
        assert set(part["tricks"].sum(axis=1).tolist()) == set(range(5))


# --- against the referee ------------------------------------------------------------------------


def minimax(game: Game) -> int:
    """Seat 0's points less seat 1's, by plain recursion over the referee's own rules."""
    if game.deal_over:
        return game.points[0] - game.points[1]
    values = []
    for act in sorted(game.legal()):
        after = game.copy()
        after.act(act)
        values.append(minimax(after))
    return min(values) if game.to_act else max(values)


def test_the_referee_finds_the_same_points() -> None:
    rng = random.Random(11)
    states, expected = [], []
    for game in random_deals(150 if IS_COMPILED else 10, 5):
        while not game.deal_over and sum(game.tricks) < 2:
            game.act(rng.choice(sorted(game.legal())))
        if game.deal_over:
            continue
        if rng.random() < 0.5:
            game.act(rng.choice(sorted(game.legal())))
        if game.deal_over:
            continue
        states.append(np.asarray([engine_at(game)]))
        value = minimax(game)
        expected.append(-value if game.to_act else value)
    assert len(expected) > 3
    found = solve(np.concatenate(states))
    np.testing.assert_array_equal(found.points, expected)


# --- whole deals, by hand -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "act", "tricks", "points"),
    [
        pytest.param(
            "JHJDAHKHQH/9CTCQC9STS/9H d1 0-0 order_up,leave", "JH", 5, 2, id="five sure trumps"
        ),
        pytest.param(
            "9CTCQC9STS/JHJDAHKHQH/9H d1 0-0 pass,accept,discard:QH", "9C", 0, -2, id="no trump"
        ),
        pytest.param(
            "9CTCQC9STS/JHJDAHKHQH/9H d1 0-0 pass,accept,discard:QH super_euchre=True",
            "9C",
            0,
            -2,
            id="the other's march",
        ),
        pytest.param(
            "9CTCQC9STS/JHJDAHKHQH/9H d1 0-0 order_up,leave super_euchre=True",
            "9C",
            0,
            -4,
            id="super euchre",
        ),
        pytest.param(
            "9CTCQC9STS/JHJDAHKHQH/9H d1 0-0 order_up", "take", 5, 2, id="the dealer euchres"
        ),
    ],
)
def test_what_an_act_is_worth(text: str, act: str, tricks: int, points: int) -> None:
    solution = solve(parse_position(text))
    assert solution.act_tricks[0, action_number(act)] == tricks
    assert solution.act_points[0, action_number(act)] == points


def test_a_deal_thrown_in_is_worth_nothing() -> None:
    solution = solve(parse_position("9CTCQC9S9D/JSJCKSASTD/9H d1 0-0 pass,pass,pass"))
    assert solution.act_points[0, action_number("pass")] == 0
    assert solution.act_tricks[0, action_number("pass")] == 0
    assert solution.points[0] == 2  # name:S: he sees that he takes all


def test_the_option_that_stops_early_changes_nothing() -> None:
    texts = [
        "TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 pass,accept,discard:9C",
        "TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 pass,pass,name:C,TC,9C",
    ]
    plain, stopped = (
        solve(np.concatenate([parse_position(text + option) for text in texts]))
        for option in ("", " stop_when_decided=True")
    )
    assert_equal(plain, stopped)


def test_best_acts_keep_the_value_until_the_end() -> None:
    """Both play the best act of `solve`: what was promised at the first act is what is scored."""
    states = new_games(EVERY_RULES[:: 7 if IS_COMPILED else 400], seed=5)
    before = states["scores"].copy()
    first = solve(states)
    seats = states["to_act"].copy()
    while (live := np.flatnonzero(states["phase"] < Phase.DEAL_OVER)).size:
        rows = states[live]
        values = solve(rows)
        scale = values.act_points.astype(np.int64) * 100 + values.act_tricks
        best = np.where(values.act_points == NO_VALUE, -(10**6), scale).argmax(axis=1)
        for row, act in zip(rows, best.tolist(), strict=True):
            apply(row, act)
        states[live] = rows
    gained = states["scores"] - before
    own, other = (gained[np.arange(len(states)), s] for s in (seats, 1 - seats))
    np.testing.assert_array_equal(own - other, first.points)


# --- the doors ----------------------------------------------------------------------------------


def test_shapes_and_markers() -> None:
    rows = positions(40, 1)
    solution = solve(rows)
    assert solution.tricks.shape == solution.points.shape == (40,)
    assert solution.act_tricks.shape == solution.act_points.shape == (40, NUM_ACTIONS)
    assert all(array.dtype == np.int8 for array in solution)
    one = solve(rows[3])
    assert_equal(one, Solution(*(array[3:4] for array in solution)))
    masked = solution.act_points == NO_VALUE
    np.testing.assert_array_equal(masked, solution.act_tricks == NO_VALUE)
    np.testing.assert_array_equal(
        np.where(masked, -99, solution.act_points).max(1), solution.points
    )


def test_what_is_solved_stays_as_it_was() -> None:
    rows = positions(30, 2)
    before = rows.tobytes()
    solve(rows)
    assert rows.tobytes() == before


def test_views_are_refused() -> None:
    rows = positions(3, 3)
    rows[1:2] = blank(rows[1:2], 0)
    with pytest.raises(ValueError, match="row 1 is a view: only full states"):
        solve(rows)


@pytest.mark.parametrize("thing", [None, np.zeros(3), "9CTC", np.zeros((2, 2), STATE_DTYPE)])
def test_what_is_no_array_of_states_is_refused(thing: object) -> None:
    with pytest.raises(
        TypeError, match=r"STATE_DTYPE.* as new_states and parse_position make them"
    ):
        solve(thing)  # type: ignore[arg-type]


def test_a_deal_that_is_over_is_refused() -> None:
    states = deal_states(list(random_deals(1, 0)))
    states["phase"] = Phase.DEAL_OVER
    with pytest.raises(ValueError, match="row 0 has no act left: its deal is over"):
        solve(states)


@given(hand=st.sets(st.sampled_from(card_list(Rules().deck)), max_size=5), trump=st.integers(0, 3))
def test_trumps_come_first_in_a_folded_hand(hand: set[int], trump: int) -> None:
    cards = sum(1 << card for card in hand)
    folded = fold(cards, trump)
    trumps = folded & (1 << TRUMP_PLACES) - 1
    assert trumps.bit_count() == (cards & int(SUIT_CARDS[trump, trump])).bit_count()
    assert folded.bit_count() == len(hand)


def test_the_order_of_trumps() -> None:
    names = ["JK", "JS", "JC", "AS", "KS", "QS", "TS", "9S", "8S", "7S"]
    spades = [int(PLACES[3, card_list(card_set(name))[0]]) for name in names]
    assert spades == list(range(TRUMP_PLACES))
