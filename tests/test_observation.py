"""The observation: every field says by name what the view says, no place is dead, none too high."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from euchre_env import engine, observation, views
from euchre_env.actions import ACTION_NAMES, NAME, NUM_ACTIONS, PASS, Phase
from euchre_env.cards import CARD_NAMES, NUM_CARDS, NUM_SUITS, SUIT_NAMES, card_list
from euchre_env.dealing import seed_streams
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import format_position, parse_position
from euchre_env.observation import (
    ABSOLUTE,
    ABSOLUTE_ACTIONS,
    NEEDED_CAP,
    OBSERVATION_FIELDS,
    OBSERVATION_HIGH,
    OBSERVATION_SIZE,
    RELATIVE_ACTIONS,
    RELATIVE_SUITS,
    STARTS,
    decode,
    encode,
)
from euchre_env.rules import OPTION_VALUES
from euchre_env.state import (
    NO_CARD,
    NO_SUIT,
    NOBODY,
    States,
    UpcardPlace,
    new_states,
    rules_of,
)
from tests import reference
from tests.strategies import games, sample, seats, walk

RELATIVE_WORDS = ("turned", "twin", "third", "fourth")


def names(mask: int) -> list[str]:
    return [CARD_NAMES[card] for card in card_list(int(mask))]


def one(number: int, absent: int, texts: tuple[str, ...]) -> str | None:
    return None if number == absent else texts[number]


def expected_fields(view: np.record) -> dict[str, Any]:
    """What the observation of a view must decode to, read off the view field by field."""
    seat, other = int(view.seat), 1 - int(view.seat)
    history = view.history[: view.num_actions].tolist()
    tricks: dict[int, dict[str, int]] = {seat: {}, other: {}}
    leads: dict[int, list[str]] = {seat: [], other: []}
    num_plays = int(view.played[0]).bit_count() + int(view.played[1]).bit_count()
    for i, action in enumerate(history[len(history) - num_plays :]):
        who = 0 if int(view.played[0]) >> action & 1 else 1
        tricks[who][CARD_NAMES[action]] = i // 2 + 1
        if i % 2 == 0:
            leads[who].append(str(i // 2 + 1))
    needed = [int(view.target_score) - int(view.scores[who]) for who in (seat, other)]
    rules = rules_of(view)
    fields = {
        "hand": names(view.hands[seat]),
        "may_hold": names(views.cards_held(np.array([view]))[0]),
        "upcard": CARD_NAMES[view.upcard],
        "discard": one(int(view.discard), NO_CARD, CARD_NAMES),
        "led_card": one(int(view.led_card), NO_CARD, CARD_NAMES),
        "own_plays": tricks[seat],
        "other_plays": tricks[other],
        "own_leads": leads[seat],
        "other_leads": leads[other],
        "own_voids": [s for i, s in enumerate(SUIT_NAMES) if view.voids[seat] >> i & 1],
        "other_voids": [s for i, s in enumerate(SUIT_NAMES) if view.voids[other] >> i & 1],
        "own_tricks": str(view.tricks[seat]),
        "other_tricks": str(view.tricks[other]),
        "phase": Phase(view.phase).name.lower(),
        "is_dealer": ["yes"] if view.dealer == seat else [],
        "passes": str(history.count(PASS)),
        "upcard_place": UpcardPlace(view.upcard_place).name.lower(),
        "trump": "none" if view.trump == NO_SUIT else SUIT_NAMES[view.trump],
        "maker": "none" if view.maker == NOBODY else "own" if view.maker == seat else "other",
        "scores": {
            who: int(view.scores[place])
            for who, place in (("own", seat), ("other", other))
            if view.scores[place]
        },
        "target_score": {"points": int(view.target_score)},
    }
    for field, points in zip(("own_needed", "other_needed"), needed, strict=True):
        text = f"{NEEDED_CAP}+" if points >= NEEDED_CAP else str(points)
        fields[field] = text if points > 0 else None
    for option, values in OPTION_VALUES.items():
        value = getattr(rules, option)
        if len(values) == 2:
            fields[option] = [] if value == values[0] else [str(value)]
        else:
            fields[option] = str(value)
    if rules.joker_turned_up != "fixed_suit":
        fields["joker_fixed_suit"] = None
    return fields


def renamed(value: Any, frame: int) -> Any:
    """A decoded value with cards and suits in the words of relative suits."""
    if isinstance(value, dict):
        return {renamed(key, frame): number for key, number in value.items()}
    if isinstance(value, list):
        return [renamed(each, frame) for each in value]
    if isinstance(value, str) and value in SUIT_NAMES:
        return RELATIVE_WORDS[RELATIVE_SUITS[frame, SUIT_NAMES.index(value)]]
    if isinstance(value, str) and value in CARD_NAMES and value != "JK":
        return f"{value[0]}:{RELATIVE_WORDS[RELATIVE_SUITS[frame, SUIT_NAMES.index(value[1])]]}"
    return value


def in_any_order(value: Any) -> Any:
    return sorted(value) if isinstance(value, list) else value


# --- the table ----------------------------------------------------------------------------------


def test_the_fields_tile_the_vector() -> None:
    place = 0
    for field in OBSERVATION_FIELDS:
        assert STARTS[field.name] == place
        assert field.width >= 1
        assert (OBSERVATION_HIGH[place : place + field.width] == field.high).all()
        place += field.width
    assert place == OBSERVATION_SIZE == len(OBSERVATION_HIGH)
    assert len(STARTS) == len(OBSERVATION_FIELDS)
    assert set(OPTION_VALUES) < set(STARTS)


@pytest.mark.parametrize("relative", [False, True])
def test_no_place_is_always_zero_and_none_too_high(relative: bool) -> None:
    states = walk().flat()
    highest = np.zeros(OBSERVATION_SIZE, dtype=np.uint8)
    for seat in (0, 1):
        encoded = encode(views.blank(states, seat), relative)
        assert encoded.dtype == np.uint8
        highest = np.maximum(highest, encoded.max(axis=0))
    assert (highest <= OBSERVATION_HIGH).all()
    labels = [f"{f.name} {label}" for f in OBSERVATION_FIELDS for label in f.labels]
    dead = [labels[place] for place in np.flatnonzero(highest == 0)]
    # named from the upcard's own suit, the upcard is always in the first suit (or the joker)
    assert dead == ([f"upcard {name}" for name in CARD_NAMES[8:32]] if relative else [])
    full = [f for f in OBSERVATION_FIELDS if f.name not in ("scores", "target_score", "upcard")]
    for field in full:
        reached = highest[STARTS[field.name] : STARTS[field.name] + field.width]
        assert (reached == field.high).all() or not IS_COMPILED, field.name


def test_one_hot_fields_hold_one_place_or_none() -> None:
    encoded = encode(views.blank(walk().flat(), 0))
    for field in OBSERVATION_FIELDS:
        if field.kind == "one":
            part = encoded[:, STARTS[field.name] : STARTS[field.name] + field.width]
            assert (part.sum(axis=1) <= 1).all(), field.name
    for always in ("upcard", "own_tricks", "other_tricks", "phase", "passes", "trump", "maker"):
        field = next(f for f in OBSERVATION_FIELDS if f.name == always)
        part = encoded[:, STARTS[always] : STARTS[always] + field.width]
        assert (part.sum(axis=1) == 1).all(), always


def test_scores_and_targets_beyond_a_byte_are_held_at_the_top() -> None:
    text = "TCJDJHAH9S/9CKCQHKHAS/9H d1 300-2 pass target_score=1000"
    fields = decode(encode(views.blank(parse_position(text), 0))[0])
    assert fields["scores"] == {"own": 255, "other": 2}
    assert fields["target_score"] == {"points": 255}
    assert fields["own_needed"] == fields["other_needed"] == "11+"


# --- encode, decode -----------------------------------------------------------------------------


@pytest.mark.parametrize("seat", [0, 1])
def test_decoding_gives_back_what_the_view_says(seat: int) -> None:
    for view in views.blank(sample(400 if IS_COMPILED else 60, seed=6), seat):
        fields = decode(encode(np.array([view]))[0])
        expected = expected_fields(view)
        assert set(fields) == set(expected)
        for name, value in expected.items():
            assert fields[name] == value, (name, format_position(view))


@pytest.mark.parametrize("seat", [0, 1])
def test_decoding_relative_suits_gives_the_same_in_other_words(seat: int) -> None:
    for view in views.blank(sample(200 if IS_COMPILED else 60, seed=7), seat):
        frame = int(observation.frame_of(view, True))
        fields = decode(encode(np.array([view]), relative=True)[0], relative=True)
        for name, value in expected_fields(view).items():
            wanted = in_any_order(renamed(value, frame))
            assert in_any_order(fields[name]) == wanted, (name, format_position(view))


@given(state=games(), seat=seats)
@settings(max_examples=60)
def test_any_position_decodes_to_its_view(state: States, seat: int) -> None:
    seen = views.blank(state, seat)
    assert decode(encode(seen)[0]) == expected_fields(seen[0])


def test_a_known_view_reads_back_by_name() -> None:
    text = "TCJDJHAH9S/KH????????/9H d1 2-3 pass,accept,discard:??,JH,KH seat=0"
    fields = decode(encode(parse_position(text))[0])
    wanted = {
        "hand": ["TC", "JD", "AH", "9S"],
        "upcard": "9H",
        "discard": None,
        "led_card": None,
        "own_plays": {"JH": 1},
        "other_plays": {"KH": 1},
        "own_leads": ["1"],
        "other_leads": [],
        "own_voids": [],
        "other_voids": [],
        "own_tricks": "1",
        "other_tricks": "0",
        "phase": "play",
        "is_dealer": [],
        "passes": "1",
        "upcard_place": "taken",
        "trump": "H",
        "maker": "other",
        "own_needed": "8",
        "other_needed": "7",
        "scores": {"own": 2, "other": 3},
        "target_score": {"points": 10},
        "stick_the_dealer": [],
        "lowest_rank": "9",
    }
    assert {name: fields[name] for name in wanted} == wanted
    assert "9H" in fields["may_hold"]
    assert not {"JH", "KH", "TC", "JD", "AH", "9S", "JK"} & set(fields["may_hold"])


@pytest.mark.parametrize("shape", [(), (OBSERVATION_SIZE - 1,), (1, OBSERVATION_SIZE)])
def test_what_is_no_observation_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="an observation has shape"):
        decode(np.zeros(shape, dtype=np.uint8))


def test_states_are_not_encoded() -> None:
    with pytest.raises(ValueError, match="of a view"):
        encode(sample(30))


def test_every_place_is_written_anew() -> None:
    seen = views.blank(sample(100), 0)
    room = np.full((len(seen), OBSERVATION_SIZE), 77, dtype=np.uint8)
    assert encode(seen, out=room) is room
    assert (room == encode(seen)).all()


# --- suits: as the referee counts them ----------------------------------------------------------


@pytest.mark.parametrize("trump", range(NUM_SUITS), ids=list(SUIT_NAMES))
def test_led_cards_and_voids_are_of_the_suit_a_card_counts_as(trump: int) -> None:
    """Every card led and answered by every card (33 by 32, all four trumps): void or not, and
    what the one who failed may still hold, as the referee counts suits."""
    deck = list(CARD_NAMES)
    suit = SUIT_NAMES[trump]
    rows, expected = [], []
    for led in deck:
        for answer in deck:
            if answer == led:
                continue
            nondealer, dealer, upcard = hands_that_allow(led, answer, suit)
            text = "".join(nondealer) + "/" + "".join(dealer) + f"/{upcard}"
            rows.append((text, led, answer))
            led_suit = reference.effective_suit(led, suit)
            follows = reference.effective_suit(answer, suit) == led_suit
            gone = set() if follows else set(reference.suit_order(led_suit, suit, RAILROAD))
            expected.append(([] if follows else [led_suit], gone))
    assert len(rows) == 33 * 32
    for (text, led, answer), (voids, gone) in zip(rows, expected, strict=True):
        state = played(text, suit, led, answer)
        fields = decode(encode(views.blank(state, 0))[0])
        other = decode(encode(views.blank(state, 1))[0])
        assert fields["other_voids"] == other["own_voids"] == voids, (suit, led, answer)
        assert not gone & set(fields["may_hold"]), (suit, led, answer)
        assert fields["own_plays"] == other["other_plays"] == {led: 1}
        wins = reference.trick_winner(led, answer, suit) == "follower"
        assert fields["own_tricks"] == ("0" if wins else "1"), (suit, led, answer)


RAILROAD = {"lowest_rank": "7", "joker": True}


def hands_that_allow(led: str, answer: str, trump: str) -> tuple[list[str], list[str], str]:
    """Hands in which an answer is legal, and an upcard of another suit than trump."""
    led_suit = reference.effective_suit(led, trump)
    follows = reference.effective_suit(answer, trump) == led_suit
    others = [card for card in CARD_NAMES if card not in (led, answer)]
    upcard = next(c for c in others if c != "JK" and c[1] != trump)
    others.remove(upcard)
    mine = [c for c in others if follows or reference.effective_suit(c, trump) != led_suit][:4]
    yours = [c for c in others if c not in mine][:4]
    return [led, *yours], [answer, *mine], upcard


def played(deal: str, trump: str, led: str, answer: str) -> States:
    """Seat 0 names trump in round two, leads; the dealer, seat 1, answers."""
    return parse_position(
        f"{deal} d1 0-0 pass,pass,name:{trump},{led},{answer} lowest_rank=7 joker=True"
    )


# --- relative suits -----------------------------------------------------------------------------


def test_relative_acts_and_absolute_acts_undo_each_other() -> None:
    every = np.arange(NUM_ACTIONS)
    for frame in range(NUM_SUITS + 1):
        assert (ABSOLUTE_ACTIONS[frame][RELATIVE_ACTIONS[frame]] == every).all()
        assert (RELATIVE_ACTIONS[frame][ABSOLUTE_ACTIONS[frame]] == every).all()
        assert (RELATIVE_ACTIONS[frame][PASS:] == every[PASS:]).all()
    assert (RELATIVE_ACTIONS[ABSOLUTE] == every).all()


def test_relative_suits_put_the_turned_suit_first_and_its_twin_second() -> None:
    for turned in range(NUM_SUITS):
        frame = RELATIVE_SUITS[turned]
        assert sorted(frame) == [0, 1, 2, 3]
        assert frame[turned] == 0
        assert frame[3 - turned] == 1
        low, high = (suit for suit in range(NUM_SUITS) if suit not in (turned, 3 - turned))
        assert (frame[low], frame[high]) == (2, 3)
        for action in range(NUM_ACTIONS):
            name = ACTION_NAMES[RELATIVE_ACTIONS[turned, action]]
            if action < NUM_CARDS - 1:
                assert name == CARD_NAMES[action][0] + SUIT_NAMES[frame[action // 8]]
            elif NAME <= action < PASS:
                assert name == f"name:{SUIT_NAMES[frame[action - NAME]]}"
            else:
                assert name == ACTION_NAMES[action]


@pytest.mark.parametrize("seat", [0, 1])
def test_relative_observations_are_the_absolute_ones_with_suits_moved(seat: int) -> None:
    """Each field of cards is moved by the same table as the acts, each field of suits by the
    same suits; the other fields stay."""
    seen = views.blank(walk().flat()[::7], seat)
    absolute, relative = encode(seen), encode(seen, relative=True)
    frames = np.array([observation.frame_of(view, True) for view in seen])
    assert set(frames.tolist()) == {0, 1, 2, 3, ABSOLUTE}
    for frame in range(NUM_SUITS + 1):
        rows = np.flatnonzero(frames == frame)
        for field in OBSERVATION_FIELDS:
            places = slice(STARTS[field.name], STARTS[field.name] + field.width)
            move = np.arange(field.width)
            if field.labels == CARD_NAMES:
                move = RELATIVE_ACTIONS[frame, :NUM_CARDS]
            elif field.labels[:NUM_SUITS] == tuple(SUIT_NAMES):
                move[:NUM_SUITS] = RELATIVE_SUITS[frame]
            moved = np.zeros((len(rows), field.width), dtype=np.uint8)
            moved[:, move] = absolute[rows, places]
            assert (moved == relative[rows, places]).all(), field.name


def test_relative_masks_are_the_masks_with_the_acts_renamed() -> None:
    states = walk().flat()
    states = states[states["phase"] < Phase.DEAL_OVER][::50]
    for state, bits in zip(states, engine.action_bits(states).tolist(), strict=True):
        for frame in range(NUM_SUITS + 1):
            expected = sum(
                1 << int(RELATIVE_ACTIONS[frame, a]) for a in range(NUM_ACTIONS) if bits >> a & 1
            )
            assert int(observation.relative_bits(bits, frame)) == expected, format_position(state)


@pytest.mark.parametrize("relative", [False, True])
def test_observing_is_blanking_and_encoding_in_one(relative: bool) -> None:
    states = new_states(64)
    seed_streams(states, np.arange(64, dtype=np.uint64))
    engine.start_games(states)
    for _ in range(20):
        engine.play_random(states, 1)
        for seat in (0, 1, states["to_act"]):
            expected = encode(views.blank(states, seat), relative)
            assert (observation.observe(states, seat, relative) == expected).all()
    with pytest.raises(ValueError, match="views already"):
        observation.observe(views.blank(states, 0), 0)
    with pytest.raises(ValueError, match="uint8 of shape"):
        observation.observe(states, 0, out=np.empty((2, 3), dtype=np.uint8))
