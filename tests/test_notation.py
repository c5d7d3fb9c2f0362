"""Positions as text: what is written reads back, and what means nothing is refused and quoted."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from euchre_env import engine, explain, notation, views
from euchre_env.actions import (
    ACTION_NAMES,
    NUM_ACTIONS,
    ORDER_UP,
    PASS,
    Phase,
    action_list,
    action_name,
    action_number,
    mask_array,
)
from euchre_env.cards import (
    CARD_NAMES,
    card_list,
    card_name,
    card_number,
    card_set,
    cards_text,
)
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import format_deal, format_position, parse_deal, parse_position
from euchre_env.rules import Rules
from euchre_env.state import NOBODY, States, rules_of
from tests.strategies import games, rules, sample, seats

PAGE = Path(__file__).parents[1] / "docs" / "notation.md"
CARD = r"[789TJQKA][CDHS]|JK"
NOT_IN_TEXT = ("stream", "num_draws", "deal_number")
DEAL = "JHJDAH9STC/KHQHASKC9C/9H"
NUM_POSITIONS = 600 if IS_COMPILED else 100


def as_read(row: np.record) -> bytes:
    """A row without what a position does not tell."""
    plain = row.copy()
    for name in NOT_IN_TEXT:
        plain[name] = 1 if name == "deal_number" else 0
    return bytes(plain.tobytes())


# --- cards and acts -----------------------------------------------------------------------------


def test_every_card_has_a_name_that_reads_back() -> None:
    assert len(set(CARD_NAMES)) == 33
    for number, name in enumerate(CARD_NAMES):
        assert card_number(name) == number
        assert card_number(f" {name.lower()} ") == number
        assert card_name(number) == name
    assert card_name(-1) == "??"


def test_sets_of_cards_read_back() -> None:
    everything = (1 << 33) - 1
    assert card_set(cards_text(everything)) == everything
    assert card_set("") == 0
    assert cards_text(card_set("AS 9S JK")) == "9S AS JK"


@pytest.mark.parametrize("text", ["", "J", "JX", "1H", "HJ", "JHH", "10H", "??", "joker"])
def test_what_is_no_card_is_quoted(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"{text!r} is no card")):
        card_number(text)


def test_a_card_twice_is_quoted() -> None:
    with pytest.raises(ValueError, match="JH stands twice in 'JH 9S JH'"):
        card_set("JH 9S JH")


def test_every_act_has_a_name_that_reads_back() -> None:
    assert len(set(ACTION_NAMES)) == NUM_ACTIONS
    for number in range(NUM_ACTIONS):
        assert action_number(action_name(number)) == number
    for name in CARD_NAMES:
        assert action_number(f"play:{name}") == card_number(name)
        assert action_number(f"discard:{name}") == card_number(name)
    assert action_list(1 << PASS | 1 << 3) == [3, PASS]
    assert mask_array(1 << ORDER_UP).tolist().index(1) == ORDER_UP


@pytest.mark.parametrize(
    "text", ["", "order", "name:X", "name:", "play:", "play:pass", "discard:??", "PASS", "9X", "38"]
)
def test_what_is_no_act_is_quoted(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - what it must quote is checked below
        action_number(text)
    assert repr(text.partition(":")[2] if text[:4] in ("play", "disc") else text) in str(
        caught.value
    )


# --- round trips --------------------------------------------------------------------------------


def test_states_read_back_at_every_act_under_every_option() -> None:
    for state in sample(NUM_POSITIONS):
        text = format_position(state)
        (again,) = parse_position(text)
        assert as_read(again) == as_read(state), text
        assert format_position(again) == text
        assert rules_of(again) == rules_of(state)


def test_views_read_back_at_every_act_under_every_option() -> None:
    states = sample(NUM_POSITIONS, seed=1)
    for seat in (0, 1):
        for view in views.blank(states, seat):
            text = format_position(view)
            (again,) = parse_position(text)
            assert as_read(again) == as_read(view), text
            assert format_position(again) == text


@given(state=games(), seat=seats)
@settings(max_examples=60)
def test_any_position_reads_back(state: States, seat: int) -> None:
    for row in (state[0], views.blank(state, seat)[0]):
        assert as_read(parse_position(format_position(row))[0]) == as_read(row)


@given(state=games())
@settings(max_examples=40)
def test_a_deal_reads_back(state: States) -> None:
    row = state[0]
    nondealer, dealer, upcard = parse_deal(format_deal(row), rules_of(row))
    assert upcard == row.upcard
    assert nondealer == notation.dealt_hand(row, 1 - int(row.dealer))
    assert dealer == notation.dealt_hand(row, int(row.dealer))
    numbers = (card_list(nondealer), card_list(dealer), upcard)
    assert notation.read_deal(numbers, rules_of(row)) == (nondealer, dealer, upcard)


@given(state=games(), chosen=rules())
@settings(max_examples=30)
def test_rules_asked_for_and_rules_said_must_agree(state: States, chosen: Rules) -> None:
    text = format_position(state[0])
    said = rules_of(state[0])
    assert rules_of(parse_position(text, rules=said)[0]) == said
    if said not in (chosen, Rules()):
        with pytest.raises(ValueError, match="played by"):
            parse_position(text, rules=chosen)


# --- what is refused ----------------------------------------------------------------------------

WRONG_POSITIONS = {
    "nothing": "",
    "one word": "hello",
    "no acts": f"{DEAL} d1 0-0",
    "no dealer": f"{DEAL} 0-0 - -",
    "dealer 2": f"{DEAL} d2 0-0 -",
    "negative score": f"{DEAL} d1 -1-0 -",
    "one score": f"{DEAL} d1 3 -",
    "score at the target": f"{DEAL} d1 10-0 -",
    "score at another target": f"{DEAL} d1 0-5 - target_score=5",
    "two hands": "JHJDAH9STC/KHQHASKC9C d1 0-0 -",
    "four cards": "JHJDAH9S/KHQHASKC9C/9H d1 0-0 -",
    "six cards": "JHJDAH9STCTD/KHQHASKC9C/9H d1 0-0 -",
    "two upcards": "JHJDAH9STC/KHQHASKC9C/9HTH d1 0-0 -",
    "half a card": "JHJDAH9ST/KHQHASKC9C/9H d1 0-0 -",
    "no card": "JHJDAH9STX/KHQHASKC9C/9H d1 0-0 -",
    "card twice in a hand": "JHJHAH9STC/KHQHASKC9C/9H d1 0-0 -",
    "card twice in two hands": "JHJDAH9STC/JHQHASKC9C/9H d1 0-0 -",
    "upcard in a hand": "JHJDAH9STC/KHQHASKC9C/JH d1 0-0 -",
    "not in the deck": "JHJDAH9STC/KHQHASKC7C/9H d1 0-0 -",
    "no joker in the deck": "JHJDAH9STC/KHQHASKC9C/JK d1 0-0 -",
    "joker dealt again": "JHJDAH9STC/KHQHASKC9C/JK d1 0-0 - joker=True joker_turned_up=redeal",
    "hidden card in a full state": "JHJDAH9STC/KHQHASKC??/9H d1 0-0 -",
    "no act": f"{DEAL} d1 0-0 fold",
    "act of another phase": f"{DEAL} d1 0-0 accept",
    "take before order_up": f"{DEAL} d1 0-0 take",
    "name in round one": f"{DEAL} d1 0-0 name:C",
    "turned-down suit": f"{DEAL} d1 0-0 pass,pass,name:H",
    "stuck dealer passes": f"{DEAL} d1 0-0 pass,pass,pass,pass stick_the_dealer=True",
    "card not held": f"{DEAL} d1 0-0 order_up,leave,KH",
    "revoke": f"{DEAL} d1 0-0 order_up,leave,JH,KC",
    "upcard laid away": f"{DEAL} d1 0-0 order_up,take,discard:9H",
    "card of the other laid away": f"{DEAL} d1 0-0 order_up,take,discard:JH",
    "acts after the end": f"{DEAL} d1 0-0 pass,pass,pass,pass,pass",
    "discard without the word": f"{DEAL} d1 0-0 order_up,take,9C",
    "play in the discard": f"{DEAL} d1 0-0 order_up,take,play:9C",
    "discard in the play": f"{DEAL} d1 0-0 order_up,leave,discard:JH",
    "empty act": f"{DEAL} d1 0-0 pass,,pass",
    "hidden discard in a full state": f"{DEAL} d1 0-0 pass,accept,discard:??",
    "unknown option": f"{DEAL} d1 0-0 - stick=True",
    "option twice": f"{DEAL} d1 0-0 - joker=True joker=True",
    "value that there is not": f"{DEAL} d1 0-0 - joker=yes",
    "target that is no number": f"{DEAL} d1 0-0 - target_score=ten",
    "target 0": f"{DEAL} d1 0-0 - target_score=0",
    "target in another script": f"{DEAL} d1 0-0 - target_score=²",
    "options that contradict": f"{DEAL} d1 0-0 - redeal_dealer=same stick_the_dealer=True",
    "seat 2": f"{DEAL} d1 0-0 - seat=2",
    "seat twice": f"{DEAL} d1 0-0 - seat=0 seat=1",
    "view: own cards hidden": "JHJDAH9S??/??????????/9H d1 0-0 - seat=0",
    "view: upcard hidden": "JHJDAH9STC/??????????/?? d1 0-0 - seat=0",
    "view: the other's cards shown": f"{DEAL} d1 0-0 - seat=0",
    "view: card twice": "JHJHAH9STC/??????????/9H d1 0-0 - seat=0",
    "view: not in the deck": "JHJDAH9S7C/??????????/9H d1 0-0 - seat=0",
    "view: the other's discard shown": (
        "JHJDAH9STC/??????????/9H d1 0-0 pass,accept,discard:9C seat=0"
    ),
    "view: own discard hidden": "JHJDAH9STC/??????????/9H d0 0-0 pass,accept,discard:?? seat=1",
    "view: own revoke": "JHJDAH9STC/??????????/9H d0 0-0 order_up,leave,9C seat=1",
    "view: the other plays what is not his": (
        "JHJDAH9STC/??????????/9H d1 0-0 order_up,leave,JH,KS seat=0"
    ),
    "view: the other revokes": (
        "JHJDAH9STC/ACKC????????/9H d1 0-0 pass,pass,name:C,TC,AC,AH,KC seat=0"
    ),
    "view: the other shows no such hand": (
        "JHJDAH9STC/KHQHASKC9C/9H d1 0-0 order_up,leave,JH,AS,JD,KH seat=0"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG_POSITIONS.values(), ids=WRONG_POSITIONS)
def test_a_wrong_position_is_refused_and_quoted(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - what it must quote is checked below
        parse_position(text)
    said = str(caught.value)
    deal = text.partition(" ")[0]
    assert repr(text) in said or (deal and repr(deal) in said), said


@pytest.mark.parametrize(
    ("acts", "sentence"),
    [
        pytest.param("order_up,take,9C", "is legal", id="discard without the word"),
        pytest.param("order_up,leave,discard:JH", "is legal", id="discard in the play"),
    ],
)
def test_a_refused_act_is_never_called_legal(acts: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(acts)) as caught:
        parse_position(f"{DEAL} d1 0-0 {acts}")
    assert sentence not in str(caught.value)


WRONG_DEALS = {
    "no deal": 5,
    "a hand short": ([0, 1], [2, 3]),
    "words": ("a", "b", "c"),
    "four cards": ([20, 12, 23, 26], [22, 21, 31, 6, 2], 18),
    "number too high": ([20, 12, 23, 26, 33], [22, 21, 31, 6, 2], 18),
    "negative number": ([20, 12, 23, 26, -1], [22, 21, 31, 6, 2], 18),
    "twice": ([20, 20, 23, 26, 3], [22, 21, 31, 6, 2], 18),
    "not in the deck": ([20, 12, 23, 26, 0], [22, 21, 31, 6, 2], 18),
    "none": None,
}


@pytest.mark.parametrize("deal", WRONG_DEALS.values(), ids=WRONG_DEALS)
def test_a_wrong_deal_in_numbers_is_refused_and_quoted(deal: object) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(deal))):
        notation.read_deal(deal, Rules())


@pytest.mark.parametrize("scores", [(10, 0), (0, 10), (-1, 0), (1,), (1, 2, 3), "ab", None, 7])
def test_wrong_scores_are_refused_and_quoted(scores: object) -> None:
    with pytest.raises(ValueError, match=re.escape(repr(scores))):
        notation.check_scores(scores, 10)


def test_scores_up_to_one_below_the_target_are_taken() -> None:
    assert notation.check_scores((9, 9), 10) == (9, 9)
    assert notation.check_scores((0, 0), 1) == (0, 0)


@pytest.mark.parametrize("name", [name for name in WRONG_POSITIONS if name.startswith("view: ")])
def test_the_error_for_a_view_shows_no_card_that_the_text_hides(name: str) -> None:
    """Stand-ins for hidden cards are nobody's knowledge: no error may tell them as facts."""
    text = WRONG_POSITIONS[name]
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - what it must not say is checked below
        parse_position(text)
    said = str(caught.value).replace(repr(text), "")
    shown, named = (set(re.findall(CARD, words)) for words in (said, text))
    assert shown <= named, said


# --- why an act is refused ----------------------------------------------------------------------


def sentence(position: str, act: str) -> str:
    return explain.why_illegal(parse_position(position)[0], action_number(act))


WHY = [
    pytest.param(
        "AHQHASKC9C/9HJDQSTSTC/KH d1 0-0 pass,pass,name:C,AH", "JD",
        "JD may not be played: hearts were led and you hold 9H", id="must follow",
    ),
    pytest.param(
        "AHQHASKC9C/9HJDQSTSTC/KH d1 0-0 order_up,leave,AH", "TC",
        "TC may not be played: hearts were led and you hold JD 9H", id="left bower follows trump",
    ),
    pytest.param(
        "AHQHASKC9C/9HJDQSTSTC/KH d1 0-0 order_up,leave,AH", "AS",
        "AS may not be played: you hold TC JD 9H TS QS", id="not held",
    ),
    pytest.param(
        "JDQHASKC9C/9HTDQSTSTC/KH d1 0-0 order_up,leave,JD", "TD",
        "TD may not be played: hearts were led and you hold 9H", id="left bower led",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 pass,accept", "9H",
        "9H may not be laid away: it is the card just taken", id="upcard laid away",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 pass,accept", "JH",
        "JH may not be laid away: you hold 9C KC 9H QH KH AS", id="laid away, not held",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 pass,pass", "name:H",
        "name:H is not possible: hearts were turned down", id="turned down",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 pass,pass,pass stick_the_dealer=True", "pass",
        "pass is not possible: the dealer is stuck and must name a suit", id="stuck",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 -", "accept",
        "accept is not possible now: the nondealer passes or orders up", id="accept too early",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 pass", "order_up",
        "order_up is not possible now: the dealer passes or accepts", id="order_up too late",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 order_up", "pass",
        "pass is not possible now: the dealer, ordered up, takes the upcard or leaves it",
        id="pass when ordered up",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 pass,accept", "pass",
        "pass is not possible now: the dealer lays a card away", id="pass in the discard",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 pass,pass", "JH",
        "JH is not possible now: the nondealer passes or names a suit", id="card in round two",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 pass,pass,pass", "take",
        "take is not possible now: the dealer passes or names a suit", id="take in round two",
    ),
    pytest.param(
        "JHJDAH9STC/KHQHASKC9C/JK d1 0-0 - joker=True", "pass",
        "pass is not possible now: the joker was turned up, so the dealer names a suit before he "
        "sees his hand", id="pass when naming blind",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 order_up,leave", "name:H",
        "name:H is not possible now: a card is to be played", id="name in the play",
    ),
    pytest.param(
        f"{DEAL} d1 0-0 pass,pass,pass,pass", "pass",
        "pass is not possible: the deal is over", id="deal over",
    ),
    pytest.param(
        f"{DEAL} d1 9-9 order_up,leave,JH,KH,JD,QH,AH,KC,TC,9C,9S,AS", "pass",
        "pass is not possible: the game is over", id="game over",
    ),
    pytest.param(f"{DEAL} d1 0-0 -", "pass", "pass is legal", id="legal"),
]  # fmt: skip


@pytest.mark.parametrize(("position", "act", "why"), WHY)
def test_why_an_act_is_refused(position: str, act: str, why: str) -> None:
    assert sentence(position, act) == why


@pytest.mark.parametrize(("position", "act", "why"), WHY)
def test_the_actor_s_view_gives_the_same_sentence(position: str, act: str, why: str) -> None:
    state = parse_position(position)
    seat = int(state[0].to_act) if state[0].to_act != NOBODY else 0
    assert explain.why_illegal(views.blank(state, seat)[0], action_number(act)) == why


@pytest.mark.parametrize("action", [-1, 42, 2**40, np.int64(-7), 1.0, "pass", None, True, [3]])
def test_what_is_no_act_number_is_quoted(action: object) -> None:
    view = views.blank(parse_position(f"{DEAL} d1 0-0 -"), 0)[0]
    number = int(action) if isinstance(action, np.int64) else action
    assert f"{number!r} is no act" in explain.why_illegal(view, action)


def test_a_sentence_is_about_legality_for_every_act_in_every_phase() -> None:
    """The sentence says "is legal" of the legal acts and of no others."""
    for state in sample(200 if IS_COMPILED else 60, seed=3):
        legal = int(engine.legal_actions(state)) if state.phase < Phase.DEAL_OVER else 0
        for action in range(NUM_ACTIONS):
            says_legal = explain.why_illegal(state, action).endswith("is legal")
            assert says_legal == bool(legal >> action & 1), format_position(state)


def test_a_sentence_tells_a_view_nothing_that_is_hidden() -> None:
    for state in sample(40, seed=4):
        if state.to_act == NOBODY:
            continue
        seat = int(state.to_act)
        views_of = views.blank(state, seat)
        (other,) = views.fill(views_of, 5)
        for action in range(NUM_ACTIONS):
            if state.phase == Phase.NAME_BLIND:
                continue  # no card is named in any sentence then
            assert explain.why_illegal(state, action) == explain.why_illegal(other, action)


# --- the page -----------------------------------------------------------------------------------


def blocks(kind: str) -> list[str]:
    """The lines of the page's fenced blocks of a kind."""
    found = re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    return [line for block in found for line in block.splitlines() if line.strip()]


def test_the_page_shows_something_of_everything() -> None:
    assert len(blocks("position")) >= 6
    assert len(blocks("deal")) >= 2
    assert any(" seat=" in line for line in blocks("position"))
    assert len(blocks("refused")) >= 3


@pytest.mark.parametrize("line", blocks("position"))
def test_a_position_of_the_page_reads_back(line: str) -> None:
    assert format_position(parse_position(line)[0]) == line


@pytest.mark.parametrize("line", blocks("deal"))
def test_a_deal_of_the_page_reads(line: str) -> None:
    nondealer, dealer, upcard = parse_deal(line)
    assert nondealer.bit_count() == dealer.bit_count() == 5
    assert upcard == card_number(line.rpartition("/")[2])


@pytest.mark.parametrize("line", blocks("refused"))
def test_a_refusal_of_the_page_is_what_the_code_says(line: str) -> None:
    position, _, why = line.partition(" -> ")
    with pytest.raises(ValueError, match=re.escape(why)):
        parse_position(position)


@pytest.mark.parametrize("line", blocks("acts"))
def test_the_acts_of_the_page_are_the_acts(line: str) -> None:
    for name in line.split():
        action_number(name)


def test_the_page_names_every_act_that_is_no_card() -> None:
    named = {name for line in blocks("acts") for name in line.split()}
    assert {name for name in ACTION_NAMES if name not in CARD_NAMES} <= named
