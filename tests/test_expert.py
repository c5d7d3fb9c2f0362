"""The scripted expert: each rule of thumb shown in a position; its numbers checked at the door."""

import dataclasses
import itertools
from math import comb
from typing import Any

import numpy as np
import pytest

from agents import make_agent, streams
from agents.expert import ExpertAgent, chance_to_win, points_of
from agents.thresholds import FOLLOWS, LEADS, SHAPES, SITUATIONS, Thresholds
from euchre_env.actions import NUM_ACTIONS, action_name
from euchre_env.cards import card_list, card_number
from euchre_env.engine import action_masks
from euchre_env.notation import parse_position
from euchre_env.rules import BEATS, EFFECTIVE_SUIT
from euchre_env.views import blank, cards_held, hand_size
from evaluate import match

BOOK = Thresholds(
    trump_points=(2, 2, 3, 4, 0, 4, 5, 6, 7, 10, 12),
    side_points=(0, 0, 0, 0, 0, 0, 1, 5),
    twin=-1,
    void=1.5,
    length=0,
    order=24,
    order_upcard=0.5,
    accept=13,
    take_gain=0,
    name_first=9,
    name_second=8,
    next_suit=0,
)
"""Round numbers, so that the cases below do not move with the tuned ones."""


def weights(rules: tuple[tuple[str, str], ...], **chosen: float) -> tuple[tuple[float, ...], ...]:
    """The same weights in every situation: those named, the others 0."""
    assert set(chosen) <= {name for name, _ in rules}
    return (tuple(chosen.get(name, 0.0) for name, _ in rules),) * len(SITUATIONS)


def act(position: str, **changes: Any) -> str:
    states = parse_position(position)
    masks = np.empty((1, NUM_ACTIONS), dtype=np.int8)
    action_masks(states, masks)
    agent = ExpertAgent(dataclasses.replace(BOOK, **changes))
    return action_name(agent.act(blank(states, states["to_act"]), masks, streams(0, 1))[0])


@pytest.mark.parametrize(
    ("hand", "trump", "points"),
    [
        pytest.param("JH JD AH KC QC", "H", 10 + 7 + 6 + 1 + 1.5 * 2, id="bowers, ace, side king"),
        pytest.param("9C TC QC KC AC", "C", 3 + 4 + 4 + 5 + 6 + 1.5 * 3, id="all trumps"),
        pytest.param("9C TC QC KC AS", "H", 1 + 5, id="no trump: a void is worth nothing"),
        pytest.param("9H AD TC KC AS", "H", 3 + (5 - 1) + 1 + 5, id="the twin's ace is worth less"),
        pytest.param("JK 9S AC TD 9H", "S", 12 + 3 + (5 - 1), id="joker"),
        pytest.param("7S 8S 7C 7D 7H", "S", 2 + 2, id="sevens and eights"),
    ],
)
def test_hand_points(hand: str, trump: str, points: float) -> None:
    assert points_of(hand, trump, BOOK) == pytest.approx(points)


def test_hand_points_of_long_trumps() -> None:
    longer = dataclasses.replace(BOOK, length=1.0)
    for hand, extra in (("9S TS QH KH AD", 0), ("9S TS QS KH AD", 1), ("9S TS QS KS AS", 3)):
        assert points_of(hand, "S", longer) - points_of(hand, "S", BOOK) == pytest.approx(extra)
    with pytest.raises(ValueError, match="trump='X': it is one of C, D, H, S"):
        points_of("9S", "X")


@pytest.mark.parametrize(
    ("position", "changes", "expected"),
    [
        # 10 + 6 + 3 + 1 + 1.5 * 2 = 23, the ten turned up takes 2 off
        pytest.param("JHAH9HKCTC/KSQSASTSJD/TH d1 0-0 -", {"order": 21}, "order_up", id="order"),
        pytest.param("JHAH9HKCTC/KSQSASTSJD/TH d1 0-0 -", {"order": 21.1}, "pass", id="too little"),
        pytest.param("JHAH9HKCTC/KSQSASTSJD/KH d1 0-0 -", {"order": 21}, "pass", id="high upcard"),
        # after the discard of 9S: 7 + 4, the king 1, the twin's ace 4, no spade 1.5
        pytest.param(
            "9CTCQC9HTD/JDKC9SQDAD/TH d1 0-0 pass", {"accept": 17.5}, "accept", id="accept"
        ),
        pytest.param("9CTCQC9HTD/JDKC9SQDAD/TH d1 0-0 pass", {"accept": 17.6}, "pass", id="pass"),
        pytest.param(
            "JHAH9H9CTC/KSQSASTSJD/TH d1 0-0 order_up", {"take_gain": 0}, "take", id="take"
        ),
        pytest.param(
            "JHAH9H9CTC/KSQSASTSJD/TH d1 0-0 order_up", {"take_gain": 9}, "leave", id="leave"
        ),
        pytest.param("JCTC9HKD9D/KSQSASTSQD/TH d1 0-0 pass,pass", {}, "name:C", id="most points"),
        pytest.param(
            "JCTC9HKD9D/KSQSASTSQD/TH d1 0-0 pass,pass", {"name_first": 17}, "pass", id="few"
        ),
        pytest.param("9CTC9HKD9D/KSQSASTSQD/TH d1 0-0 pass,pass,pass", {}, "name:S", id="dealer"),
        pytest.param(
            "9CTC9HKD9D/KSQSASTSQD/TH d1 0-0 pass,pass,pass",
            {"name_second": 30},
            "pass",
            id="passes",
        ),
        pytest.param(
            "9CTC9HKD9D/KSQSASTSQD/TH d1 0-0 pass,pass,pass stick_the_dealer=True",
            {"name_second": 30},
            "name:S",
            id="stuck, names the most",
        ),
        pytest.param(
            "JCTC9HKD9D/KSQSASTSQD/TH d1 0-0 pass,pass", {"next_suit": 20}, "name:D", id="next suit"
        ),
        pytest.param(
            "9CTC9HKD9D/KSQSASTSQD/JK d1 0-0 - joker=True", {}, "name:C", id="blind: the first"
        ),
        pytest.param(
            "9CTCQCKC9S/JHAHAS9DQS/TH d1 0-0 pass,accept", {}, "9D", id="lays a lone nine away"
        ),
        pytest.param(
            "9CTCQCKCTS/JHAHASKD9S/TH d1 0-0 pass,accept", {}, "KD", id="a lone king for a void"
        ),
        pytest.param(
            "9CTCQCKC9S/JHAHJD9HKH/TH d1 0-0 pass,accept", {}, "9H", id="of trumps, the lowest"
        ),
        pytest.param(
            "9CTCQCKC9S/JHAHJDQHKH/9H d1 0-0 pass,accept discard_upcard=True", {}, "9H", id="upcard"
        ),
    ],
)
def test_bids(position: str, changes: dict[str, Any], expected: str) -> None:
    assert act(position, **changes) == expected


MAKER_LEADS = "JHAH9CACKS/KDQSASTSJD/TH d1 0-0 order_up,leave"
DEFENDER_LEADS = "AHTCQCACKS/JHKHAS9DQD/TH d1 0-0 pass,accept,discard:9D"


@pytest.mark.parametrize(
    ("position", "leads", "expected"),
    [
        pytest.param(MAKER_LEADS, {"chance": 1}, "JH", id="what is sure to win"),
        pytest.param(DEFENDER_LEADS, {"chance": 1, "trump": -1}, "AC", id="a side ace"),
        pytest.param(MAKER_LEADS, {"strength": 1}, "JH", id="high"),
        pytest.param(MAKER_LEADS, {"strength": -1}, "9C", id="low"),
        pytest.param(MAKER_LEADS, {"trump": 1, "strength": -0.1}, "AH", id="a trump"),
        pytest.param(MAKER_LEADS, {"trump_chance": 1}, "JH", id="the sure trump"),
        pytest.param(MAKER_LEADS, {"singleton": 1}, "KS", id="a lone side card"),
        pytest.param(MAKER_LEADS, {"draws": 1, "strength": -0.1}, "AH", id="draw trumps"),
        pytest.param(
            "JH9CTCACKS/KDQSASTSJD/TH d1 0-0 order_up,leave",
            {"last_trump": 1},
            "JH",
            id="only trump",
        ),
        pytest.param(DEFENDER_LEADS, {"length": 1, "strength": -0.1}, "TC", id="a long suit"),
    ],
)
def test_leads(position: str, leads: dict[str, float], expected: str) -> None:
    assert act(position, lead=weights(LEADS, **leads)) == expected


FOLLOWS_SUIT = "9CTCQCACKS/JHKCJC9DQD/TH d1 0-0 pass,accept,discard:QD,QC"
IS_VOID = "9CTCQCACKS/JHAHAS9DQD/TH d1 0-0 pass,accept,discard:9D,AC"


@pytest.mark.parametrize(
    ("position", "follows", "expected"),
    [
        pytest.param(FOLLOWS_SUIT, {"wins": 1}, "KC", id="win"),
        pytest.param(FOLLOWS_SUIT, {"wins": -1}, "JC", id="let it go"),
        pytest.param(IS_VOID, {"wins": 1, "strength": -0.5}, "TH", id="win cheaply"),
        pytest.param(
            IS_VOID, {"wins": 1, "ruffs": -2, "strength": -0.1}, "QD", id="keep the trump"
        ),
        pytest.param(IS_VOID, {"trump": -1, "strength": -0.1}, "QD", id="throw a low card"),
        pytest.param(IS_VOID, {"trump": -1, "strength": 0.1}, "AS", id="throw a high card"),
        pytest.param(
            "9CTCQCACKS/JH9SAS9DQD/TH d1 0-0 pass,accept,discard:JH,AC",
            {"last_trump": -1, "strength": 0.1},
            "AS",
            id="keep the only trump",
        ),
        pytest.param(IS_VOID, {"control": 1}, "TH", id="win to lead what is sure"),
        pytest.param(
            "9CTCQCACTS/JHAH9SQDAD/TH d1 0-0 pass,accept,discard:QD,AC",
            {"trump": -1, "chance": -1},
            "9S",
            id="keep what wins later",
        ),
        pytest.param(
            "9CTCQCACTS/JHAH9SQDKD/TH d1 0-0 pass,accept,discard:AH,AC",
            {"trump": -1, "singleton": 1},
            "9S",
            id="throw a lone side card",
        ),
        pytest.param(
            "9CTCQCACTS/JHAH9SQDKD/TH d1 0-0 pass,accept,discard:AH,AC",
            {"trump": -1, "guard": -1, "singleton": -1, "strength": -0.01},
            "KD",
            id="do not bare the king",
        ),
        pytest.param(
            "9CTCQCACTS/JHAH9SQDAD/TH d1 0-0 pass,accept,discard:AH,AC",
            {"trump": -1, "guard": -1, "singleton": -1, "strength": -0.01},
            "QD",
            id="an ace needs no guard",
        ),
    ],
)
def test_follows(position: str, follows: dict[str, float], expected: str) -> None:
    assert act(position, follow=weights(FOLLOWS, **follows)) == expected


@pytest.mark.parametrize(
    ("situation", "position"),
    [
        ("maker, trick 1", "JHAH9C9DKS/KDQSASTSJD/TH d1 0-0 order_up,leave"),
        ("maker, trick 2", "JHAH9C9DKS/KDQSASTSJD/TH d1 0-0 order_up,leave,JH,JD"),
        ("maker, trick 3", "JHAH9C9DKS/KDQSASTSJD/TH d1 0-0 order_up,leave,JH,JD,AH,KD"),
        ("defender, trick 1", "9CTCQCACKS/JHAHAS9DQD/TH d1 0-0 pass,accept,discard:QD"),
        ("defender, trick 2", "9CTCQCACKS/JHAHAS9DQD/TH d1 0-0 pass,accept,discard:QD,AC,9D"),
        ("defender, trick 3", "9CTCQCACKS/JHAHAS9DQD/TH d1 0-0 pass,accept,discard:QD,AC,9D,9C,AS"),
    ],
)
def test_weights_stand_by_role_and_trick(situation: str, position: str) -> None:
    row, low = SITUATIONS.index(situation), weights(LEADS, strength=-1)
    high = weights(LEADS, strength=1)
    assert act(position, lead=(*low[:row], high[0], *low[row + 1 :])) == act(position, lead=high)
    assert act(position, lead=(*high[:row], low[0], *high[row + 1 :])) == act(position, lead=low)
    assert act(position, lead=high) != act(position, lead=low)


def chance_by_counting(view: np.record, card: int) -> float:
    """The same chance, over every hand that the other may hold."""
    other, trump = 1 - int(view.seat), int(view.trump)
    known = int(view.hands[other])
    held = card_list(int(cards_held(np.array([view]))[0]) & ~known)
    num = hand_size(view, other) - known.bit_count()
    wins = 0
    for chosen in itertools.combinations(held, num):
        hand = [*chosen, *card_list(known)]
        suit = EFFECTIVE_SUIT[trump, card]
        following = [c for c in hand if EFFECTIVE_SUIT[trump, c] == suit] or hand
        wins += not any(int(BEATS[trump, card]) >> c & 1 for c in following)
    return wins / comb(len(held), num)


@pytest.mark.parametrize(
    "position",
    [
        MAKER_LEADS,
        DEFENDER_LEADS,
        "JHAH9CACKS/KDQSASTSJD/TH d1 0-0 order_up,take,discard:KD",
        "9CTC9HKD9D/KSQSASTSQD/TH d1 0-0 pass,pass,name:C,TC,TS,KD,QD",
    ],
)
def test_the_chance_to_win_is_that_of_all_hands(position: str) -> None:
    states = parse_position(position)
    view = blank(states, states["to_act"])[0]
    for card in card_list(int(view.hands[view.seat])):
        assert chance_to_win(view, card) == pytest.approx(chance_by_counting(view, card))


def test_a_sure_card_has_a_chance_of_one() -> None:
    states = parse_position(MAKER_LEADS)
    view = blank(states, states["to_act"])[0]
    assert chance_to_win(view, card_number("JH")) == 1
    assert chance_to_win(view, card_number("AC")) < 1  # it may be trumped


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"accept": float("nan")}, "accept=nan: every number is finite", id="nan"),
        pytest.param({"void": (1.0, 2.0)}, r"void=.*numbers of shape \(\)", id="a number"),
        pytest.param({"side_points": (1.0,)}, r"numbers of shape \(8,\)", id="too few"),
        pytest.param({"lead": ((1.0,),)}, r"numbers of shape \(8, 8\)", id="weights"),
        pytest.param({"lead": ((1.0,), ())}, r"numbers of shape \(8, 8\)", id="ragged"),
        pytest.param({"twin": "one"}, "twin='one'", id="no number"),
    ],
)
def test_thresholds_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Thresholds(**changes)


def test_every_number_arrives_in_memory() -> None:
    memory = BOOK.to_memory()
    for name, shape in SHAPES.items():
        assert memory[name][0].shape == shape
        np.testing.assert_array_equal(memory[name][0], getattr(BOOK, name))


def test_the_expert_takes_no_argument() -> None:
    assert make_agent("expert").name == "expert"
    with pytest.raises(ValueError, match="'expert' with argument '3': it takes no argument"):
        make_agent("expert:3")


def test_the_expert_beats_the_novice() -> None:
    result = match("expert", "novice", pairs=4_000, seed=3)
    assert result.low > 0.15
