"""Exact counts of all lines of play: from fixed positions, to the end of the deal.

One number says that thousands of masks and moves are as they should be. The engine counts by a
recursion of its own written here; the referee counts late positions in the test, and has counted
the full deals once (``python -m tests.test_line_counts`` counts them all again).
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np
import pytest

from euchre_env.actions import Phase
from euchre_env.engine import apply, legal_actions
from euchre_env.kernel import IS_COMPILED, kernel, lowest
from euchre_env.state import MAX_ACTIONS, States
from tests.engine_bridge import engine_at, random_deals
from tests.reference import Game, count_lines

_DEAL_OVER = int(Phase.DEAL_OVER)


@kernel
def _count(rows: States, depth: int) -> int:
    """Lines of play from ``rows[depth]``; the rows after it are scratch room."""
    if rows[depth].phase >= _DEAL_OVER:
        return 1
    total = np.int64(0)
    legal = np.int64(legal_actions(rows[depth]))
    while legal:
        action = lowest(legal)
        legal &= legal - 1
        rows[depth + 1] = rows[depth]
        apply(rows[depth + 1], action)
        total += _count(rows, depth + 1)
    return total


def engine_count(game: Game) -> int:
    """The engine's number of lines of play from a referee's position."""
    state = engine_at(game)
    rows = np.zeros(MAX_ACTIONS + 2, dtype=state.dtype)
    rows[0] = state
    return int(_count(rows, 0))


class Deal(NamedTuple):
    """A fixed deal under some options, dealt by seat 1."""

    options: dict[str, Any]
    nondealer: str
    dealer: str
    upcard: str

    def game(self, acts: str = "") -> Game:
        hands = (self.nondealer.split(), self.dealer.split())
        game = Game(self.options, 1, hands, self.upcard)
        for act in acts.split():
            game.act(act)
        return game


# Two hands of mixed suits, with bowers, under every option that changes the tree; then long and
# short suits, the joker in a hand and turned up.
MIXED = ("JD 9S TC KH AS", "JH AH QC KS 9D", "9H")
JOKER_HELD = ("JK 9S AH KH QC", "JS JC AS 9H 9D", "TS")
JOKER_UP = ("JD 9S TC KH AS", "JH AH QC KS 9D", "JK")
LOW = ("7C AD 7D KS 7S", "8S 9H TH 8D JC", "8C")
ONE_SUIT = ("AC KC QC TC 9C", "JS JC AS KS QS", "9S")

DEALS = {
    "24 cards": Deal({}, *MIXED),
    "must pick up": Deal({"order_up_pickup": "must"}, *MIXED),
    "upcard may be laid away": Deal({"discard_upcard": True}, *MIXED),
    "any suit in round two": Deal({"allow_turned_down_suit": "always"}, *MIXED),
    "stick": Deal({"stick_the_dealer": True}, *MIXED),
    "stuck dealer names any": Deal(
        {"stick_the_dealer": True, "allow_turned_down_suit": "stuck_dealer"}, *MIXED
    ),
    "stop when decided": Deal({"stop_when_decided": True}, *MIXED),
    "stop, super euchre": Deal({"stop_when_decided": True, "super_euchre": True}, *MIXED),
    "one suit each": Deal({}, *ONE_SUIT),
    "25 cards, joker held": Deal({"joker": True}, *JOKER_HELD),
    "25 cards, named blind": Deal({"joker": True}, *JOKER_UP),
    "25 cards, fixed suit": Deal(
        {"joker": True, "joker_turned_up": "fixed_suit", "joker_fixed_suit": "S"}, *JOKER_UP
    ),
    "28 cards": Deal({"lowest_rank": "8"}, "8C AD 9D KS 9S", "8S 9H TH 8D JC", "TC"),
    "32 cards": Deal({"lowest_rank": "7"}, *LOW),
    "33 cards": Deal({"lowest_rank": "7", "joker": True}, "7C AD JK KS 7S", *LOW[1:]),
}

FULL_COUNTS = {
    "24 cards": 18421,
    "must pick up": 17617,
    "upcard may be laid away": 20029,
    "any suit in round two": 20029,
    "stick": 18420,
    "stuck dealer names any": 19224,
    "stop when decided": 16941,
    "stop, super euchre": 18421,
    "one suit each": 175681,
    "25 cards, joker held": 39329,
    "25 cards, named blind": 20286,
    "25 cards, fixed suit": 9281,
    "28 cards": 29601,
    "32 cards": 30001,
    "33 cards": 21585,
}
"""Lines of play of each deal from its first bid on, counted by the referee."""

# Plain Python counts the smallest deal only.
COUNTED = DEALS if IS_COMPILED else ["25 cards, fixed suit"]


@pytest.mark.parametrize("name", COUNTED)
def test_full_deals(name: str) -> None:
    assert engine_count(DEALS[name].game()) == FULL_COUNTS[name]


def test_every_fixed_deal_has_its_number() -> None:
    assert FULL_COUNTS.keys() == DEALS.keys()


@pytest.mark.parametrize(
    ("name", "acts"),
    [
        ("24 cards", "order_up leave"),
        ("24 cards", "order_up take discard:KS play:JD"),
        ("24 cards", "pass pass pass name:D"),
        ("upcard may be laid away", "pass accept discard:9H"),
        ("upcard may be laid away", "pass accept discard:AH"),
        ("stuck dealer names any", "pass pass pass name:H"),
        ("stick", "pass pass pass"),
        ("stop when decided", "order_up leave"),
        ("25 cards, joker held", "pass accept discard:9D play:JK"),
        ("25 cards, named blind", "name:C discard:JH"),
        ("25 cards, fixed suit", "order_up take discard:9D"),
        ("32 cards", "pass pass name:S"),
        ("33 cards", "pass pass pass name:D"),
    ],
)
def test_positions_of_the_fixed_deals(name: str, acts: str) -> None:
    game = DEALS[name].game(acts)
    assert engine_count(game) == count_lines(game) > 1


def test_late_positions_of_random_deals_under_all_kinds_of_options() -> None:
    rng = random.Random(11)
    for game in random_deals(150, 11):
        while not game.deal_over and len(game.plays) < 4:
            game.act(rng.choice(sorted(game.legal())))
        assert engine_count(game) == count_lines(game)


if __name__ == "__main__":
    for name, deal in DEALS.items():
        print(f'    "{name}": {count_lines(deal.game())},', flush=True)
