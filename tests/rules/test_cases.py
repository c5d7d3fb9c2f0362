"""The hundred worked rule cases, by their ids, put to the engine's kernels and tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from euchre_env.actions import NAME_ACTIONS, Phase, action_list, action_name, action_number
from euchre_env.cards import JOKER, SUIT_NAMES, card_list, card_name, card_number
from euchre_env.dealing import is_dealt_right, lay_out, next_dealer
from euchre_env.engine import apply, legal_actions
from euchre_env.rules import BEATS, EFFECTIVE_SUIT, MAKER_POINTS, STRENGTH, SUIT_CARDS, Rules
from euchre_env.state import NO_CARD, NOBODY, UpcardPlace, new_states
from euchre_env.tricks import playable
from euchre_env.views import blank

CASES = json.loads(
    (Path(__file__).parent.parent / "data" / "rule_cases.json").read_text(encoding="utf-8")
)["cases"]
COVERED: set[str] = set()
"""The types of cases that a test below takes."""


def of_type(name: str) -> Any:
    """A parametrisation over the rule cases of a type, by their ids."""
    COVERED.add(name)
    return pytest.mark.parametrize(
        ("given", "expect"),
        [pytest.param(c["given"], c["expect"], id=c["id"]) for c in CASES if c["type"] == name],
    )


both_dealers = pytest.mark.parametrize("dealer", [0, 1])


def rules_of_case(given: dict[str, Any]) -> Rules:
    return Rules(**given.get("options", {}))


def mask(cards: Sequence[str]) -> int:
    return sum(1 << card_number(card) for card in cards)


def names(cards: int) -> set[str]:
    return {card_name(card) for card in card_list(cards)}


def legal_names(state: Any) -> set[str]:
    return {action_name(action) for action in action_list(legal_actions(state))}


def dealt(rules: Rules, dealer: int, upcard: str, **known: Sequence[str] | None) -> Any:
    """A deal with the hands known (``dealer_hand``, ``nondealer_hand``), the rest from the deck."""
    state = new_states(1, rules)[0]
    state.dealer = dealer
    named = [upcard, *(known.get("dealer_hand") or ()), *(known.get("nondealer_hand") or ())]
    rest = [card_name(card) for card in card_list(rules.deck) if card_name(card) not in named]
    for seat, whose in ((dealer, "dealer_hand"), (1 - dealer, "nondealer_hand")):
        hand = known.get(whose)
        if hand is None:
            hand, rest = rest[:5], rest[5:]
        state.hands[seat] = mask(hand)
    assert is_dealt_right(state, card_number(upcard))
    lay_out(state, card_number(upcard))
    return state


def do(state: Any, *acts: str) -> None:
    """Acts by name, each checked to be legal first."""
    for act in acts:
        action = action_number(act)
        assert legal_actions(state) >> action & 1, f"{act} is not one of {legal_names(state)}"
        apply(state, action)


def role(state: Any, seat: int) -> str:
    assert seat in (0, 1)
    return "dealer" if seat == state.dealer else "nondealer"


def with_tricks(rules: Rules, winners: Sequence[str], scores: tuple[int, int]) -> Any:
    """A deal of maker 0 against 1, clubs trump, in which tricks were won in the order given.

    Whoever is to win plays the jack of trump, the other the nine: each holds, trick after trick,
    just the card that he is to play.
    """
    state = dealt(rules, 1, "9H")
    for seat in (0, 1):
        state.scores[seat] = scores[seat]
    do(state, "pass", "pass", "name:C")
    assert state.maker == 0
    for winner in winners:
        winning_seat = {"maker": 0, "defender": 1}[winner]
        state.hands[winning_seat] = mask(["JC"])
        state.hands[1 - winning_seat] = mask(["9C"])
        for _ in range(2):
            apply(state, card_number("JC" if state.to_act == winning_seat else "9C"))
    return state


@of_type("effective_suit")
def test_effective_suit(given: dict[str, Any], expect: dict[str, Any]) -> None:
    trump = SUIT_NAMES.index(given["trump"])
    card = card_number(given["card"])
    suit = SUIT_NAMES.index(expect["suit"])
    assert EFFECTIVE_SUIT[trump, card] == suit
    assert [bool(SUIT_CARDS[trump, s] >> card & 1) for s in range(4)] == [
        s == suit for s in range(4)
    ]


@of_type("suit_order")
def test_suit_order(given: dict[str, Any], expect: dict[str, Any]) -> None:
    trump, suit = (SUIT_NAMES.index(given[name]) for name in ("trump", "suit"))
    cards = card_list(int(SUIT_CARDS[trump, suit]) & rules_of_case(given).deck)
    order = sorted(cards, key=lambda card: -STRENGTH[trump, card])
    assert [card_name(card) for card in order] == expect["order"]
    for place, higher in enumerate(order):
        for lower in order[place + 1 :]:
            assert BEATS[trump, lower] >> higher & 1
            assert not BEATS[trump, higher] >> lower & 1


@of_type("deck")
def test_deck(given: dict[str, Any], expect: dict[str, Any]) -> None:
    rules = rules_of_case(given)
    state = dealt(rules, 0, "9H")
    assert rules.num_cards == int(state.deck).bit_count() == expect["cards"]
    stock = int(state.deck) & ~int(state.hands[0]) & ~int(state.hands[1])
    assert stock.bit_count() == expect["stock_after_deal"]


@of_type("legal_plays")
def test_legal_plays(given: dict[str, Any], expect: dict[str, Any]) -> None:
    led = NO_CARD if given["led"] is None else card_number(given["led"])
    trump = SUIT_NAMES.index(given["trump"])
    assert names(playable(mask(given["hand"]), led, trump)) == set(expect["legal"])
    # and the same from a position
    state = new_states(1, rules_of_case(given))[0]
    state.phase, state.trump, state.led_card, state.to_act = Phase.PLAY, trump, led, 1
    state.hands[1] = mask(given["hand"])
    assert legal_names(state) == set(expect["legal"])


@of_type("trick_winner")
@pytest.mark.parametrize("leader", [0, 1])
def test_trick_winner(leader: int, given: dict[str, Any], expect: dict[str, Any]) -> None:
    state = new_states(1, rules_of_case(given))[0]
    state.phase, state.trump, state.to_act = Phase.PLAY, SUIT_NAMES.index(given["trump"]), leader
    state.dealer, state.maker = 0, 0
    state.hands[leader] = mask([given["led"]])
    state.hands[1 - leader] = mask([given["followed"]])
    do(state, given["led"])
    assert state.to_act == 1 - leader
    do(state, given["followed"])
    winner = leader if expect["winner"] == "leader" else 1 - leader
    assert state.tricks[winner] == 1
    assert state.tricks[1 - winner] == 0
    assert state.to_act == winner


@of_type("legal_bids")
@both_dealers
def test_legal_bids(dealer: int, given: dict[str, Any], expect: dict[str, Any]) -> None:
    state = dealt(rules_of_case(given), dealer, given["upcard"])
    do(state, *given["history"])
    assert role(state, state.to_act) == expect["to_act"]
    assert legal_names(state) == set(expect["legal"])
    view = blank(np.array([state]), int(state.to_act))[0]
    assert (view.hands[state.to_act] != 0) == expect.get("own_hand_visible", True)


@of_type("bidding")
@both_dealers
def test_bidding(dealer: int, given: dict[str, Any], expect: dict[str, Any]) -> None:
    rules = rules_of_case(given)
    state = dealt(rules, dealer, given["upcard"], dealer_hand=given.get("dealer_hand"))
    do(state, *given["history"])
    if expect["result"] == "redeal":
        assert state.phase == Phase.DEAL_OVER
        assert state.maker == NOBODY
        assert role(state, next_dealer(state)) == expect["next_dealer"]
        assert [*state.points] == [*state.scores] == expect["points"]
    else:
        assert state.phase == Phase.PLAY
        assert state.trump == SUIT_NAMES.index(expect["trump"])
        assert role(state, state.maker) == expect["maker"]
        has_upcard = bool(int(state.hands[dealer]) >> int(state.upcard) & 1)
        assert has_upcard == expect["dealer_has_upcard"]
        assert role(state, state.to_act) == expect["first_leader"]


@of_type("discard")
@both_dealers
def test_discard(dealer: int, given: dict[str, Any], expect: dict[str, Any]) -> None:
    rules = rules_of_case(given)
    state = dealt(rules, dealer, given["upcard"], dealer_hand=given["dealer_hand"])
    if state.phase == Phase.NAME_BLIND:  # a turned joker is taken on naming a suit
        assert state.upcard == JOKER
        assert legal_actions(state) == NAME_ACTIONS
        do(state, "name:S")
    else:
        do(state, *(["pass"] if given["answer"] == "accept" else ["order_up"]), given["answer"])
    discards = legal_names(state) if state.phase == Phase.DISCARD else set()
    assert discards == set(expect["legal_discards"])
    if "discard" in given:
        do(state, "discard:" + given["discard"])
        assert state.discard == card_number(given["discard"])
    if "hand_after" in expect:
        assert names(state.hands[dealer]) == set(expect["hand_after"])
    left = given["answer"] == "leave"
    assert state.upcard_place == (UpcardPlace.LEFT if left else UpcardPlace.TAKEN)


@of_type("hand_score")
def test_hand_score(given: dict[str, Any], expect: dict[str, Any]) -> None:
    rules, tricks = rules_of_case(given), given["maker_tricks"]
    points = MAKER_POINTS[int(rules.super_euchre), tricks]
    assert (max(points, 0), max(-points, 0)) == (
        expect["maker_points"],
        expect["defender_points"],
    )
    state = with_tricks(rules, ["maker"] * tricks + ["defender"] * (5 - tricks), (0, 0))
    assert tuple(state.points) == (expect["maker_points"], expect["defender_points"])


@of_type("game_end")
def test_game_end(given: dict[str, Any], expect: dict[str, Any]) -> None:
    tricks = given["maker_tricks"]
    state = with_tricks(
        rules_of_case(given),
        ["maker"] * tricks + ["defender"] * (5 - tricks),
        (given["maker_score"], given["defender_score"]),
    )
    assert tuple(state.scores) == (expect["maker_score"], expect["defender_score"])
    assert state.phase == (Phase.GAME_OVER if expect["game_over"] else Phase.DEAL_OVER)
    assert state.winner == {"maker": 0, "defender": 1, None: NOBODY}[expect["winner"]]
    assert legal_actions(state) == 0


@of_type("mid_hand")
def test_mid_hand(given: dict[str, Any], expect: dict[str, Any]) -> None:
    scores = (given["maker_score"], given["defender_score"])
    state = with_tricks(rules_of_case(given), given["trick_winners"], scores)
    assert (state.phase >= Phase.DEAL_OVER) == expect["hand_over"]
    assert 5 - sum(state.tricks) == expect["tricks_left"]


@of_type("turn_order")
def test_turn_order(given: dict[str, Any], expect: dict[str, Any]) -> None:
    state = dealt(Rules(), given.get("dealer", 1), "9H", dealer_hand=["TH", "AS", "KS", "QC", "9D"])
    if given["event"] == "first_lead":
        dealer_makes = given["maker"] == given["dealer"]
        do(state, *(["pass", "pass", "pass", "name:S"] if dealer_makes else ["order_up", "leave"]))
        assert state.maker == given["maker"]
        assert state.to_act == expect["player"]
    elif given["event"] == "next_lead":
        winner = {0: "maker", 1: "defender"}[given["trick_winner"]]
        assert with_tricks(Rules(), [winner], (0, 0)).to_act == expect["player"]
    elif given["last_hand"] == "passed_out":
        do(state, "pass", "pass", "pass", "pass")
        assert next_dealer(state) == expect["player"]
    else:
        assert given["last_hand"] == "scored"
        do(state, "order_up", "leave")
        while state.phase == Phase.PLAY:
            apply(state, action_list(legal_actions(state))[0])
        assert sum(state.points) > 0
        assert next_dealer(state) == expect["player"]


@of_type("full_hand")
@both_dealers
def test_full_hand(dealer: int, given: dict[str, Any], expect: dict[str, Any]) -> None:
    state = dealt(
        rules_of_case(given),
        dealer,
        given["upcard"],
        dealer_hand=given["dealer_hand"],
        nondealer_hand=given["nondealer_hand"],
    )
    do(state, *given["bids"])
    winners = []
    for number, card in enumerate(given["plays"]):
        before = state.tricks.copy()
        do(state, "play:" + card)
        if number % 2:
            (seat,) = np.flatnonzero(state.tricks - before)
            winners.append(role(state, seat))
    assert winners == expect["trick_winners"]
    assert state.phase == Phase.DEAL_OVER
    assert {role(state, seat): state.points[seat] for seat in (0, 1)} == expect["points"]


def test_no_case_is_left_out() -> None:
    assert len({case["id"] for case in CASES}) == 100
    assert {case["type"] for case in CASES} == COVERED
