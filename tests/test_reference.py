"""The referee itself: all rule cases by id, and what must hold in every deal of every variant."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests import reference
from tests.reference import Game

CASES = json.loads((Path(__file__).parent / "data" / "rule_cases.json").read_text("utf-8"))
BY_TYPE: dict[str, list[Any]] = {}
for _case in CASES["cases"]:
    BY_TYPE.setdefault(_case["type"], []).append(_case)


def of_type(*names: str) -> Any:
    """A parametrisation over the rule cases of some types, by their ids."""
    cases = [
        pytest.param(case["given"], case["expect"], id=case["id"])
        for name in names
        for case in BY_TYPE[name]
    ]
    return pytest.mark.parametrize(("given", "expect"), cases)


def options_of(given: dict[str, Any]) -> dict[str, Any]:
    """The options of a case, with the defaults filled in."""
    return reference.complete(given.get("options", {}))


def deal_for(given: dict[str, Any], dealer: int = 1, options: Any = None) -> Game:
    """A deal with the case's upcard and hands; what it leaves open comes from the deck."""
    options = options or options_of(given)
    named = {
        *given.get("dealer_hand", ()),
        *given.get("nondealer_hand", ()),
        given["upcard"],
    }
    rest = [card for card in reference.deck(options) if card not in named]
    hands: list[list[str]] = [[], []]
    hands[dealer] = given.get("dealer_hand") or [rest.pop() for _ in range(5)]
    hands[1 - dealer] = given.get("nondealer_hand") or [rest.pop() for _ in range(5)]
    return Game(options, dealer, hands, given["upcard"])


def name_of(game: Game, seat: int | None) -> str | None:
    return None if seat is None else ("dealer" if seat == game.dealer else "nondealer")


def play_out(rng: random.Random, game: Game) -> Game:
    while not game.deal_over:
        game.act(rng.choice(sorted(game.legal())))
    return game


def deal_won_by(options: dict[str, Any], winners: list[str], scores: tuple[int, int]) -> Game:
    """A deal in which maker (seat 0) and defender (seat 1) win the tricks in the order given.

    Clubs are trump, named by the non-dealer; each wins a trick with its own suit or a trump.
    """
    # Who is to win a trick leads it with an ace-high suit or follows a plain lead with a trump:
    # search the few orders instead of reasoning about them.
    rng = random.Random(1)
    while True:
        cards = rng.sample(reference.deck(options), 11)
        game = Game(options, 1, (cards[:5], cards[5:10]), cards[10], scores)
        if not cards[10].endswith("H"):
            continue
        for act in ("pass", "pass", "name:C"):
            game.act(act)
        found = _with_winners(game, [0 if winner == "maker" else 1 for winner in winners])
        if found is not None:
            return found


def _with_winners(game: Game, winners: list[int]) -> Game | None:
    if game.trick_winners != winners[: len(game.trick_winners)]:
        return None
    if len(game.trick_winners) == len(winners):
        return game
    for act in sorted(game.legal()):
        after = game.copy()
        after.act(act)
        found = _with_winners(after, winners)
        if found is not None:
            return found
    return None


def test_there_are_a_hundred_cases_and_the_defaults_are_theirs() -> None:
    assert len({case["id"] for case in CASES["cases"]}) == 100
    assert CASES["schema"]["option_defaults"] == reference.OPTION_DEFAULTS


@of_type("effective_suit")
def test_effective_suit(given: dict[str, Any], expect: dict[str, Any]) -> None:
    assert reference.effective_suit(given["card"], given["trump"]) == expect["suit"]


@of_type("suit_order")
def test_suit_order(given: dict[str, Any], expect: dict[str, Any]) -> None:
    order = reference.suit_order(given["suit"], given["trump"], options_of(given))
    assert order == expect["order"]


@of_type("deck")
def test_deck(given: dict[str, Any], expect: dict[str, Any]) -> None:
    cards = reference.deck(given["options"])
    assert len(cards) == len(set(cards)) == expect["cards"]
    assert len(cards) - 10 == expect["stock_after_deal"]


@of_type("legal_plays")
def test_legal_plays(given: dict[str, Any], expect: dict[str, Any]) -> None:
    legal = reference.legal_plays(given["hand"], given["led"], given["trump"])
    assert sorted(legal) == sorted(expect["legal"])


@of_type("trick_winner")
def test_trick_winner(given: dict[str, Any], expect: dict[str, Any]) -> None:
    winner = reference.trick_winner(given["led"], given["followed"], given["trump"])
    assert winner == expect["winner"]


@of_type("legal_bids")
@pytest.mark.parametrize("dealer", [0, 1])
def test_legal_bids(dealer: int, given: dict[str, Any], expect: dict[str, Any]) -> None:
    game = deal_for(given, dealer)
    for act in given["history"]:
        game.act(act)
    assert name_of(game, game.to_act) == expect["to_act"]
    assert game.legal() == set(expect["legal"])
    assert game.own_hand_visible(game.to_act) == expect.get("own_hand_visible", True)


@of_type("bidding")
@pytest.mark.parametrize("dealer", [0, 1])
def test_bidding(dealer: int, given: dict[str, Any], expect: dict[str, Any]) -> None:
    game = deal_for(given, dealer)
    for act in given["history"]:
        game.act(act)
    if expect["result"] == "redeal":
        assert game.deal_over
        assert name_of(game, game.next_dealer) == expect["next_dealer"]
        assert game.points == tuple(expect["points"])
    else:
        assert game.trump == expect["trump"]
        assert name_of(game, game.maker) == expect["maker"]
        assert (game.upcard in game.current_hand(dealer)) == expect["dealer_has_upcard"]
        assert name_of(game, game.to_act) == expect["first_leader"]


@of_type("discard")
def test_discard(given: dict[str, Any], expect: dict[str, Any]) -> None:
    options = options_of(given)
    if given["upcard"] == reference.JOKER:
        options["joker_turned_up"] = "fixed_suit"  # so that there is a "take" at all
    game = deal_for(given, options=options)
    for act in ["pass", "accept"] if given["answer"] == "accept" else ["order_up", given["answer"]]:
        game.act(act)
    discards = {act.partition(":")[2] for act in game.legal() if act.startswith("discard:")}
    assert discards == set(expect["legal_discards"])
    if "discard" in given:
        game.act("discard:" + given["discard"])
    if "hand_after" in expect:
        assert game.current_hand(game.dealer) == set(expect["hand_after"])


@of_type("hand_score")
def test_hand_score(given: dict[str, Any], expect: dict[str, Any]) -> None:
    points = reference.deal_points(given["maker_tricks"], options_of(given))
    assert points == (expect["maker_points"], expect["defender_points"])


@of_type("game_end")
def test_game_end(given: dict[str, Any], expect: dict[str, Any]) -> None:
    tricks = given["maker_tricks"]
    winners = ["maker"] * tricks + ["defender"] * (5 - tricks)
    scores = (given["maker_score"], given["defender_score"])
    game = deal_won_by(options_of(given), winners, scores)
    assert game.deal_over
    assert game.scores == (expect["maker_score"], expect["defender_score"])
    assert game.game_over == expect["game_over"]
    winner = {"maker": 0, "defender": 1, None: None}[expect["winner"]]
    assert game.winner == winner
    assert (game.next_dealer is None) == expect["game_over"]


@of_type("mid_hand")
def test_mid_hand(given: dict[str, Any], expect: dict[str, Any]) -> None:
    scores = (given["maker_score"], given["defender_score"])
    game = deal_won_by(options_of(given), given["trick_winners"], scores)
    assert game.deal_over == expect["hand_over"]
    assert 5 - sum(game.tricks) == expect["tricks_left"]


@of_type("turn_order")
def test_turn_order(given: dict[str, Any], expect: dict[str, Any]) -> None:
    rng = random.Random(5)
    cards = rng.sample(reference.deck({}), 11)
    game = Game({}, given.get("dealer", 0), (cards[:5], cards[5:10]), cards[10])
    if given["event"] == "first_lead":
        for act in (
            ("order_up", "leave")
            if given["maker"] != given["dealer"]
            else (
                "pass",
                "pass",
                "pass",
                next(a for a in ("name:C", "name:D") if cards[10][1] != a[5]),
            )
        ):
            game.act(act)
        assert game.maker == given["maker"]
        assert game.to_act == expect["player"]
    elif given["event"] == "next_lead":
        while game.trick_winners[-1:] != [given["trick_winner"]]:
            cards = rng.sample(reference.deck({}), 11)
            game = Game({}, 0, (cards[:5], cards[5:10]), cards[10])
            for act in ("order_up", "leave", "", ""):
                game.act(act or rng.choice(sorted(game.legal())))
        assert game.to_act == expect["player"]
    elif given["last_hand"] == "scored":
        game.act("order_up")
        assert play_out(rng, game).next_dealer == expect["player"]
    else:
        for _ in range(4):
            game.act("pass")
        assert game.next_dealer == expect["player"]


@of_type("full_hand")
@pytest.mark.parametrize("dealer", [0, 1])
def test_full_hand(dealer: int, given: dict[str, Any], expect: dict[str, Any]) -> None:
    game = deal_for(given, dealer)
    for act in given["bids"]:
        game.act(act)
    for card in given["plays"]:
        game.act("play:" + card)
    assert [name_of(game, seat) for seat in game.trick_winners] == expect["trick_winners"]
    assert game.deal_over
    for seat in (0, 1):
        assert game.points[seat] == expect["points"][name_of(game, seat)]


def test_what_must_hold_in_every_deal() -> None:
    rng = random.Random(2)
    for lowest, joker, super_euchre, stop in product(
        "987", (False, True), (False, True), (False, True)
    ):
        options = {
            "lowest_rank": lowest,
            "joker": joker,
            "super_euchre": super_euchre,
            "stop_when_decided": stop,
            "discard_upcard": rng.random() < 0.5,
            "stick_the_dealer": rng.random() < 0.5,
            "joker_turned_up": rng.choice(("dealer_names_blind", "fixed_suit")),
        }
        for _ in range(40):
            cards = rng.sample(reference.deck(options), 11)
            game = Game(options, rng.randrange(2), (cards[:5], cards[5:10]), cards[10])
            while not game.deal_over:
                assert game.legal()
                with pytest.raises(ValueError, match="is not one of"):
                    game.act("play:ZZ")
                game.act(rng.choice(sorted(game.legal())))
                held = [
                    *game.current_hand(0),
                    *game.current_hand(1),
                    *(c for _, c in game.plays),
                ]
                held += [game.discard] if game.discard else []
                in_place = {"hand": 1, "played": 1, "discarded": 1}.get(game.upcard_place, 0)
                assert len(held) == len(set(held)) == 10 + in_place
                assert set(held) <= set(cards)
            assert game.legal() == set()
            assert len(game.history) <= 14
            if game.maker is not None:
                points = (game.points[game.maker], game.points[1 - game.maker])
                assert points in {(1, 0), (2, 0), (0, 2)} | ({(0, 4)} if super_euchre else set())


def test_stopping_when_decided_changes_no_points() -> None:
    rng = random.Random(3)
    shorter = 0
    for number in range(200):
        cards = rng.sample(reference.deck({}), 11)
        super_euchre = number % 2 == 0
        full, short = (
            Game(
                {"super_euchre": super_euchre, "stop_when_decided": stop},
                number % 2,
                (cards[:5], cards[5:10]),
                cards[10],
            )
            for stop in (False, True)
        )
        play_out(rng, full)
        for _, act in full.history:
            if not short.deal_over:
                short.act(act)
        assert short.deal_over
        assert (short.points, short.next_dealer) == (full.points, full.next_dealer)
        shorter += len(short.history) < len(full.history)
    assert shorter > 0


def test_swapped_seats_mirror_every_result() -> None:
    rng = random.Random(4)
    for _ in range(200):
        cards = rng.sample(reference.deck({"joker": True}), 11)
        one = Game({"joker": True}, 0, (cards[:5], cards[5:10]), cards[10], (3, 7))
        other = Game({"joker": True}, 1, (cards[5:10], cards[:5]), cards[10], (7, 3))
        while not one.deal_over:
            assert one.legal() == other.legal()
            act = rng.choice(sorted(one.legal()))
            one.act(act)
            other.act(act)
        assert other.deal_over
        assert one.scores == other.scores[::-1]


def test_knowledge_hides_the_other_hand_and_the_discard_and_a_blind_dealers_own() -> None:
    hands = (["9S", "QS", "KH", "QD", "TC"], ["AS", "KS", "QC", "KC", "9D"])
    one = Game({"joker": True}, 1, hands, "9H")
    other = Game({"joker": True}, 1, (hands[0], ["AS", "KS", "QC", "KC", "JH"]), "9H")
    assert one.knows(0) == other.knows(0)
    assert one.knows(1) != other.knows(1)
    for game, discard in ((one, "9D"), (other, "JH")):
        game.act("order_up")
        game.act("take")
        game.act("discard:" + discard)
    assert one.knows(0) == other.knows(0)
    assert one.knows(1) != other.knows(1)
    blind = [
        Game({"joker": True}, 1, (hands[0], dealers), "JK")
        for dealers in (hands[1], ["AS", "KS", "QC", "KC", "JH"])
    ]
    assert blind[0].knows(1) == blind[1].knows(1)
    for game in blind:
        game.act("name:S")
    assert blind[0].knows(1) != blind[1].knows(1)


def test_a_copy_stands_on_its_own() -> None:
    game = Game({}, 0, (["9S", "QS", "KH", "QD", "TC"], ["AS", "KS", "QC", "KC", "9D"]), "9H")
    game.act("order_up")
    again = game.copy()
    again.act("leave")
    assert game.legal() == {"take", "leave"}
    assert again.legal() == {"play:" + card for card in again.current_hand(1)}


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            lambda: Game({}, 0, (["9S"] * 5, ["AS", "KS", "QC", "TC", "9D"]), "9H"),
            id="same",
        ),
        pytest.param(lambda: Game({}, 2, (["9S", "QS", "KH", "QD", "TC"], []), "9H"), id="seat"),
        pytest.param(
            lambda: Game(
                {"joker": True, "joker_turned_up": "redeal"},
                0,
                (["9S", "QS", "KH", "QD", "TC"], ["AS", "KS", "QC", "KC", "9D"]),
                "JK",
            ),
            id="R13 redeal",
        ),
        pytest.param(lambda: reference.complete({"colour": 1}), id="option"),
    ],
)
def test_what_is_no_deal_is_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        wrong()
