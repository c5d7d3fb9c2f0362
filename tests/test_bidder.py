"""Bids by regret: how hands are looked up, what is learned, the file, the agent that bids by it."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents import cfr, make_agent, streams
from agents.bid_table import (
    DECISIONS,
    FORMAT,
    NUM_ROWS,
    NUM_SLOTS,
    STARTS,
    BidTable,
    act_slot,
    dealt_cards,
    decision_start,
    every_hand,
    from_weights,
    hand_row,
    is_sorted,
    read_table,
    shipped_table,
    suit_order,
    write_table,
)
from agents.bidder import BidderAgent, BidderSettings
from agents.leaves import NUM_CELLS, measure_leaves
from agents.search import SearchAgent, Settings
from benchmarks import bidding_charts
from benchmarks.bidding_charts import charts, into_page, markdown
from euchre_env.actions import ACCEPT, CARD_ACTIONS, NUM_ACTIONS, ORDER_UP, PASS, Phase, action_list
from euchre_env.cards import ACE, NINE, card_list
from euchre_env.dealing import seed_streams
from euchre_env.engine import action_bits, action_masks, apply_all, play_random, start_games
from euchre_env.kernel import IS_COMPILED
from euchre_env.notation import parse_position
from euchre_env.rules import Rules
from euchre_env.state import States, new_states
from euchre_env.views import blank

pytestmark = pytest.mark.skipif(not IS_COMPILED, reason="without a compiler it takes minutes")

SUIT_MAPS = [
    (suits[0], suits[1], 3 - suits[1], 3 - suits[0])
    for suits in [(a, b) for a in range(4) for b in range(4) if b not in (a, 3 - a)]
]
"""Where clubs, diamonds, hearts and spades go: all maps that keep the colour pairs. R3."""


def row_of(hand: int, upcard: int) -> int:
    return int(hand_row(hand, upcard, suit_order(hand, upcard)))


def renamed(card: int, suits: tuple[int, ...]) -> int:
    return 8 * suits[card // 8] + card % 8


hands_and_upcards = st.permutations([8 * suit + rank for suit in range(4) for rank in range(2, 8)])


# --- rows ---------------------------------------------------------------------------------------


@given(cards=hands_and_upcards)
def test_renaming_suits_changes_no_row(cards: list[int]) -> None:
    rows = set()
    for suits in SUIT_MAPS:
        new = [renamed(card, suits) for card in cards]
        rows.add(row_of(sum(1 << card for card in new[:5]), new[5]))
    assert len(SUIT_MAPS) == 8
    assert len(rows) == 1
    assert is_sorted()[rows.pop()]


def test_every_row_has_a_hand_of_its_own() -> None:
    assert is_sorted().sum() == 105_798
    for rank in range(NINE, ACE + 1):
        hands = every_hand(rank)
        assert not (hands >> rank & 1).any()  # the upcard, of clubs, is nobody's
        first = (rank - NINE) * len(hands)
        for place in range(0, len(hands), 97):
            row, kept = row_of(int(hands[place]), rank), is_sorted()[first + place]
            assert (row == first + place) == kept
            assert is_sorted()[row]


def bidding_states(num: int, rules: Rules | None = None) -> States:
    """Deals in the middle of the bidding."""
    states = new_states(num, rules)
    seed_streams(states, np.arange(num, dtype=np.uint64))
    start_games(states)
    for k in range(num):
        play_random(states[k : k + 1], k % 5)
    bidding: States = states[states["phase"] < Phase.PLAY]
    return bidding


@pytest.mark.parametrize(
    "rules",
    [
        Rules(),
        Rules(discard_upcard=True, allow_turned_down_suit="always"),
        Rules(stick_the_dealer=True, order_up_pickup="must"),
    ],
    ids=["default", "upcard", "stick"],
)
def test_every_act_has_a_slot_of_its_own(rules: Rules) -> None:
    states = bidding_states(600, rules)
    seen = set()
    for state, bits in zip(states, action_bits(states), strict=True):
        hand, upcard = dealt_cards(state), state.upcard
        order, start = suit_order(hand, upcard), decision_start(state)
        place = STARTS.index(start)
        slots = [act_slot(hand, upcard, order, action) for action in action_list(int(bits))]
        assert len(set(slots)) == len(slots)
        assert all(0 <= slot < len(DECISIONS[place][1]) for slot in slots)
        assert hand.bit_count() == 5
        seen.add(place)
        if bits & 1 << PASS:
            assert act_slot(hand, upcard, order, PASS) == 0
        for action in (ORDER_UP, ACCEPT):
            assert act_slot(hand, upcard, order, action) == 1
    assert len(seen) >= len(DECISIONS) - 1


def test_cards_to_lay_away_are_counted_in_the_order_of_the_row() -> None:
    state = parse_position("9CTCQCKC9S/JHAHAS9DKD/TH d1 0-0 pass,accept")[0]
    hand, upcard = dealt_cards(state), int(state.upcard)
    order = suit_order(hand, upcard)
    slots = {card: act_slot(hand, upcard, order, card) for card in card_list(hand)}
    # hearts are turned, diamonds their twin, then the ace of spades
    assert sorted(slots, key=lambda card: slots[card]) == [
        card for name in ("JH", "AH", "9D", "KD", "AS") for card in card_list(hand)
        if card == {"JH": 20, "AH": 23, "9D": 10, "KD": 14, "AS": 31}[name]
    ]  # fmt: skip


# --- the file -----------------------------------------------------------------------------------


def some_table(rules: Rules | None = None) -> BidTable:
    weights = np.random.default_rng(0).random((NUM_ROWS, NUM_SLOTS))
    weights[~is_sorted()] = 0
    return from_weights(weights, rules or Rules())


def test_a_table_reads_back(tmp_path: Path) -> None:
    table = some_table(Rules(stick_the_dealer=True))
    write_table(tmp_path / "bids.npz", table)
    again = read_table(tmp_path / "bids.npz")
    np.testing.assert_array_equal(again.probabilities, table.probabilities)
    assert again.rules == table.rules


def test_weights_become_shares() -> None:
    weights = np.zeros((NUM_ROWS, NUM_SLOTS))
    weights[7, 0:2] = 3, 1
    table = from_weights(weights, Rules())
    assert table.probabilities[7, :2].tolist() == [191, 64]
    assert table.probabilities.sum() == 255


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"format": b"euchre_env table of bids 0"}, "its format is not", id="format"),
        pytest.param({"rules": b'{"stick_the_dealer": true}'}, "checksum is wrong", id="rules"),
        pytest.param({"checksum": bytes(32)}, "checksum is wrong", id="checksum"),
        pytest.param({"probabilities": bytes(100)}, "probabilities are uint8", id="shape"),
        pytest.param({"more": bytes(1)}, "other things", id="more"),
    ],
)
def test_a_file_that_is_no_table_is_refused(
    tmp_path: Path, change: dict[str, bytes], message: str
) -> None:
    path = tmp_path / "bids.npz"
    write_table(path, some_table())
    with np.load(path) as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    parts |= {name: np.frombuffer(data, dtype=np.uint8) for name, data in change.items()}
    np.savez_compressed(path, **parts)
    with pytest.raises(ValueError, match=rf"bids\.npz is no table of bids: .*{message}"):
        read_table(path)


def test_damage_and_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bids.npz"
    write_table(path, some_table())
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    with pytest.raises(ValueError, match="no table of bids"):
        read_table(path)
    path.write_bytes(b"PK nothing")
    with pytest.raises(ValueError, match="no table of bids"):
        read_table(path)
    objects = np.array([json.dumps({})], dtype=object)
    np.savez(path, **dict.fromkeys(("format", "rules", "probabilities", "checksum"), objects))
    with pytest.raises(ValueError, match="no table of bids"):
        read_table(path)
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "gone.npz")


def test_tables_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(ValueError, match="'order' do not add up"):
        BidTable(np.full((NUM_ROWS, NUM_SLOTS), 100, dtype=np.uint8), Rules())
    with pytest.raises(ValueError, match="of shape"):
        BidTable(np.zeros((3, NUM_SLOTS), dtype=np.uint8), Rules())
    assert FORMAT.endswith("1")


def test_the_table_that_ships_knows_every_hand_under_the_default_rules() -> None:
    table = shipped_table()
    assert table.rules == Rules()
    assert table.fits(Rules(target_score=5, stop_when_decided=True, redeal_dealer="same"))
    for rules in (Rules.stick(), Rules.british(), Rules.with_32_cards(), Rules(super_euchre=True)):
        assert not table.fits(rules)
    for start, end in itertools.pairwise(STARTS):
        assert table.probabilities[is_sorted(), start:end].any(axis=1).all()


# --- learning -----------------------------------------------------------------------------------


def learner(nondealer: float | None = None, dealer: float | None = None) -> cfr.Learner:
    """A learner; every deal is worth so much to its maker, by role, where that is given."""
    new = cfr.Learner.new(Rules(), seed=1, measured_deals=0)
    if nondealer is not None:
        new.leaves = np.repeat(np.array([nondealer, dealer]), NUM_CELLS // 2)
        new.tables[:] = 0
    return new


def share(table: BidTable, decision: str, act: str) -> float:
    """Mean probability of an act over the rows that know the decision."""
    names = [name for name, _ in DECISIONS]
    start = STARTS[names.index(decision)]
    acts = dict(DECISIONS)[decision]
    part = table.probabilities[:, start : start + len(acts)].astype(float)
    part = part[part.sum(axis=1) > 0]
    return float(part[:, acts.index(act)].sum() / part.sum())


@pytest.mark.parametrize(
    ("nondealer", "dealer", "expected"),
    [
        pytest.param(1, 1, {"order": "order_up"}, id="makers win: who speaks first makes trump"),
        pytest.param(-2, 1, {"order": "pass", "name_first": "pass"}, id="dealers win"),
        pytest.param(
            -2, -2, dict.fromkeys(("order", "accept", "name_first", "name_second"), "pass"),
            id="makers lose",
        ),
    ],
)  # fmt: skip
def test_what_is_worth_it_is_learned(
    nondealer: float, dealer: float, expected: dict[str, str]
) -> None:
    new = learner(nondealer, dealer)
    for _ in range(10):
        new.learn()
    for decision, act in expected.items():
        assert share(new.table(), decision, act) > 0.9


def test_learning_is_the_same_again_and_regret_falls() -> None:
    one, two = learner(), learner()
    one.learn()
    early = one.regret()
    for _ in range(4):
        one.learn()
    for _ in range(5):
        two.learn()
    np.testing.assert_array_equal(one.tables, two.tables)
    assert one.regret() < early / 2
    assert one.num_deals == 5 * cfr.CHUNK


def test_the_first_strategy_is_the_experts() -> None:
    agent = BidderAgent(BidderSettings(search=Settings()), learner().table())
    expert = make_agent("expert")
    states = bidding_states(400)
    masks = masks_of(states)
    views = blank(states, states["to_act"])
    rng = streams(0, len(views))
    alike = agent.act(views, masks, rng) == expert.act(views, masks, rng)
    assert alike.mean() > 0.98  # among equals the order of the suits decides


def test_leaves_are_open_hands_until_they_are_measured() -> None:
    unmeasured = measure_leaves(Rules(), 0, 0).reshape(2, 6, 6, 6)
    assert (unmeasured == np.array([-2, -2, -2, 1, 1, 2])[None, :, None, None]).all()
    measured = measure_leaves(Rules(), 0, 20_000).reshape(2, 6, 6, 6)
    assert -2 <= measured.min()
    assert measured.max() <= 2
    # three open tricks with one trump each are less than they seem, two are more
    assert measured[0, 3, 1, 1] < 0.8
    assert measured[1, 2, 2, 1] > -1.9


def test_leaves_do_not_depend_on_what_stood_in_memory() -> None:
    """Freed memory was read: a row of an array does not keep the array alive in a kernel."""
    measured = measure_leaves(Rules(), 0, 20_000)
    for filling in (0, 255):
        held = [np.full(size, filling, dtype=np.uint8) for size in range(8, 4096, 8)]
        del held
        np.testing.assert_array_equal(measure_leaves(Rules(), 0, 20_000), measured)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rules", "british"], "the deck of 24 cards"),
        (["--rules", "nonsense"], "'nonsense' is no preset"),
        (["--minutes", "0"], "--minutes 0.0: more than 0"),
        (["--deals", "0"], "--deals 0: at least 1"),
        (["--measure", "-1"], "--measure -1: 0 or more"),
        (["--save", "no/such/folder.npz"], "there is no folder"),
    ],
)
def test_the_command_refuses_what_means_nothing(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cfr.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_the_command_saves_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bids.npz"
    save = ["--save", str(path), "--rules", "stick", "--measure", "100"]
    assert cfr.main(["--deals", "1", *save]) == 0
    assert "100,000 deals" in capsys.readouterr().out
    assert read_table(path).rules == Rules.stick()
    assert cfr.main(["--minutes", "0.0001", *save]) == 0


def test_writing_over_the_table_that_ships_is_said_before_anything_is_learnt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cfr.Learner, "new", stop)
    assert cfr.main(["--deals", "1"]) == 130
    assert "no --save: the table that ships" in " ".join(capsys.readouterr().out.split())


# --- the agent ----------------------------------------------------------------------------------


def masks_of(states: States) -> np.ndarray:
    masks = np.empty((len(states), NUM_ACTIONS), dtype=np.int8)
    action_masks(states, masks)
    return masks


def test_bids_are_drawn_as_often_as_the_table_says() -> None:
    agent = BidderAgent(BidderSettings(least=0), some_table())
    for text in (
        "JHAH9HKCTC/KSQSASTSJD/TH d1 0-0 -",
        "JHAH9HKCTC/KSQSASTSJD/TH d1 0-0 pass,pass",
        "9CTCQCKC9S/JHAHAS9DKD/TH d1 0-0 pass,accept",
    ):
        states = np.repeat(parse_position(text), 20_000)
        views, masks = blank(states, states["to_act"]), masks_of(states)
        acts = agent.act(views, masks, streams(5, len(views)))
        seen = np.bincount(acts, minlength=NUM_ACTIONS) / len(views)
        said = agent.probabilities(views[:1], masks[:1])[0]
        assert said.sum() == pytest.approx(1)
        assert (said > 0).sum() > 1
        assert abs(seen - said).max() < 4 * 0.5 / np.sqrt(len(views))


def test_unlikely_bids_are_left_out() -> None:
    weights = np.zeros((NUM_ROWS, NUM_SLOTS))
    weights[:, 0:2] = 0.9, 0.1
    table = from_weights(weights, Rules())
    states = np.repeat(parse_position("JHAH9HKCTC/KSQSASTSJD/TH d1 0-0 -"), 2_000)
    views, masks = blank(states, states["to_act"]), masks_of(states)
    for least, some_order in ((0, True), (0.1, True), (0.12, False), (1, False)):
        agent = BidderAgent(BidderSettings(least=least), table)
        acts = agent.act(views, masks, streams(0, len(views)))
        assert (acts == ORDER_UP).any() == some_order
        assert (agent.probabilities(views[:1], masks[:1])[0, ORDER_UP] > 0) == some_order


def test_probabilities_are_those_of_legal_acts_in_every_phase() -> None:
    agent, search = BidderAgent(), SearchAgent()
    for rules in (Rules(), Rules.british(), Rules.stick()):
        states = new_states(300, rules)
        seed_streams(states, np.arange(300, dtype=np.uint64))
        start_games(states)
        for _ in range(12):
            masks, views = masks_of(states), blank(states, states["to_act"])
            chances = agent.probabilities(views, masks)
            np.testing.assert_allclose(chances.sum(axis=1), 1)
            assert (chances[masks == 0] == 0).all()
            rng = np.repeat(streams(0, 1), len(views))
            sure = chances.max(axis=1) == 1
            acts = agent.act(views, masks, rng)
            np.testing.assert_array_equal(chances.argmax(axis=1)[sure], acts[sure])
            if rules != Rules():  # no table: bids as search does
                bids = states["phase"] < Phase.DISCARD
                np.testing.assert_array_equal(acts[bids], search.act(views, masks, rng)[bids])
            play_random(states, 1)


def test_cards_are_played_as_search_does() -> None:
    states = new_states(300)
    seed_streams(states, np.arange(300, dtype=np.uint64))
    start_games(states)
    play_random(states, 6)
    states = states[states["phase"] == Phase.PLAY]
    masks, views, rng = masks_of(states), blank(states, states["to_act"]), streams(2, len(states))
    assert (action_bits(states) & ~CARD_ACTIONS == 0).all()
    np.testing.assert_array_equal(
        BidderAgent().act(views, masks, rng), SearchAgent().act(views, masks, rng)
    )


def test_names_and_settings() -> None:
    assert make_agent("bidder").name == "bidder"
    assert make_agent("bidder:worlds=all").name == "bidder:worlds=all"
    with pytest.raises(ValueError, match="'bidder' with argument 'worlds=0'"):
        make_agent("bidder:worlds=0")
    with pytest.raises(ValueError, match=r"least=1.5: it is 0 to 1"):
        BidderSettings(least=1.5)


def test_bids_come_before_the_cards_are_known() -> None:
    """The bid for a hand does not depend on the other's cards."""
    agent = BidderAgent()
    texts = [
        f"JHAH9HKCTC/{other}/TH d1 0-0 -" for other in ("KSQSASTSJD", "9S9DTDQDAC", "JCJSQC9CTS")
    ]
    states = np.concatenate([parse_position(text) for text in texts])
    chances = agent.probabilities(blank(states, states["to_act"]), masks_of(states))
    assert (chances == chances[0]).all()
    apply_all(states, np.full(3, PASS, dtype=np.int64))


# --- the charts ---------------------------------------------------------------------------------


def test_the_page_shows_the_charts_of_the_table_that_ships() -> None:
    page = (Path(__file__).parents[1] / "docs" / "bidding.md").read_text(encoding="utf-8")
    assert page == into_page(page, markdown(charts(shipped_table())))


def test_charts_count_what_a_table_says() -> None:
    weights = np.zeros((NUM_ROWS, NUM_SLOTS))
    for start, end in itertools.pairwise(STARTS):
        weights[:, start] = 3
        weights[:, end - 1] = 1
    for chart in charts(from_weights(weights, Rules())):
        met = chart.shares[~np.isnan(chart.shares)]
        assert met.size
        np.testing.assert_allclose(met, 0.25, atol=0.005)


def test_the_charts_command_refuses_a_page_without_marks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, picture = tmp_path / "page.md", tmp_path / "bids.png"
    page.write_text("nothing here", encoding="utf-8")
    assert bidding_charts.main(["--page", str(page), "--picture", str(picture)]) == 2
    assert "the page has no" in capsys.readouterr().err
    assert not picture.exists()
    page.write_text(f"{bidding_charts.BEGIN}{bidding_charts.END}", encoding="utf-8")
    assert bidding_charts.main(["--page", str(page), "--picture", str(picture)]) == 0
    assert picture.stat().st_size > 10_000
