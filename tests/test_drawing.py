"""The drawn table: what a seat sees, nothing of what it does not, and pixels of it everywhere."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

import gymnasium
import numpy as np
import pytest
from gymnasium.error import DependencyNotInstalled
from hypothesis import given, settings

from euchre_env import EuchreEnv, engine, views
from euchre_env.actions import Phase, action_list, action_number
from euchre_env.card_art import card_words
from euchre_env.cards import NUM_CARDS, card_list
from euchre_env.drawing import TABLE_HEIGHT, TABLE_WIDTH, Drawing, sheet, show, table_svg
from euchre_env.glyphs import LETTERS, text_svg, text_width
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import parse_position
from euchre_env.rules import Rules
from euchre_env.state import NOBODY, States
from euchre_env.story import bids_of, result_of, tricks_of
from tests import reference
from tests.strategies import games, sample, seats

ID = "euchre_env/Euchre-v0"
SVG = "{http://www.w3.org/2000/svg}"
BACK = "a card face down"
FULL = "TCJDJHAH9S/KHQHKC9CAC/9H d1 2-3 "
SHAPE = (TABLE_HEIGHT, TABLE_WIDTH, 3)


def titles(svg: str) -> list[str]:
    """Every card drawn, in words."""
    return [title.text or "" for title in ET.fromstring(svg).iter(f"{SVG}title")]


def raised(view: np.record) -> set[str]:
    """The cards that stand above or below the others of their hand."""
    places = [
        (title.text or "", float(re.findall(r"translate\(\S+ (\S+)\)", group.get("transform"))[0]))
        for group in ET.fromstring(table_svg(view)).iter(f"{SVG}g")
        for title in group.findall(f"{SVG}title")
        if "scale" not in (group.get("transform") or "")
    ]
    return {words for words, y in places if y in (16 + 12, 322 - 12)}


# --- hidden cards -------------------------------------------------------------------------------


@given(state=games(), seat=seats)
@settings(max_examples=30 if IS_COMPILED else 10)
def test_hidden_cards_change_nothing_in_the_picture(state: States, seat: int) -> None:
    seen = views.blank(state, seat)
    again = views.blank(views.fill(seen, 3), seat)
    assert table_svg(seen[0]) == table_svg(again[0])


@pytest.mark.parametrize("seat", [0, 1])
def test_no_card_is_drawn_that_the_seat_cannot_place(seat: int) -> None:
    for view in views.blank(sample(150 if IS_COMPILED else 40, seed=21), seat):
        svg = table_svg(view)
        trump = int(view.trump)
        shown = set(titles(svg))
        hidden = card_list(int(views.unseen(view)))
        assert not shown & {card_words(card, trump) for card in hidden}


def test_the_discard_is_seen_by_the_dealer_alone() -> None:
    state = parse_position(FULL + "pass,accept,discard:9C")
    assert "nine of clubs" in titles(table_svg(views.blank(state, 1)[0]))
    assert "nine of clubs" not in titles(table_svg(views.blank(state, 0)[0]))


# --- what is drawn ------------------------------------------------------------------------------


@given(state=games())
@settings(max_examples=20 if IS_COMPILED else 10)
def test_an_open_table_shows_both_hands_and_no_back_but_the_stock(state: States) -> None:
    shown = titles(table_svg(state[0]))
    for seat in (0, 1):
        held = card_list(int(state[0].hands[seat]))
        assert {card_words(card, int(state[0].trump)) for card in held} <= set(shown)
    assert shown.count(BACK) == 3


def test_a_view_has_as_many_backs_as_the_other_holds_cards() -> None:
    for view in views.blank(sample(200 if IS_COMPILED else 40, seed=22), 0):
        if view.phase >= Phase.DEAL_OVER:
            continue
        backs = sum(
            int(views.hand_size(view, seat)) - int(view.hands[seat]).bit_count() for seat in (0, 1)
        )
        is_laid_away_unseen = views.discard_place(view) >= 0 and view.dealer == 1
        assert titles(table_svg(view)).count(BACK) == 3 + backs + is_laid_away_unseen


@pytest.mark.parametrize("seat", [0, 1, NOBODY])
def test_legal_cards_are_raised_and_no_others(seat: int) -> None:
    states = sample(200 if IS_COMPILED else 40, seed=23)
    for view in states if seat == NOBODY else views.blank(states, seat):
        is_card = view.phase in (Phase.PLAY, Phase.DISCARD) and seat in (NOBODY, view.to_act)
        legal = action_list(int(engine.legal_actions(view))) if is_card else []
        assert raised(view) == {card_words(card, int(view.trump)) for card in legal}


def test_every_position_is_a_small_document_without_fonts() -> None:
    rows = sample(200 if IS_COMPILED else 40, seed=24)
    for state, seat in zip(rows, np.arange(len(rows)) % 2, strict=True):
        for row in (state, views.blank(state, int(seat))[0]):
            svg = table_svg(row)
            assert len(svg) < 60_000
            tags = {element.tag.removeprefix(SVG) for element in ET.fromstring(svg).iter()}
            assert tags <= {"svg", "g", "path", "rect", "circle", "title"}
            assert " id=" not in svg
            assert "nan" not in svg


def test_values_stand_beside_legal_acts_and_the_best_is_framed() -> None:
    state = parse_position(FULL + "pass,accept,discard:9C")[0]
    plain = table_svg(state)
    by_name = table_svg(state, values={"JH": 1, "9S": -0.5})
    by_number = table_svg(state, values={action_number("JH"): 1, action_number("9S"): -0.5})
    array = np.full(42, np.nan)
    array[[action_number("JH"), action_number("9S")]] = 1, -0.5
    assert by_name == by_number == table_svg(state, values=array) != plain
    assert table_svg(state, values={"KH": 1.0}) == plain, "a card of the other hand"
    assert by_name.count('rx="9"') == 2
    assert len(re.findall('rx="9" [^>]*stroke=', by_name)) == 1


@pytest.mark.parametrize(
    ("values", "words"),
    [({"XX": 1.0}, "'XX'"), ({99: 1.0}, "99 is no act"), (np.zeros(5), r"shape \(5,\)")],
)
def test_values_that_are_not_by_act_are_refused(values, words) -> None:
    with pytest.raises(ValueError, match=words):
        show(parse_position(FULL + "-")[0], values=values)


def test_cards_are_named_as_the_referee_counts_them() -> None:
    for trump, suit in enumerate("CDHS"):
        for number in range(NUM_CARDS - 1):
            words = card_words(number, trump)
            name = engine_name(number)
            assert words.endswith("right bower") == (name == "J" + suit)
            assert words.endswith("left bower") == (name == "J" + reference.SAME_COLOUR[suit])


def engine_name(number: int) -> str:
    return "789TJQKA"[number % 8] + "CDHS"[number // 8]


# --- the story of a deal ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("acts", "told"),
    [
        ("pass,pass,name:C,JH", [(0, "passes"), (1, "passes"), (0, "names clubs")]),
        ("pass,accept", [(0, "passes"), (1, "accepts")]),
        (
            "order_up,take,discard:KC",
            [(0, "orders up"), (1, "takes it"), (1, "lays one away")],
        ),
        ("order_up,leave,JH", [(0, "orders up"), (1, "leaves it")]),
        ("pass,pass,pass,name:S", [(0, "passes"), (1, "passes")] * 1
         + [(0, "passes"), (1, "names spades")]),
    ],
)  # fmt: skip
def test_bids_are_told_by_seat(acts: str, told: list[tuple[int, str]]) -> None:
    assert [(bid.seat, bid.words) for bid in bids_of(parse_position(FULL + acts)[0])] == told


def test_a_blind_name_and_its_discard_are_the_dealers() -> None:
    state = parse_position("TCJDJHAH9S/KHQHKC9CAC/JK d1 0-0 name:S,discard:9C joker=True")[0]
    assert [(bid.seat, bid.words) for bid in bids_of(state)] == [
        (1, "names spades"),
        (1, "lays one away"),
    ]


def test_tricks_and_bids_agree_with_the_state() -> None:
    """Who won and led follows from the cards; the state kept count on its own."""
    for state in sample(200 if IS_COMPILED else 60, seed=25):
        tricks = tricks_of(state)
        for seat in (0, 1):
            assert sum(trick.winner == seat for trick in tricks) == state.tricks[seat]
            played = sum(1 << card for t in tricks if (card := t.card_of(seat)) is not None)
            assert played == int(state.played[seat])
        for place, trick in enumerate(tricks):
            assert int(state.leads[trick.leader]) >> place & 1
        for before, after in itertools.pairwise(tricks):
            assert after.leader == before.winner
        makers = [bid.seat for bid in bids_of(state) if 33 <= bid.action != 37 and bid.action < 40]
        assert makers == ([int(state.maker)] if state.maker != NOBODY else [])


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (FULL + "pass,pass,pass,pass", "both passed twice: thrown in"),
        (
            FULL + "pass,accept,discard:9C,JH,9H,AH,QH,JD,KH,TC,AC,KC,9S",
            "seat 1 is euchred: 2 to seat 0",
        ),
        (
            FULL + "order_up,leave,JH,KH,JD,QH,AH,KC,TC,AC,9C,9S",
            "seat 0 makes it: 1 point",
        ),
        (
            "ACJDJHAHAS/KHQHKC9CTC/9H d1 2-3 order_up,leave,JH,KH,JD,QH,AH,KC,AC,9C,AS,TC",
            "seat 0 marches: 2 points",
        ),
        (FULL + "pass,accept", ""),
    ],
)
def test_a_result_is_told_in_a_sentence(position: str, words: str) -> None:
    assert result_of(parse_position(position)[0]) == words


# --- letters ------------------------------------------------------------------------------------


def test_every_letter_of_the_alphabet_is_there() -> None:
    suits = "♣♦♥♠★*"
    plain = suits + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:-+/()!?"
    assert set(plain) <= set(LETTERS)
    for letter in plain:
        width, path = LETTERS[letter]
        assert width >= 0
        assert path.startswith("m"), letter


def test_a_text_is_as_wide_as_its_letters() -> None:
    assert text_width("", 10) == 0
    assert text_width("seat", 20) == pytest.approx(2 * text_width("seat", 10))
    assert text_svg("", 0, 0, 10, "#fff") == ""
    assert text_svg("é", 0, 0, 10, "#fff") == text_svg("?", 0, 0, 10, "#fff")


# --- files and pixels ---------------------------------------------------------------------------


@pytest.fixture
def drawing() -> Drawing:
    return show(parse_position(FULL + "pass,accept,discard:9C,JH,9H")[0])


def test_a_drawing_displays_and_saves_itself(drawing: Drawing, tmp_path) -> None:
    assert drawing._repr_svg_() == drawing.svg
    assert repr(drawing) == "Drawing(width=640)", "a page of SVG at every prompt"
    assert drawing.save(tmp_path / "table.svg").read_text("utf-8") == drawing.svg
    assert drawing.save(str(tmp_path / "table.png")).read_bytes() == drawing.to_png()
    with pytest.raises(ValueError, match=r"table\.gif"):
        drawing.save(tmp_path / "table.gif")


def test_a_sheet_shows_its_drawings_in_rows(drawing: Drawing) -> None:
    page = sheet([drawing] * 5, columns=2, width=400)
    inner = ET.fromstring(page.svg).findall(f"{SVG}svg")
    assert [(float(one.get("x")), float(one.get("y"))) for one in inner] == [
        (3, 2), (203, 2), (3, 142), (203, 142), (3, 282),
    ]  # fmt: skip
    assert page.to_rgb().shape == (420, 400, 3)
    for drawings, columns in (([], 3), ([drawing], 0)):
        with pytest.raises(ValueError, match="at least 1"):
            sheet(drawings, columns)


@pytest.mark.parametrize("width", [64, 640])
def test_pixels_come_at_any_width(drawing: Drawing, width: int) -> None:
    pixels = drawing.to_rgb(width)
    assert pixels.dtype == np.uint8
    assert pixels.shape == (round(width * TABLE_HEIGHT / TABLE_WIDTH), width, 3)
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 20
    with pytest.raises(ValueError, match="width=1"):
        drawing.to_rgb(1)


def test_the_picture_is_the_same_without_any_font(drawing: Drawing, tmp_path) -> None:
    """Another process that can find no font, of this machine or another, draws the same."""
    program = (
        "import sys, euchre_env.drawing as d, euchre_env.notation as n\n"
        f"v = n.parse_position({FULL + 'pass,accept,discard:9C,JH,9H'!r})[0]\n"
        "sys.stdout.buffer.write(d.show(v).to_png())"
    )
    env = {**os.environ, "FONTCONFIG_FILE": str(tmp_path / "none"), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, check=True)
    assert done.stdout == drawing.to_png()


# --- the environments ---------------------------------------------------------------------------


def play(env: gymnasium.Env, seed: int = 0, steps: int = 1000) -> list[object]:
    """Random legal acts up to the end; the pictures after each."""
    _, info = env.reset(seed=seed)
    env.action_space.seed(seed)
    pictures, ended = [env.render()], False
    while not ended and len(pictures) <= steps:
        action = env.action_space.sample(mask=info["action_mask"])
        _, _, terminated, truncated, info = env.step(action)
        pictures.append(env.render())
        ended = terminated or truncated
    return pictures


@pytest.mark.parametrize("opponent", ["novice", None])
def test_rgb_array_passes_gymnasiums_checker(opponent) -> None:
    env = gymnasium.make(ID, opponent=opponent, render_mode="rgb_array", episode="deal")
    for picture in play(env):
        assert isinstance(picture, np.ndarray)
        assert picture.shape == SHAPE
        assert picture.dtype == np.uint8
    env.close()


def test_a_picture_changes_with_every_act() -> None:
    pictures = play(gymnasium.make(ID, render_mode="rgb_array", rules=Rules(target_score=2)))
    for one, other in itertools.pairwise(pictures):
        assert (one != other).any()


def test_a_film_of_a_game_is_recorded(tmp_path) -> None:
    pytest.importorskip("moviepy")
    env = gymnasium.make(ID, render_mode="rgb_array", rules=Rules(target_score=1))
    filmed = gymnasium.wrappers.RecordVideo(env, str(tmp_path / "films"), name_prefix="game")
    play(filmed)
    filmed.close()
    (film,) = tmp_path.glob("films/*.mp4")
    assert film.stat().st_size > 5_000


def test_a_deal_that_ended_within_a_step_is_told_after_it() -> None:
    env = EuchreEnv(render_mode="ansi", rules=Rules(target_score=5))
    texts, told = play(env, seed=2), 0
    assert "the deal before" not in texts[0]
    for text in texts:
        told += "the deal before: " in text
    assert told >= 2


def test_the_environment_displays_itself_in_a_notebook() -> None:
    env = EuchreEnv()
    assert env._repr_svg_() is None
    env.reset(seed=0)
    assert env._repr_svg_() == show(env.view).svg


def test_a_vector_environment_gives_a_picture_for_each_game() -> None:
    envs = gymnasium.make_vec(ID, num_envs=3, render_mode="rgb_array")
    envs.reset(seed=0)
    pictures = envs.render()
    assert [picture.shape for picture in pictures] == [SHAPE] * 3
    assert (pictures[0] != pictures[1]).any()
    with pytest.raises(ValueError, match="'human'"):
        gymnasium.make_vec(ID, num_envs=2, render_mode="human")


@pytest.fixture
def no_display(monkeypatch) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.usefixtures("no_display")
def test_a_window_shows_every_step_and_closes(monkeypatch) -> None:
    monkeypatch.setitem(EuchreEnv.metadata, "render_fps", 1000)
    env = gymnasium.make(ID, render_mode="human", episode="deal")
    assert set(map(type, play(env))) == {type(None)}
    window = env.unwrapped._window
    assert window.is_open
    copied = copy.deepcopy(env.unwrapped)
    assert not copied._window.is_open
    assert not pickle.loads(pickle.dumps(window)).is_open
    env.close()
    assert not window.is_open


@pytest.mark.usefixtures("no_display")
def test_a_window_that_the_user_closes_stays_closed(monkeypatch) -> None:
    import pygame

    monkeypatch.setitem(EuchreEnv.metadata, "render_fps", 1000)
    env = EuchreEnv(render_mode="human")
    env.reset(seed=0)
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    env.render()
    assert not env._window.is_open
    env.render()
    assert not env._window.is_open


@pytest.mark.usefixtures("no_display")
def test_gymnasiums_own_window_wrapper_takes_our_pictures(monkeypatch) -> None:
    monkeypatch.setitem(EuchreEnv.metadata, "render_fps", 1000)
    env = gymnasium.wrappers.HumanRendering(
        gymnasium.make(ID, render_mode="rgb_array", episode="deal")
    )
    play(env)
    env.close()


def test_without_a_display_a_window_says_what_to_do(monkeypatch) -> None:
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "no such driver")
    with pytest.raises(RuntimeError, match="SDL_VIDEODRIVER=dummy"):
        EuchreEnv(render_mode="human").reset(seed=0)


def test_without_pygame_a_window_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = EuchreEnv(render_mode="human")
    with pytest.raises(DependencyNotInstalled, match=r"euchre-env\[window\]"):
        env.reset(seed=0)
