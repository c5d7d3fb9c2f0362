"""Chance: fair, a game's own, the same everywhere; and nothing of a deal stays for the next."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from euchre_env import engine
from euchre_env.actions import NO_ACTION, Phase
from euchre_env.cards import HAND_SIZE, JOKER, NUM_CARDS, card_list
from euchre_env.dealing import as_streams, seed_streams, seed_word
from euchre_env.kernel import IS_COMPILED
from euchre_env.rules import OPTION_VALUES, Rules
from euchre_env.state import NO_CARD, NO_SUIT, NOBODY, States, UpcardPlace, new_states
from tests.strategies import (
    hands_dealt,
    new_games,
    same_rules,
    seeds,
    undealt,
    walk,
    z_of_chi_square,
)
from tests.strategies import rules as any_rules

DECKS = [
    Rules(),
    Rules.british(),
    Rules(lowest_rank="8"),
    Rules(lowest_rank="8", joker=True),
    Rules.with_32_cards(),
    Rules.railroad_pack(),
]
NUM_DEALS = 40_000 if IS_COMPILED else 2_000
LIMIT = 5.0
"""Standard errors; the seeds are fixed, so a fair deal never comes near it."""


def held_by_role(states: States) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The nondealers' hands and the dealers', as masks."""
    rows, dealers = np.arange(len(states)), states["dealer"].astype(np.int64)
    return states["hands"][rows, 1 - dealers], states["hands"][rows, dealers]


def counts_of_cards(masks: npt.NDArray[np.int64], cards: list[int]) -> npt.NDArray[np.int64]:
    return np.array([int((masks >> card & 1).sum()) for card in cards])


def deal_of(state: np.record) -> tuple[int, ...]:
    return int(state.hands[0]), int(state.hands[1]), int(state.upcard), int(state.dealer)


# --- fair ---------------------------------------------------------------------------------------


def test_either_seat_deals_first_half_of_the_time() -> None:
    dealers = same_rules(NUM_DEALS)["dealer"]
    error = np.sqrt(NUM_DEALS) / 2
    assert abs(int(dealers.sum()) - NUM_DEALS / 2) < 4 * error


@pytest.mark.parametrize("rules", DECKS, ids=lambda rules: f"{rules.num_cards} cards")
def test_every_card_is_as_likely_in_every_place(rules: Rules) -> None:
    states = same_rules(NUM_DEALS, rules, seed=1)
    cards = card_list(rules.deck)
    places = [(mask, HAND_SIZE) for mask in held_by_role(states)]
    places.append((np.int64(1) << states["upcard"].astype(np.int64), 1))
    dealt = places[0][0] | places[1][0] | places[2][0]
    places.append((rules.deck & ~dealt, rules.num_cards - 2 * HAND_SIZE - 1))
    for masks, size in places:
        expected = np.full(len(cards), NUM_DEALS * size / len(cards))
        counts = counts_of_cards(masks, cards)
        # drawn without putting back: the counts of one place spread that much less
        spread = (1 - size / len(cards)) * len(cards) / (len(cards) - 1)
        assert counts.sum() == NUM_DEALS * size
        assert abs(z_of_chi_square(counts, expected, spread=spread)) < LIMIT


def test_every_pair_of_cards_is_as_likely_in_one_hand() -> None:
    states = same_rules(NUM_DEALS, seed=2)
    cards = card_list(Rules().deck)
    for hands in held_by_role(states):
        bits = np.stack([hands >> card & 1 for card in cards], axis=1).astype(np.float64)
        together = (bits.T @ bits)[np.triu_indices(len(cards), k=1)]
        expected = NUM_DEALS * (5 * 4) / (24 * 23)
        assert np.abs(together - expected).max() < LIMIT * np.sqrt(expected)


def test_what_is_dealt_does_not_depend_on_what_was_dealt_before_or_next_door() -> None:
    """The upcard of a seed says nothing of its next upcard, the next seed's, or who deals."""
    states = same_rules(NUM_DEALS, seed=3)
    first, dealers = states["upcard"].copy(), states["dealer"].copy()
    states["phase"] = Phase.DEAL_OVER
    engine.next_deals(states)
    second = states["upcard"]
    for one, other in ((first, second), (first[:-1], first[1:]), (first, dealers)):
        names, places = np.unique(one), np.unique(other)
        table = [[int(((one == a) & (other == b)).sum()) for b in places] for a in names]
        expected = np.full((len(names), len(places)), len(one) / len(names) / len(places))
        assert z_of_chi_square(table, expected) < LIMIT


# --- a game's own -------------------------------------------------------------------------------


def test_a_deal_depends_on_seed_and_number_alone() -> None:
    """Deal k of seed s: alone, in a batch, elsewhere in another batch, whatever was played."""
    num, deals = 64, 5
    together = same_rules(num, seed=100)
    backwards = new_states(num)
    seed_streams(backwards, np.arange(100 + num - 1, 99, -1, dtype=np.uint64))
    engine.start_games(backwards)
    for number in range(deals):
        for place in (0, 17, num - 1):
            alone = same_rules(1, seed=100 + place)
            for _ in range(number):
                alone["phase"] = Phase.DEAL_OVER
                alone["maker"] = 0
                engine.next_deals(alone)
            assert deal_of(alone[0]) == deal_of(together[place])
            assert deal_of(alone[0]) == deal_of(backwards[num - 1 - place])
        play_the_deal_out(together, choice=number)
        play_the_deal_out(backwards, choice=number + 7)
        for states in (together, backwards):
            states["maker"] = 0  # so that the other seat deals next in both
            states["phase"] = Phase.DEAL_OVER
            engine.next_deals(states)


def play_the_deal_out(states: States, choice: int) -> None:
    for turn in range(14):
        live = np.flatnonzero(states["phase"] < Phase.DEAL_OVER)
        if not len(live):
            return
        rows = states[live]
        actions = np.empty(len(rows), dtype=np.int64)
        engine.draw_actions(rows, actions, 1000 * choice + turn)
        engine.apply_all(rows, actions)
        states[live] = rows
    assert (states["phase"] >= Phase.DEAL_OVER).all()


def test_every_game_wants_a_seed() -> None:
    with pytest.raises(ValueError, match=r"3 games, seeds of shape \(1,\)"):
        seed_streams(new_states(3), np.zeros(1, dtype=np.uint64))


def test_games_step_alike_alone_and_interleaved() -> None:
    together = same_rules(8, seed=9)
    engine.play_random(together, 60)
    for place in range(8):
        alone = same_rules(1, seed=9 + place)
        engine.play_random(alone, 60)
        assert alone[0].tobytes() == together[place].tobytes()


def test_a_second_game_is_not_the_first_again() -> None:
    states = same_rules(200)
    before = [deal_of(state) for state in states]
    engine.start_games(states)
    assert all(deal_of(state) != old for state, old in zip(states, before, strict=True))


@given(seed=seeds, rules=any_rules())
@settings(max_examples=50)
def test_seeded_alike_dealt_alike(seed: int, rules: Rules) -> None:
    one, two = new_games([rules], seed), new_games([rules], seed)
    assert one.tobytes() == two.tobytes()


SEEDS = [
    0,
    1,
    2,
    2**31,
    2**32 - 1,
    2**32,
    2**63,
    2**64 - 1,
    2**64,
    2**64 + 1,
    2**65,
    2**128,
    10**40,
]


def test_seeds_far_apart_and_close_by_all_differ() -> None:
    words = np.array([seed_word(seed) for seed in SEEDS], dtype=np.uint64)
    assert len(set(words.tolist())) == len(SEEDS)
    states = new_states(len(SEEDS))
    seed_streams(states, words)
    assert len(set(states["stream"].tolist())) == len(SEEDS)
    assert 0 not in states["stream"]
    engine.start_games(states)
    assert len({deal_of(state) for state in states}) == len(SEEDS)


def test_small_seeds_stay_what_they_are() -> None:
    assert [int(seed_word(seed)) for seed in (0, 1, 2**64 - 1)] == [0, 1, 2**64 - 1]
    assert seed_word(int(np.int32(7))) == seed_word(np.int32(7))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, -(2**70), 1.5, "1", None, True])
def test_what_is_no_seed_is_refused_and_quoted(seed: object) -> None:
    with pytest.raises(ValueError, match="a seed is a whole number, 0 or above") as caught:
        seed_word(seed)  # type: ignore[arg-type]
    assert repr(seed) in str(caught.value)


def test_streams_of_agents_are_a_row_s_own() -> None:
    assert as_streams(5, 3).tolist() == as_streams(5, 8)[:3].tolist()
    assert len(set(as_streams(5, 1000).tolist())) == 1000
    assert not set(as_streams(5, 100).tolist()) & set(as_streams(6, 100).tolist())
    keys = np.arange(4, dtype=np.uint64)
    assert as_streams(keys, 4).tolist() == [0, 1, 2, 3]
    drawn = as_streams(np.random.default_rng(0), 4)
    assert drawn.tolist() == as_streams(np.random.default_rng(0), 4).tolist()
    with pytest.raises(ValueError, match=r"\(4,\).*\(5,\)"):
        as_streams(keys, 5)


# --- the joker turned up ------------------------------------------------------------------------


def test_a_joker_turned_up_is_dealt_again_where_the_rules_say_so() -> None:
    """R13: it never lies there; the same dealer deals, and the deal counts as one."""
    rules = Rules.british(joker_turned_up="redeal")
    states = undealt([rules] * 1500, seed=4)
    blind = undealt([Rules.british()] * 1500, seed=4)
    engine.start_games(states)
    engine.start_games(blind)
    is_joker = blind["upcard"] == JOKER
    assert is_joker.sum() > 20
    assert (states["upcard"] != JOKER).all()
    assert (states["num_draws"][is_joker] >= 2).all()
    assert (states["num_draws"][~is_joker] == 1).all()
    assert (states["deal_number"] == 1).all()
    assert (states["dealer"] == blind["dealer"]).all()
    # all else is dealt as it would have been
    assert (states["hands"][~is_joker] == blind["hands"][~is_joker]).all()
    assert (states["phase"] == Phase.ORDER).all()
    assert (blind["phase"][is_joker] == Phase.NAME_BLIND).all()


# --- nothing lost, nothing left over ------------------------------------------------------------


def test_every_card_is_in_exactly_one_place_at_every_act() -> None:
    rows = walk().flat()
    hands, played = rows["hands"], rows["played"]
    one = np.int64(1)
    discard = np.where(rows["discard"] == NO_CARD, 0, one << np.maximum(rows["discard"], 0))
    is_out = (rows["upcard_place"] != UpcardPlace.TAKEN) & (rows["upcard"] >= 0)
    upcard = np.where(is_out, one << rows["upcard"].astype(np.int64), 0)
    places = [hands[:, 0], hands[:, 1], played[:, 0], played[:, 1], discard, upcard]
    together = np.zeros(len(rows), dtype=np.int64)
    total = np.zeros(len(rows), dtype=np.int64)
    for place in places:
        together |= place
        total += np.bitwise_count(place)
    assert (np.bitwise_count(together) == total).all(), "a card in two places"
    assert (total == 2 * HAND_SIZE + 1).all(), "eleven cards are dealt"
    assert (together & ~rows["deck"] == 0).all()
    assert (np.bitwise_count(rows["deck"]) >= 24).all()


def test_the_seats_hold_as_many_cards_as_they_should() -> None:
    rows = walk().flat()
    for seat in (0, 1):
        is_owing = (rows["phase"] == Phase.DISCARD) & (rows["dealer"] == seat)
        expected = HAND_SIZE + is_owing - np.bitwise_count(rows["played"][:, seat])
        assert (np.bitwise_count(rows["hands"][:, seat]) == expected).all()


def test_the_walk_has_seen_every_phase_and_ending() -> None:
    """What the tests above stand on: the rare paths are in there, from either seat."""
    rows = walk().flat()
    assert set(rows["phase"].tolist()) == {int(phase) for phase in Phase}
    is_over = rows["phase"] == Phase.DEAL_OVER
    thrown_in = is_over & (rows["maker"] == NOBODY)
    if not IS_COMPILED:
        return  # a sample of the options is played then: too few for counts
    for seat in (0, 1):
        assert (rows["winner"] == seat).sum() > 20
        assert (thrown_in & (rows["dealer"] == seat)).sum() > 20
        assert ((rows["phase"] == Phase.NAME_BLIND) & (rows["dealer"] == seat)).sum() > 5
    assert len(np.unique(rows["upcard"])) == NUM_CARDS
    assert {tuple(row) for row in np.unique(rows["points"], axis=0).tolist()} == {
        (0, 0), (1, 0), (0, 1), (2, 0), (0, 2), (4, 0), (0, 4),
    }  # fmt: skip


def test_a_new_deal_keeps_scores_dealer_and_rules_and_nothing_else() -> None:
    """After scored deals, thrown-in ones and won games: the row is as if newly made."""
    rows, actions = walk()
    begins = np.argwhere(actions[:-1] == NO_ACTION)
    assert len(begins) > 5 * len(rows[0]) // 2
    befores, afters = rows[begins[:, 0], begins[:, 1]], rows[begins[:, 0] + 1, begins[:, 1]]
    is_won = befores["phase"] == Phase.GAME_OVER
    is_scored = ~is_won & (befores["maker"] != NOBODY)
    is_thrown_in = ~is_won & ~is_scored
    is_same = befores["redeal_dealer"] == OPTION_VALUES["redeal_dealer"].index("same")
    if IS_COMPILED:
        assert min(is_won.sum(), is_scored.sum(), (is_thrown_in & is_same).sum()) > 20
    assert (afters["scores"][~is_won] == befores["scores"][~is_won]).all()
    assert (afters["scores"][is_won] == 0).all()
    assert (afters["deal_number"] == np.where(is_won, 1, befores["deal_number"] + 1)).all()
    stays = is_thrown_in & is_same
    assert (afters["dealer"][stays] == befores["dealer"][stays]).all()
    moves = is_scored | (is_thrown_in & ~is_same)
    assert (afters["dealer"][moves] == 1 - befores["dealer"][moves]).all()
    blank = {
        "played": 0, "tricks": 0, "leads": 0, "voids": 0, "points": 0, "num_actions": 0,
        "history": NO_ACTION, "trump": NO_SUIT, "maker": NOBODY, "discard": NO_CARD,
        "led_card": NO_CARD, "winner": NOBODY, "seat": NOBODY,
        "upcard_place": UpcardPlace.TURNED_UP,
    }  # fmt: skip
    for name, value in blank.items():
        assert (afters[name] == value).all(), name
    for name in (*OPTION_VALUES, "target_score", "deck", "stream"):
        assert (afters[name] == befores[name]).all(), name
    assert (np.bitwise_count(afters["hands"]) == HAND_SIZE).all()


def test_a_deal_is_another_than_the_one_before() -> None:
    rows, actions = walk()
    steps, games = np.nonzero(actions[:-1] == NO_ACTION)
    changed = hands_dealt(rows[steps, games]) != hands_dealt(rows[steps + 1, games])
    assert np.mean(changed) > 0.99


@given(rules=any_rules(), seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_hands_and_upcard_come_from_the_deck(rules: Rules, seed: int) -> None:
    state = new_games([rules], seed)[0]
    cards = int(state.hands[0]) | int(state.hands[1]) | 1 << int(state.upcard)
    assert cards & ~rules.deck == 0
    assert cards.bit_count() == 11
