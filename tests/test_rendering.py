"""The table as text: what a seat sees, and nothing of what it does not."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings

from euchre_env import engine, views
from euchre_env.actions import Phase, action_list, action_name
from euchre_env.cards import CARD_NAMES, JOKER, NUM_SUITS, SUIT_NAMES, SUIT_SYMBOLS, card_list
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import parse_position
from euchre_env.rendering import card_text, table_text
from euchre_env.state import NO_SUIT, NOBODY, States
from tests import reference
from tests.strategies import games, sample, seats

BACK = "▒▒"
CARD = re.compile(r"([789TJQKA][CDHS])[♣♦♥♠]|(JK)★")


def cards_shown(text: str) -> set[str]:
    return {plain or joker for plain, joker in CARD.findall(text)}


def hand_line(text: str, seat: int) -> str:
    return next(line for line in text.splitlines() if line[1:].startswith(f" seat {seat}"))


def test_a_known_view_reads_like_this() -> None:
    text = "TCJDJHAH9S/KH????????/9H d1 2-3 pass,accept,discard:??,JH,KH seat=0"
    assert table_text(parse_position(text)[0]).splitlines() == [
        "deal 1 to 10 points   trump: hearts ♥   upcard: 9H♥* taken by the dealer",
        f"  seat 1 (dealer, maker)       9H♥*  {BACK}  {BACK}  {BACK}",
        "  3 points, 0 tricks           accepts, lays one away",
        "  last trick:  JH♥*right by seat 0, KH♥* by seat 1: seat 0 took it",
        "  this trick:  seat 0 leads",
        "> seat 0 (you)                 JD♦*left  AH♥*  TC♣  9S♠",
        "  2 points, 1 trick            passes",
        "  acts:  pass, accept, discard:??, JH, KH",
        "  legal:  TC♣, JD♦*left, AH♥*, 9S♠",
    ]


@pytest.mark.parametrize("seat", [0, 1])
def test_a_view_shows_its_own_hand_and_backs_for_the_other(seat: int) -> None:
    for view in views.blank(sample(300 if IS_COMPILED else 60, seed=9), seat):
        text = table_text(view)
        own, other = hand_line(text, seat), hand_line(text, 1 - seat)
        assert cards_shown(own) == {CARD_NAMES[c] for c in card_list(int(view.hands[seat]))}
        assert cards_shown(other) == {CARD_NAMES[c] for c in card_list(int(view.hands[1 - seat]))}
        for line, who in ((own, seat), (other, 1 - seat)):
            num_shown = len(CARD.findall(line)) + line.count(BACK)
            assert num_shown == views.hand_size(view, who)
        assert "(you" in own
        assert "(you" not in other


@given(state=games(), seat=seats)
@settings(max_examples=60)
def test_hidden_cards_change_nothing_in_the_picture(state: States, seat: int) -> None:
    seen = views.blank(state, seat)
    again = views.blank(views.fill(seen, 3), seat)
    assert table_text(seen[0]) == table_text(again[0])


@given(state=games())
@settings(max_examples=40)
def test_a_full_state_shows_both_hands_and_the_legal_acts(state: States) -> None:
    text = table_text(state[0])
    assert BACK not in text
    for seat in (0, 1):
        shown = cards_shown(hand_line(text, seat))
        assert shown == {CARD_NAMES[c] for c in card_list(int(state[0].hands[seat]))}
    legal = action_list(int(engine.legal_actions(state[0])))
    told = text.splitlines()[-1].partition(":  ")[2].split(", ")
    assert [act.rstrip("*♣♦♥♠★leftrigh") for act in told] == [
        action_name(act).rstrip("leftrigh") for act in legal
    ]


def test_only_the_seat_to_act_is_told_its_legal_acts() -> None:
    for state in sample(200 if IS_COMPILED else 60, seed=10):
        for seat in (0, 1):
            text = table_text(views.blank(state, seat)[0])
            is_told = "  legal:" in text or "  lay away:" in text
            assert is_told == (state.to_act == seat)
            turns = [line for line in text.splitlines() if line.startswith("> ")]
            assert len(turns) == (state.to_act != NOBODY)
            if turns:
                assert f"seat {int(state.to_act)}" in turns[0]


def test_marks_and_numbers_are_those_of_the_view() -> None:
    for state in sample(200 if IS_COMPILED else 60, seed=11):
        text = table_text(views.blank(state, 0)[0])
        for seat in (0, 1):
            line = hand_line(text, seat)
            assert ("dealer" in line) == (state.dealer == seat)
            assert ("maker" in line) == (state.maker == seat)
            points, tricks = int(state.scores[seat]), int(state.tricks[seat])
            told = f"  {points} point{'s' * (points != 1)}, {tricks} trick{'s' * (tricks != 1)}"
            assert told in text
        assert ("has won the game" in text) == (state.phase == Phase.GAME_OVER)
        if state.phase == Phase.GAME_OVER:
            assert f"seat {int(state.winner)} has won the game" in text
        assert ("the deal is over" in text) == (state.phase == Phase.DEAL_OVER)
        assert ("trump: not made" in text) == (state.trump == NO_SUIT)


@pytest.mark.parametrize(
    ("acts", "words"),
    [
        ("-", "9H♥ turned up"),
        ("order_up,leave", "9H♥* left on the table"),
        ("order_up,take", "9H♥* taken by the dealer"),
        ("pass,pass", "9H♥ turned down"),
        ("order_up,leave,JH", "this trick:  JH♥*right led by seat 0"),
        ("order_up,leave", "last trick:  none yet"),
        ("order_up,leave", "this trick:  seat 0 leads"),
        ("order_up", "this trick:  not begun"),
        ("-", "acts:  none yet"),
        ("pass,pass", "acts:  pass, pass"),
    ],
)
def test_the_table_says_what_has_happened(acts: str, words: str) -> None:
    assert words in table_text(parse_position(f"TCJDJHAH9S/9CKCQHKHAS/9H d1 0-0 {acts}")[0])


@pytest.mark.parametrize("trump", range(NUM_SUITS), ids=list(SUIT_NAMES))
def test_trumps_carry_a_star_and_the_bowers_their_names(trump: int) -> None:
    """All cards, all trumps: as the referee counts suits, not as they are printed."""
    suit = SUIT_NAMES[trump]
    for number, name in enumerate(CARD_NAMES):
        text = card_text(number, trump)
        assert ("*" in text) == (reference.effective_suit(name, suit) == suit), text
        assert ("right" in text) == (name == "J" + suit)
        assert ("left" in text) == (name == "J" + reference.SAME_COLOUR[suit])
        assert text.startswith(name)


def test_a_card_without_trump_is_rank_suit_and_symbol() -> None:
    for number, name in enumerate(CARD_NAMES):
        symbol = "★" if number == JOKER else SUIT_SYMBOLS[SUIT_NAMES.index(name[1])]
        assert card_text(number) == name + symbol


def test_a_dealer_who_names_blind_sees_ten_backs() -> None:
    view = parse_position("??????????/??????????/JK d1 0-0 - seat=1 joker=True")[0]
    text = table_text(view)
    assert text.count(BACK) == 10
    assert text.splitlines()[-1] == "  legal:  name:C♣, name:D♦, name:H♥, name:S♠"


def test_every_position_can_be_drawn() -> None:
    rows = sample(500 if IS_COMPILED else 60, seed=12)
    for state, seat in zip(rows, np.arange(len(rows)) % 2, strict=True):
        for row in (state, views.blank(state, int(seat))[0]):
            lines = table_text(row).splitlines()
            assert 8 <= len(lines) <= 9
            assert not any(line != line.rstrip() for line in lines)
            assert max(map(len, lines)) <= 160
