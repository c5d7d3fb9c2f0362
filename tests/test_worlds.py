"""Every world that fits a view: each once, none missing, as fill draws them. R9, R15, R22."""

from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings

from agents.worlds import MAX_HANDS, count_hands, hands_into, has_hidden_discard, worlds
from euchre_env import views
from euchre_env.actions import Phase
from euchre_env.kernel import IS_COMPILED, kernel
from euchre_env.notation import parse_position
from euchre_env.state import NO_CARD, States
from tests.strategies import games, sample, seats, z_of_chi_square
from tests.test_views import Deal, fits

NUM_FILLS = 20_000 if IS_COMPILED else 600
NUM_POSITIONS = 150 if IS_COMPILED else 20


@kernel
def _hands(view: np.record, hands: np.ndarray, ways: np.ndarray) -> int:
    return hands_into(view, hands, ways)


@kernel
def _count(view: np.record) -> int:
    return count_hands(view)


@kernel
def _has_hidden(view: np.record) -> bool:
    return has_hidden_discard(view)


def pairs(view: States) -> list[Deal]:
    found = worlds(view)
    return list(zip(found.hands.tolist(), found.discards.tolist(), strict=True))


def is_blind(view: np.record) -> bool:
    return bool(view.phase == Phase.NAME_BLIND and view.dealer == view.seat)


def open_views(num: int, seed: int = 0) -> list[States]:
    """Views of both seats, in all phases and under all rules, with 5,000 worlds at most."""
    states = sample(num, seed)
    found = []
    for i in range(len(states)):
        view = views.blank(states[i : i + 1], i % 2)
        if not is_blind(view[0]) and _count(view[0]) < 5_000:
            found.append(view)
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_the_worlds_are_those_that_brute_force_finds(seed: int) -> None:
    seen = open_views(NUM_POSITIONS, seed)
    assert len(seen) > NUM_POSITIONS / 3
    for view in seen:
        assert sorted(pairs(view)) == sorted(fits(view[0]))


def test_hands_come_with_the_number_of_discards_beside_them() -> None:
    hands, ways = np.empty(MAX_HANDS, dtype=np.int64), np.empty(MAX_HANDS, dtype=np.int64)
    for view in open_views(NUM_POSITIONS, 3):
        num = int(_hands(view[0], hands, ways))
        assert num == _count(view[0]) == len(set(hands[:num].tolist()))
        counted = Counter(hand for hand, _ in fits(view[0]))
        assert dict(zip(hands[:num].tolist(), ways[:num].tolist(), strict=True)) == counted


@given(games(), seats)
@settings(max_examples=60 if IS_COMPILED else 5, deadline=None)
def test_each_filled_deal_is_a_world_and_each_world_gives_the_view_back(
    states: States, seat: int
) -> None:
    view = views.blank(states, seat)
    if is_blind(view[0]) or _count(view[0]) > 9_000:
        return
    found = worlds(view)
    known = set(pairs(view))
    is_hidden = bool(_has_hidden(view[0]))
    for state in views.fill(np.repeat(view, 50), 3):
        discard = int(state.discard) if is_hidden else NO_CARD
        assert (int(state.hands[1 - seat]), discard) in known
    again = views.blank(found.states()[:: max(1, len(found) // 100)], seat)
    assert set(again.tobytes()[i * 120 :][:120] for i in range(len(again))) == {view.tobytes()}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("9CTCQCKC9S/AS????????/TH d1 0-0 pass,accept,discard:??,9S,AS,TH,9C seat=0 "
                     "discard_upcard=True", id="played upcard"),
        pytest.param("9CTCQCKC9S/9DKDAS????/TH d1 0-0 pass,accept,discard:??,9S,AS,9D,9C,KD,KC "
                     "seat=0 discard_upcard=True", id="upcard kept or laid away"),
        pytest.param("9CTCQCKC9S/9DKDAS????/TH d1 0-0 pass,accept,discard:??,9S,AS,9D,9C,KD,KC "
                     "seat=0", id="known upcard"),
    ],
)  # fmt: skip
def test_worlds_are_as_likely_as_fill_draws_them(text: str) -> None:
    view = parse_position(text)
    known = pairs(view)
    filled = views.fill(np.repeat(view, NUM_FILLS), 5)
    drawn = Counter(zip(filled["hands"][:, 1].tolist(), filled["discard"].tolist(), strict=True))
    assert set(drawn) <= set(known)
    counts = [drawn[each] for each in known]
    assert abs(z_of_chi_square(counts, np.full(len(known), NUM_FILLS / len(known)))) < 4.5


@pytest.mark.parametrize(
    ("deck", "num"), [("", 18), ("joker=True", 19), ("lowest_rank=7", 26),
                      ("lowest_rank=7 joker=True", 27)],
)  # fmt: skip
def test_the_first_view_leaves_so_many_hands(deck: str, num: int) -> None:
    view = parse_position(f"9CTCQCKC9S/??????????/TH d1 0-0 - seat=0 {deck}")
    assert len(worlds(view)) == len(set(worlds(view).hands.tolist())) == comb(num, 5) <= MAX_HANDS


def test_what_has_no_worlds_is_refused() -> None:
    states = parse_position("9CTCQCKC9S/AHQSASTSJC/JK d1 0-0 - joker=True")
    with pytest.raises(ValueError, match="blind"):
        worlds(views.blank(states, 1))
    with pytest.raises(ValueError, match="full state"):
        worlds(states)
    with pytest.raises(ValueError, match="one view"):
        worlds(views.blank(np.repeat(states, 2), 0))
