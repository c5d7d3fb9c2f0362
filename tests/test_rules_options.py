"""The options: checked when set, kept by every row, and each of them changes something."""

from __future__ import annotations

import ast
import copy
import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from euchre_env import engine
from euchre_env.actions import Phase, action_list, action_name
from euchre_env.cards import JOKER, card_number
from euchre_env.dealing import next_dealer
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import parse_position
from euchre_env.rules import DECIDED, OPTION_VALUES, Rules
from euchre_env.state import (
    NO_SUIT,
    NOBODY,
    STATE_DTYPE,
    STATE_FIELDS,
    States,
    new_states,
    rules_of,
)
from tests import reference
from tests.strategies import EVERY_RULES, differing, hands_dealt, laid_out, replayed, rules, walk

DEAL = "TCJDJHAH9S/9CKCQHKHAS/9H"
JOKER_DEAL = "TCJDJHAH9S/9CKCQHKHAS/JK"
EUCHRED = "TCTD9D9S9H/ACADAHASKC/QC d1 0-0 pass,pass,name:S"


def facts(text: str) -> dict[str, Any]:
    """What a position comes to: whose act, which acts, trump, points, who deals next."""
    (state,) = parse_position(text)
    live = state.phase < Phase.DEAL_OVER
    return {
        "phase": Phase(state.phase).name,
        "legal": {action_name(a) for a in action_list(int(engine.legal_actions(state)))},
        "trump": "none" if state.trump == NO_SUIT else "CDHS"[state.trump],
        "points": tuple(state.points.tolist()),
        "winner": int(state.winner),
        "next": NOBODY if live else int(next_dealer(state)),
        "deck": int(state.deck).bit_count(),
    }


NAMES = {"name:C", "name:D", "name:H", "name:S"}
CHANGES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    # option=value: (position, other options, facts by default, facts with the option)
    "lowest_rank=8": (f"{DEAL} d1 0-0 -", "", {"deck": 24}, {"deck": 28}),
    "lowest_rank=7": (f"{DEAL} d1 0-0 -", "", {"deck": 24}, {"deck": 32}),
    "joker=True": (f"{DEAL} d1 0-0 -", "", {"deck": 24}, {"deck": 25}),
    "target_score=5": (
        f"{DEAL} d1 4-4 order_up,leave,JH,QH,AH,KH,JD,9C,TC,KC,AS,9S", "",
        {"winner": NOBODY, "phase": "DEAL_OVER"}, {"winner": 0, "phase": "GAME_OVER"},
    ),
    "order_up_pickup=must": (
        f"{DEAL} d1 0-0 order_up", "",
        {"legal": {"take", "leave"}}, {"legal": {"9C", "KC", "QH", "KH", "AS"}},
    ),
    "discard_upcard=True": (
        f"{DEAL} d1 0-0 order_up,take", "",
        {"legal": {"9C", "KC", "QH", "KH", "AS"}},
        {"legal": {"9C", "KC", "QH", "KH", "AS", "9H"}},
    ),
    "allow_turned_down_suit=stuck_dealer": (
        f"{DEAL} d1 0-0 pass,pass,pass", "stick_the_dealer=True",
        {"legal": NAMES - {"name:H"}}, {"legal": NAMES},
    ),
    "allow_turned_down_suit=always": (
        f"{DEAL} d1 0-0 pass,pass", "",
        {"legal": NAMES - {"name:H"} | {"pass"}}, {"legal": NAMES | {"pass"}},
    ),
    "stick_the_dealer=True": (
        f"{DEAL} d1 0-0 pass,pass,pass", "",
        {"legal": NAMES - {"name:H"} | {"pass"}}, {"legal": NAMES - {"name:H"}},
    ),
    "redeal_dealer=same": (
        f"{DEAL} d1 0-0 pass,pass,pass,pass", "",
        {"points": (0, 0), "next": 0}, {"points": (0, 0), "next": 1},
    ),
    "joker_turned_up=fixed_suit": (
        f"{JOKER_DEAL} d1 0-0 -", "joker=True",
        {"legal": NAMES, "phase": "NAME_BLIND"},
        {"legal": {"pass", "order_up"}, "phase": "ORDER"},
    ),
    "joker_fixed_suit=C": (
        f"{JOKER_DEAL} d1 0-0 order_up", "joker=True joker_turned_up=fixed_suit",
        {"trump": "H"}, {"trump": "C"},
    ),
    "joker_fixed_suit=D": (
        f"{JOKER_DEAL} d1 0-0 order_up", "joker=True joker_turned_up=fixed_suit",
        {"trump": "H"}, {"trump": "D"},
    ),
    "joker_fixed_suit=S": (
        f"{JOKER_DEAL} d1 0-0 order_up", "joker=True joker_turned_up=fixed_suit",
        {"trump": "H"}, {"trump": "S"},
    ),
    # the maker, seat 0, has lost three tricks: euchred, whatever is still to come
    "stop_when_decided=True": (
        f"{EUCHRED},TC,AC,AD,9D,AH,9H", "",
        {"phase": "PLAY", "points": (0, 0)}, {"phase": "DEAL_OVER", "points": (0, 2)},
    ),
    "super_euchre=True": (
        f"{EUCHRED},TC,AC,AD,9D,AH,9H,AS,9S,KC,TD", "", {"points": (0, 2)}, {"points": (0, 4)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("option", CHANGES)
def test_every_option_changes_a_result(option: str) -> None:
    position, others, by_default, with_option = CHANGES[option]
    without = facts(" ".join(filter(None, [position, others])))
    changed = facts(" ".join(filter(None, [position, others, option])))
    assert {name: without[name] for name in by_default} == by_default
    assert {name: changed[name] for name in with_option} == with_option
    assert by_default != with_option


def test_no_option_value_is_left_out() -> None:
    """The one that needs a drawn deal has its test below."""
    every = {f"{name}={value}" for name, values in OPTION_VALUES.items() for value in values[1:]}
    every.add("joker_fixed_suit=C")  # the default, H, is not the first of its list
    every -= {"joker_fixed_suit=H", "joker_turned_up=redeal"}
    assert set(CHANGES) == every | {"target_score=5"}


def test_a_joker_that_is_dealt_again_never_lies_there() -> None:
    rows = walk().flat()
    has_joker = rows["joker"] == 1
    deals_again = rows["joker_turned_up"] == OPTION_VALUES["joker_turned_up"].index("redeal")
    assert not (rows["upcard"][deals_again] == JOKER).any()
    assert (rows["upcard"][has_joker & ~deals_again] == JOKER).any()
    with pytest.raises(ValueError, match="deal again"):
        parse_position(f"{JOKER_DEAL} d1 0-0 - joker=True joker_turned_up=redeal")


# --- stopping early -----------------------------------------------------------------------------


def scored(stop: int) -> States:
    """Deals of the walk that were scored, played with or without ``stop_when_decided``."""
    rows = walk().flat()
    chosen: States = rows[
        (rows["phase"] >= Phase.DEAL_OVER)
        & (rows["maker"] != NOBODY)
        & (rows["stop_when_decided"] == stop)
    ]
    return chosen


def test_stopping_early_gives_the_points_of_the_whole_deal() -> None:
    """Deals played out, once more with the option: the same points after fewer acts."""
    whole = scored(stop=0)
    states = laid_out(whole)
    states["stop_when_decided"] = 1
    for count in range(14):
        left = np.flatnonzero((whole["num_actions"] > count) & (states["phase"] < Phase.DEAL_OVER))
        if len(left):
            part = states[left]
            engine.apply_all(part, whole["history"][left, count].astype(np.int64))
            states[left] = part
    assert (states["phase"] == whole["phase"]).all()
    for name in ("points", "scores", "winner"):
        assert (states[name] == whole[name]).all(), name
    assert (states["num_actions"] < whole["num_actions"]).sum() > len(whole) // 4


@pytest.mark.parametrize("attempt", range(5))
def test_playing_on_after_an_early_stop_changes_no_points(attempt: int) -> None:
    """Deals that stopped early, played to the fifth trick at random: nothing changes."""
    stopped = scored(stop=1)
    # the last act again, now without the option: so the deal goes on
    states = replayed(states_before_last(stopped))
    last = stopped["history"][np.arange(len(stopped)), stopped["num_actions"] - 1]
    engine.apply_all(states, last.astype(np.int64))
    went_on = 0
    for turn in range(10):
        left = np.flatnonzero(states["phase"] < Phase.DEAL_OVER)
        if not len(left):
            break
        went_on = max(went_on, len(left))
        part = states[left]
        drawn = np.empty(len(part), dtype=np.int64)
        engine.draw_actions(part, drawn, 100 * attempt + turn)
        engine.apply_all(part, drawn)
        states[left] = part
    assert went_on > len(stopped) // 4
    assert (states["tricks"].sum(axis=1) == 5).all()
    for name in ("points", "scores", "winner", "phase"):
        assert (states[name] == stopped[name]).all(), name


def states_before_last(rows: States) -> States:
    """Rows as their own deals without the last act, and without ``stop_when_decided``."""
    before = rows.copy()
    before["hands"] = hands_dealt(rows)
    for name, value in {"played": 0, "discard": -1, "upcard_place": 0}.items():
        before[name] = value
    before["scores"] -= rows["points"]
    before["points"] = 0
    before["num_actions"] -= 1
    before["stop_when_decided"] = 0
    return before


def test_what_is_decided_is_what_the_referee_calls_settled() -> None:
    for rule in (0, 1):
        for maker in range(6):
            for defender in range(6 - maker):
                options = reference.complete({"super_euchre": bool(rule)})
                settled = reference.points_settled(maker, defender, options)
                assert bool(DECIDED[rule, maker, defender]) == settled


# --- Rules: values and combinations -------------------------------------------------------------

WRONG = [
    {"lowest_rank": 9},
    {"lowest_rank": "10"},
    {"lowest_rank": ["9"]},
    {"joker": 1},
    {"joker": "True"},
    {"joker": None},
    {"stick_the_dealer": 0},
    {"order_up_pickup": "never"},
    {"order_up_pickup": True},
    {"redeal_dealer": "other"},
    {"joker_turned_up": "joker", "joker": True},
    {"joker_fixed_suit": "h", "joker": True, "joker_turned_up": "fixed_suit"},
    {"target_score": 0},
    {"target_score": -10},
    {"target_score": 10.0},
    {"target_score": "10"},
    {"target_score": True},
    {"target_score": None},
    {"target_score": 2**31},
]


@pytest.mark.parametrize("options", WRONG, ids=str)
def test_a_wrong_value_is_refused_and_quoted(options: dict[str, Any]) -> None:
    name, value = next(iter(options.items()))
    with pytest.raises(ValueError, match=name) as caught:
        Rules(**options)
    assert f"{name}={value!r}" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"allow_turned_down_suit": "stuck_dealer"}, "no dealer is ever stuck"),
        ({"redeal_dealer": "same", "stick_the_dealer": True}, "no deal is ever thrown in"),
        ({"joker_turned_up": "redeal"}, "there is no joker to turn up"),
        ({"joker_turned_up": "fixed_suit"}, "there is no joker to turn up"),
        ({"joker_fixed_suit": "S"}, "needs joker_turned_up='fixed_suit'"),
        ({"joker_fixed_suit": "S", "joker": True}, "needs joker_turned_up='fixed_suit'"),
    ],
)
def test_a_combination_that_means_nothing_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Rules(**options)


def test_an_unknown_option_or_one_without_a_name_is_refused() -> None:
    with pytest.raises(TypeError):
        Rules(no_such_option=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Rules("9")  # type: ignore[call-arg]


def test_every_set_of_options_is_another() -> None:
    assert len(EVERY_RULES) == 2352
    assert len(set(EVERY_RULES)) == 2352
    assert {each.num_cards for each in EVERY_RULES} == {24, 25, 28, 29, 32, 33}


def test_rules_come_back_from_their_codes() -> None:
    for each in EVERY_RULES:
        assert Rules.from_codes(each.codes()) == each


@given(chosen=rules())
@settings(max_examples=50)
def test_a_row_keeps_its_rules(chosen: Rules) -> None:
    row = new_states(1, chosen)[0]
    assert rules_of(row) == chosen
    assert int(row.deck) == chosen.deck
    assert copy.deepcopy(chosen) == chosen


def read_back(text: str) -> Rules:
    """The rules that a ``repr`` writes, its values read as literals only."""
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    assert call.func.id == "Rules"
    assert not call.args
    return Rules(**{str(word.arg): ast.literal_eval(word.value) for word in call.keywords})


def test_rules_come_back_from_what_is_printed() -> None:
    for each in EVERY_RULES:
        assert read_back(repr(each)) == each
    assert repr(Rules()) == "Rules()"
    assert repr(Rules(target_score=5)) == "Rules(target_score=5)"


def test_rules_are_frozen() -> None:
    chosen = Rules()
    with pytest.raises(dataclasses.FrozenInstanceError):
        chosen.joker = True  # type: ignore[misc]
    assert hash(chosen) == hash(Rules())
    assert dataclasses.replace(chosen, joker=True) == Rules.british()


@pytest.mark.parametrize(
    ("chosen", "changed", "num_cards"),
    [
        (Rules(), {}, 24),
        (Rules.british(), {"joker": True}, 25),
        (Rules.with_32_cards(), {"lowest_rank": "7"}, 32),
        (Rules.railroad_pack(), {"lowest_rank": "7", "joker": True}, 33),
        (Rules.stick(), {"stick_the_dealer": True}, 24),
        (Rules.british(target_score=5), {"joker": True, "target_score": 5}, 25),
        (Rules.stick(stick_the_dealer=False), {}, 24),
    ],
)
def test_presets(chosen: Rules, changed: dict[str, Any], num_cards: int) -> None:
    assert chosen.changed() == changed
    assert chosen == Rules(**changed)
    assert chosen.num_cards == num_cards


def test_the_decks_are_the_referee_s() -> None:
    for each in EVERY_RULES if IS_COMPILED else EVERY_RULES[::50]:
        cards = reference.deck({"lowest_rank": each.lowest_rank, "joker": each.joker})
        assert each.deck == sum(1 << card_number(card) for card in cards)


def test_the_walk_is_played_by_the_rules_that_each_row_names() -> None:
    rows, _ = walk()
    first = rows[0]
    changing = sorted(set(first.dtype.names or ()) - {*OPTION_VALUES, "target_score", "deck"})
    assert differing(first, rows[-1], but=changing) == []
    assert all(rules_of(row) in EVERY_RULES for row in first[:: max(1, len(first) // 100)])


@pytest.mark.parametrize("num", [0, -1])
def test_there_is_at_least_one_game(num: int) -> None:
    with pytest.raises(ValueError, match=f"num_games={num}"):
        new_states(num)


def test_a_row_of_the_state_has_no_padding() -> None:
    sizes = [np.dtype((kind, shape)).itemsize for _, kind, shape, _ in STATE_FIELDS]
    assert sum(sizes) == STATE_DTYPE.itemsize
