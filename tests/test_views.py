"""What a seat knows: nothing hidden goes up, nothing public is lost, filling is uniform. R22."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from euchre_env import views
from euchre_env.actions import HIDDEN_DISCARD, Phase
from euchre_env.cards import HAND_SIZE, JOKER, NUM_SUITS, card_list, card_set
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import format_position, parse_position
from euchre_env.observation import encode
from euchre_env.rendering import table_text
from euchre_env.rules import SUIT_CARDS
from euchre_env.state import NO_CARD, NOBODY, States, UpcardPlace
from tests.strategies import (
    differing,
    games,
    hands_of,
    replayed,
    sample,
    seats,
    walk,
    z_of_chi_square,
)

NUM_FILLS = 20_000 if IS_COMPILED else 600
Deal = tuple[int, int]
"""The other player's hand and the discard."""


def fits(view: np.record) -> list[Deal]:
    """Every hand and discard of the other player that a view leaves open, by brute force.

    Written from R9, R13, R15 and R22 alone, with nothing of ``views`` but the fields of a view.
    """
    seat, other = int(view.seat), 1 - int(view.seat)
    seen = int(view.hands[seat]) | int(view.played[0]) | int(view.played[1]) | 1 << int(view.upcard)
    if view.discard != NO_CARD:
        seen |= 1 << int(view.discard)
    pool = int(view.deck) & ~seen
    upcard = 1 << int(view.upcard)
    is_dealer = view.dealer == other
    took = is_dealer and view.upcard_place == UpcardPlace.TAKEN
    is_owing = took and view.phase == Phase.DISCARD
    size = HAND_SIZE + is_owing - int(view.played[other]).bit_count()
    was_played = bool(int(view.played[other]) & upcard)
    barred = 0
    for suit in range(NUM_SUITS):
        if view.voids[other] >> suit & 1:
            barred |= int(SUIT_CARDS[view.trump, suit])
    found: list[Deal] = []
    for hand in hands_of((pool | (upcard if took and not was_played else 0)) & ~barred, size):
        has_laid_away = took and not is_owing
        if not has_laid_away:
            if not took or hand & upcard:
                found.append((hand, NO_CARD))
            continue
        if was_played or hand & upcard:
            found += [(hand, card) for card in card_list(pool & ~hand)]
        elif view.discard_upcard:
            found.append((hand, int(view.upcard)))
    return found


def filled(view: States, num: int, seed: int) -> States:
    return views.fill(np.repeat(view, num), seed)


def deals_of(states: States, seat: int) -> list[Deal]:
    """Hand of the other player and his discard, where a seat did not see it."""
    is_his = states["dealer"] != seat
    discards = np.where(is_his, states["discard"], NO_CARD)
    return list(zip(states["hands"][:, 1 - seat].tolist(), discards.tolist(), strict=True))


# --- nothing hidden goes up ---------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
def test_what_a_seat_cannot_know_changes_nothing_that_it_sees(seat: int) -> None:
    """Other hidden cards: the same view, bit for bit, the same observation, the same picture."""
    states = walk().flat()
    seen = views.blank(states, seat)
    others = views.fill(seen, 11)
    again = views.blank(others, seat)
    assert again.tobytes() == seen.tobytes()
    for relative in (False, True):
        assert (encode(again, relative) == encode(seen, relative)).all()
    assert (others["hands"] != states["hands"]).any(axis=1).mean() > 0.8
    for place in range(0, len(seen), len(seen) // 200):
        assert table_text(seen[place]) == table_text(again[place])


@pytest.mark.parametrize("seat", [0, 1])
def test_a_view_carries_no_stream_and_says_whose_it_is(seat: int) -> None:
    seen = views.blank(walk().flat(), seat)
    assert (seen["stream"] == 0).all()
    assert (seen["num_draws"] == 0).all()
    assert (seen["seat"] == seat).all()


@pytest.mark.parametrize("seat", [0, 1])
def test_a_view_shows_of_the_other_hand_only_a_taken_upcard(seat: int) -> None:
    states = walk().flat()
    seen = views.blank(states, seat)
    other = 1 - seat
    shown = seen["hands"][:, other]
    upcard = np.int64(1) << states["upcard"].astype(np.int64)
    assert ((shown == 0) | (shown == upcard)).all()
    assert (shown & ~states["hands"][:, other] == 0).all()
    took = (states["dealer"] == other) & (states["upcard_place"] == UpcardPlace.TAKEN)
    is_sure = took & ((states["phase"] == Phase.DISCARD) | (states["discard_upcard"] == 0))
    assert (shown[is_sure] == (upcard & states["hands"][:, other])[is_sure]).all()
    assert (shown[~is_sure] == 0).all()
    assert (is_sure & (shown != 0)).sum() > len(states) // 100


@pytest.mark.parametrize("seat", [0, 1])
def test_own_cards_and_all_that_is_public_stay(seat: int) -> None:
    states = walk().flat()
    seen = views.blank(states, seat)
    is_blind = (states["phase"] == Phase.NAME_BLIND) & (states["dealer"] == seat)
    assert is_blind.sum() > 5 or not IS_COMPILED
    assert (seen["hands"][is_blind, seat] == 0).all(), "R13: he has not looked yet"
    assert (seen["hands"][~is_blind, seat] == states["hands"][~is_blind, seat]).all()
    changed = {"hands", "stream", "num_draws", "seat", "discard", "history"}
    for name in set(states.dtype.names or ()) - changed:
        assert (seen[name] == states[name]).all(), name
    is_dealer = states["dealer"] == seat
    assert (seen["history"][is_dealer] == states["history"][is_dealer]).all()
    assert (seen["discard"][is_dealer] == states["discard"][is_dealer]).all()
    hidden = ~is_dealer & (states["discard"] != NO_CARD)
    assert (seen["discard"][~is_dealer] == NO_CARD).all()
    differs = seen["history"] != states["history"]
    assert (differs.sum(axis=1) == hidden).all()
    assert (seen["history"][differs] == HIDDEN_DISCARD).all()
    rows, places = np.nonzero(differs)
    assert (states["history"][rows, places] == states["discard"][rows]).all()


def test_public_histories_that_differ_look_different() -> None:
    """Views and observations are equal exactly where the seat's knowledge is."""
    deal = "TCJDJHAH9S/9CKCQHKHAS/9H"
    told_apart = [
        ("order_up,take,discard:9C", "order_up,leave"),
        ("order_up,take,discard:9C", "pass,accept,discard:9C"),
        ("pass", "order_up"),
        ("pass,pass", "pass"),
        ("pass,pass,name:C", "pass,pass,pass,name:C"),
        ("pass,pass,name:C", "pass,pass,name:S"),
        ("order_up,leave,JH,QH,AH,KH", "order_up,leave,AH,QH,JH,KH"),
        ("order_up,leave,JH,QH,AH,KH", "order_up,leave,JH,KH,AH,QH"),
        ("order_up,leave,9S,AS,KC,TC", "order_up,leave,TC,KC,AS,9S"),
        ("order_up,leave", "pass,pass,name:D"),
    ]
    for one, two in told_apart:
        for seat in (0, 1):
            first, second = (
                views.blank(parse_position(f"{deal} d1 0-0 {acts}"), seat) for acts in (one, two)
            )
            assert first.tobytes() != second.tobytes(), (one, two, seat)
            assert (encode(first) != encode(second)).any(), (one, two, seat)
            assert (encode(first, relative=True) != encode(second, relative=True)).any()


def test_the_dealer_knows_his_discard_and_nobody_else() -> None:
    deal = "TCJDJHAH9S/9CKCQHKHAS/9H"
    rows = [parse_position(f"{deal} d1 0-0 order_up,take,discard:{card}") for card in ("9C", "AS")]
    dealer, nondealer = ([views.blank(row, seat).tobytes() for row in rows] for seat in (1, 0))
    assert dealer[0] != dealer[1]
    assert nondealer[0] == nondealer[1]


@pytest.mark.parametrize("seat", [0, 1])
def test_equal_views_are_equal_observations_and_unequal_ones_are_not(seat: int) -> None:
    """Over all positions of the walk, but for what no decision needs: the deal's number and
    scores above 255."""
    seen = views.blank(walk().flat(), seat).copy()
    seen["deal_number"] = 0
    by_observation: dict[bytes, bytes] = {}
    for view, numbers in zip(seen, encode(seen), strict=True):
        plain = view.tobytes()
        assert by_observation.setdefault(numbers.tobytes(), plain) == plain, format_position(view)
    assert len(by_observation) > 10_000 or not IS_COMPILED


# --- filling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
def test_a_filled_deal_keeps_every_card_in_one_place_and_fits_the_history(seat: int) -> None:
    """Played again from its deal, act for act, it is the same state: so every act was legal."""
    states = walk().flat()
    full = views.fill(views.blank(states, seat), 3)
    assert (full["seat"] == NOBODY).all()
    assert len(set(full["stream"].tolist())) == len(full)
    assert differing(replayed(full), full) == []


@pytest.mark.parametrize("seat", [0, 1])
def test_a_filled_hand_never_holds_a_suit_that_was_failed(seat: int) -> None:
    states = walk().flat()
    full = views.fill(views.blank(states, seat), 4)
    other = 1 - seat
    for suit in range(NUM_SUITS):
        failed = full[(full["voids"][:, other] >> suit & 1 == 1) & (full["phase"] == Phase.PLAY)]
        assert len(failed) > 200 or not IS_COMPILED
        of_suit = SUIT_CARDS[failed["trump"].astype(np.int64), suit]
        assert (failed["hands"][:, other] & of_suit == 0).all()


def test_the_true_deal_is_among_those_that_fit() -> None:
    for seat in (0, 1):
        for state in late_positions(40, seed=5 + seat):
            (view,) = views.blank(state, seat)
            truth = int(state.hands[1 - seat]), int(state.discard if state.dealer != seat else -1)
            assert truth in fits(view), format_position(state)


def late_positions(num: int, seed: int, most: int = 3) -> States:
    """Positions with at most some cards a hand, so that all fits can be listed."""
    states = walk().flat()
    size = np.bitwise_count(states["hands"]).max(axis=1)
    places = np.flatnonzero((size <= most) & (states["phase"] == Phase.PLAY) & (size > 0))
    chosen: States = states[np.random.default_rng(seed).choice(places, num, replace=False)].copy()
    return chosen


def test_what_the_other_may_hold_is_what_some_fitting_deal_holds() -> None:
    states = late_positions(400 if IS_COMPILED else 40, seed=8)
    for seat in (0, 1):
        seen = views.blank(states, seat)
        for view, held in zip(seen, views.cards_held(seen).tolist(), strict=True):
            union = 0
            for hand, _ in fits(view):
                union |= hand
            assert held == union, format_position(view)


HELD = [
    pytest.param(
        "TCJDJHAH9S/KH????????/9H d1 0-0 pass,accept,discard:??,JH,KH seat=0", "9H",
        "9C JC QC KC AC 9D TD QD KD AD TS JS QS KS AS 9H TH QH", id="a taken upcard",
    ),
    pytest.param(
        "TCJDJHAH9S/KH????????/9H d1 0-0 order_up,leave,JH,KH seat=0", "-",
        "9C JC QC KC AC 9D TD QD KD AD TS JS QS KS AS TH QH", id="one that was left is not held",
    ),
    pytest.param(
        "TCJDJHAH9S/9C????????/9H d1 0-0 order_up,leave,JH,9C seat=0", "-",
        "JC QC KC AC 9D TD QD KD AD TS JS QS KS AS", id="no trump left, nor the left bower",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("position", "known", "held"), HELD)
def test_what_the_other_may_hold(position: str, known: str, held: str) -> None:
    seen = parse_position(position)
    assert int(views.cards_held(seen)[0]) == card_set(held)
    assert int(seen["hands"][0, 1]) == card_set("" if known == "-" else known)


EXACT = {
    "hidden discard, one void": (
        "TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 pass,accept,discard:KC,JH,9H,AH,KH,JD,QH,TC,9C"
    ),
    "the upcard may be laid away": (
        "TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 pass,accept,discard:9C,JH,KH,AH,QH,JD,9H,9S,AS "
        "discard_upcard=True"
    ),
    "the upcard not seen yet": (
        "TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 pass,accept,discard:9C,JH,KH,AH,QH,9S,AS "
        "discard_upcard=True"
    ),
    "the upcard was laid away": (
        "TCJDJHAH9S/9CKCQSKSAS/9H d1 0-0 pass,accept,discard:9H,JH,9C,9S,AS,KC,TC "
        "discard_upcard=True"
    ),
    "left on the table": "TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 order_up,leave,JH,QH,AH,KH,9S,AS",
    "turned down": "TCJDJHAH9S/9CKCQHKHAS/9H d0 0-0 pass,pass,name:C,TC,KC,QH,AH,JH,KH",
    "a joker taken": (
        "TCJDJHAH9S/9CKCQHKHAS/JK d1 0-0 name:H,discard:KC,9S,AS,JK,JD,9C,TC joker=True"
    ),
    "the last card is the upcard": (
        "TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 pass,accept,discard:9C,9S,AS,KC,TC,QH,JH,AH,KH"
    ),
}


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("position", EXACT.values(), ids=EXACT)
def test_filling_draws_every_deal_that_fits_as_often(position: str, seat: int) -> None:
    check_uniform(views.blank(parse_position(position), seat), seat)


def check_uniform(view: States, seat: int) -> None:
    possible = fits(view[0])
    assert len(possible) == len(set(possible))
    counts = Counter(deals_of(filled(view, NUM_FILLS, seed=17), seat))
    assert set(counts) <= set(possible)
    if len(possible) == 1:
        assert counts == {possible[0]: NUM_FILLS}
        return
    expected = NUM_FILLS / len(possible)
    observed = [counts[deal] for deal in possible]
    assert abs(z_of_chi_square(observed, np.full(len(possible), expected))) < 5


def test_filling_is_uniform_at_late_positions_of_random_games() -> None:
    """Every option in turn, both seats; among them discard_upcard with the upcard not seen."""
    num = 30 if IS_COMPILED else 4
    weighed = 0
    for seat in (0, 1):
        for state in late_positions(num, seed=20 + seat, most=2):
            view = views.blank(state, seat)
            if len(fits(view[0])) <= 300:
                check_uniform(view, seat)
                weighed += bool(state.discard_upcard and state.upcard_place == UpcardPlace.TAKEN)
    assert weighed >= 3 or not IS_COMPILED


def test_filling_before_a_card_is_played_draws_each_hand_as_often() -> None:
    """The nondealer before any act: 18 cards, each in the other hand as often."""
    view = views.blank(parse_position("TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 -"), 0)
    states = filled(view, NUM_FILLS, seed=2)
    pool = int(view[0].deck) & ~int(view[0].hands[0]) & ~(1 << int(view[0].upcard))
    cards = card_list(pool)
    assert len(cards) == 18
    counts = [int((states["hands"][:, 1] >> card & 1).sum()) for card in cards]
    assert sum(counts) == 5 * NUM_FILLS
    spread = (1 - 5 / 18) * 18 / 17
    expected = np.full(18, NUM_FILLS * 5 / 18)
    assert abs(z_of_chi_square(counts, expected, spread=spread)) < 5


def test_filling_for_a_dealer_who_names_blind_deals_both_hands() -> None:
    """R13: he knows neither hand; every card but the joker is as likely in either."""
    view = views.blank(parse_position("TCJDJHAH9S/9CKCQHKHAS/JK d1 0-0 - joker=True"), 1)
    states = filled(view, NUM_FILLS, seed=2)
    assert (states["hands"][:, 0] & states["hands"][:, 1] == 0).all()
    assert (states["upcard"] == JOKER).all()
    for seat in (0, 1):
        counts = [int((states["hands"][:, seat] >> card & 1).sum()) for card in range(33)]
        in_deck = [counts[card] for card in card_list(int(view[0].deck) & ~(1 << JOKER))]
        assert sum(counts) == sum(in_deck) == 5 * NUM_FILLS
        spread = (1 - 5 / 24) * 24 / 23
        assert abs(z_of_chi_square(in_deck, np.full(24, NUM_FILLS * 5 / 24), spread=spread)) < 5


@given(state=games(), seat=seats, seed=st.integers(0, 2**63))
@settings(max_examples=60)
def test_filling_draws_by_the_row_s_own_key(state: States, seat: int, seed: int) -> None:
    view = views.blank(state, seat)
    one = views.fill(view, np.array([seed], dtype=np.uint64))
    many = views.fill(np.repeat(view, 3), np.array([1, seed, 2], dtype=np.uint64))
    assert one[0].tobytes() == many[1].tobytes()
    assert int(one[0].hands[1 - seat]).bit_count() == int(views.hand_size(view[0], 1 - seat))


# --- the door -----------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [2, -1, [0, 2]])
def test_a_seat_is_0_or_1(wrong: Any) -> None:
    with pytest.raises(ValueError, match="a seat is 0 or 1"):
        views.blank(sample(30)[:2], wrong)


def test_a_view_is_not_looked_at_from_the_other_seat_and_a_state_not_filled() -> None:
    states = sample(30)
    with pytest.raises(ValueError, match="views already"):
        views.blank(views.blank(states, 0), 1)
    with pytest.raises(ValueError, match="nothing to fill"):
        views.fill(states, 0)


def test_one_row_or_many_and_a_seat_for_each() -> None:
    states = sample(60)
    either = np.arange(len(states)) % 2
    together = views.blank(states, either)
    for place in range(len(states)):
        (alone,) = views.blank(states[place], int(either[place]))
        assert alone.tobytes() == together[place].tobytes()
