"""A tournament: the same deals for all, and figures that follow from its matches."""

import csv
import importlib.util
import io
import json
import math
import os
from itertools import combinations, permutations

import numpy as np
import pytest
from rich.console import Console

from agents import make_agent
from agents.evaluation import match, round_robin, summarise, tournament_tables
from agents.evaluation.cli import main
from agents.evaluation.deals import deals_hash
from agents.evaluation.standings import distinct
from agents.evaluation.tournaments import headline
from euchre_env.actions import ACCEPT, ORDER_UP, PASS
from euchre_env.rules import Rules


class Habit:
    """The novice, but for one habit in the bidding."""

    def __init__(self, name, habit):
        self.name, self.habit, self.novice = name, habit, make_agent("novice")

    def act(self, views, action_masks, rng):
        actions = self.novice.act(views, action_masks, rng)
        for wanted in self.habit:
            actions = np.where(action_masks[:, wanted], wanted, actions)
        return actions


PASSER = Habit("passer", (PASS,))
CALLER = Habit("caller", (ORDER_UP, ACCEPT))
PLAYERS = {player.name: player for player in map(make_agent, ("random", "novice"))}
PLAYERS |= {"passer": PASSER, "caller": CALLER}


def play(first, second):
    return match(first, second, pairs=150, games=4)


@pytest.fixture(scope="module")
def four():
    players = [make_agent("random"), CALLER, make_agent("novice"), PASSER]
    return round_robin(players, play, command="evaluate.py random ...")


def pairing_of(tournament, first, second):
    """The pairing of two agents, and 1 when it is seen from the first, else -1."""
    for pairing in tournament.pairings:
        if {pairing.first, pairing.second} == {first, second}:
            return pairing, 1 if pairing.first == first else -1
    raise AssertionError(f"{first} and {second} do not meet")


# --- figures that follow from the matches -------------------------------------------------------


def test_every_two_agents_meet_once(four):
    assert sorted(four.agents) == ["caller", "novice", "passer", "random"]
    assert [(p.first, p.second) for p in four.pairings] == list(combinations(four.agents, 2))


def test_the_table_holds_the_matches_seen_from_either_side(four):
    np.testing.assert_array_equal(four.payoffs, -four.payoffs.T)
    np.testing.assert_array_equal(four.half_widths, four.half_widths.T)
    for row, first in enumerate(four.agents):
        for column, second in enumerate(four.agents):
            if row != column:
                players = [PLAYERS[name] for name in (first, second)]
                result = play(*players)
                assert four.payoffs[row, column] == pytest.approx(result.mean)
                half = (result.high - result.low) / 2
                assert four.half_widths[row, column] == pytest.approx(half)


def test_a_pairing_is_the_match_turned_so_that_the_better_is_first(four):
    for pairing in four.pairings:
        result = play(PLAYERS[pairing.first], PLAYERS[pairing.second])
        np.testing.assert_array_equal(pairing.pair_scores, result.pair_scores)
        assert pairing.score_counts == result.score_counts
        assert pairing.points.mean == pytest.approx(result.mean)
        assert pairing.points.low == pytest.approx(result.low)
        assert pairing.as_dealer.mean == pytest.approx(result.as_dealer.mean)
        assert pairing.as_dealer.low == pytest.approx(result.as_dealer.low)
        assert pairing.as_nondealer.high == pytest.approx(result.as_nondealer.high)
        assert pairing.game_share.mean == pytest.approx(result.game_share.mean)
        assert pairing.game_share.low == pytest.approx(result.game_share.low)
        for seat in (0, 1):
            assert pairing.by_seat[seat].mean == pytest.approx(result.by_seat[seat].mean)
            assert pairing.by_seat[seat].low == pytest.approx(result.by_seat[seat].low)
        assert repr(pairing.rates) == repr(result.rates)
        assert pairing.won + pairing.drawn + pairing.lost == pytest.approx(1)
        assert pairing.won == (result.pair_scores > 0).mean()
        assert pairing.drawn == (result.pair_scores == 0).mean()


def test_a_standing_is_the_mean_over_the_opponents(four):
    for standing in four.standings:
        own = [
            (p, 1 if p.first == standing.agent else -1)
            for p in four.pairings
            if standing.agent in (p.first, p.second)
        ]
        scores = np.mean([sign * p.pair_scores for p, sign in own], axis=0)
        assert standing.field.mean == pytest.approx(scores.mean())
        half = 1.96 * scores.std() / math.sqrt(len(scores))
        assert standing.field.high - standing.field.mean == pytest.approx(half, rel=1e-3)
        means = [sign * p.points.mean for p, sign in own]
        assert standing.worst.mean == pytest.approx(min(means))
        pairing, sign = pairing_of(four, standing.agent, standing.worst_against)
        assert standing.worst.mean == pytest.approx(sign * pairing.points.mean)
        assert standing.as_dealer + standing.as_nondealer == pytest.approx(2 * standing.field.mean)
        assert standing.num_beaten == sum(
            p.is_significant and sign * p.points.mean > 0 for p, sign in own
        )
        assert standing.weight_low <= standing.weight <= standing.weight_high
    assert sum(standing.weight for standing in four.standings) == pytest.approx(1)
    assert sum(standing.rating.mean for standing in four.standings) == pytest.approx(0)


def test_ratings_fall_from_first_to_last(four):
    ratings = [standing.rating.mean for standing in four.standings]
    assert ratings == sorted(ratings, reverse=True)
    assert four.agents[0] == "novice"
    assert all(p.p_holm >= p.p_value for p in four.pairings)


def test_rates_that_nothing_could_be_counted_for_stay_nan(four):
    rates = next(s for s in four.standings if s.agent == "passer")
    assert rates.dealer_rates["accept"] == rates.nondealer_rates["maker"] == 0
    assert math.isnan(rates.dealer_rates["made"])
    assert math.isnan(rates.dealer_rates["order_up"])  # only the nondealer orders up


def test_the_order_in_which_agents_are_named_changes_nothing():
    players = [make_agent("random"), make_agent("novice"), PASSER]
    all_orders = [
        round_robin(order, lambda a, b: match(a, b, pairs=40)) for order in permutations(players)
    ]
    for one in all_orders[1:]:
        assert one.agents == all_orders[0].agents
        np.testing.assert_allclose(one.payoffs, all_orders[0].payoffs)
        for standing, other in zip(one.standings, all_orders[0].standings, strict=True):
            assert standing.rating.mean == pytest.approx(other.rating.mean)
            assert standing.weight == pytest.approx(other.weight)


def test_the_protocol_tells_what_was_played(four):
    protocol = four.protocol
    assert (protocol.pairs, protocol.games, protocol.seed, protocol.deals) == (150, 4, 0, "dev")
    assert protocol.deals_hash == deals_hash(0, "dev", 150, Rules())
    assert not protocol.partial
    assert protocol.decisions > 6 * 300 * 5
    assert protocol.versions["euchre-env"]


# --- unusual fields -----------------------------------------------------------------------------


def test_two_agents_are_a_tournament():
    two = round_robin([make_agent("random"), make_agent("novice")], play)
    assert two.agents == ("novice", "random")
    assert [standing.weight for standing in two.standings] == [1, 0]
    assert headline(two).startswith("novice beats random: +0.")


@pytest.mark.parametrize("name", ["novice", "random"])
def test_copies_of_an_agent_cannot_be_told_apart(name):
    copies = round_robin([make_agent(name) for _ in range(3)], play)
    assert copies.agents == (name, f"{name} (2)", f"{name} (3)")
    assert not copies.payoffs.any()
    for standing in copies.standings:
        assert standing.rating.mean == pytest.approx(0, abs=1e-6)
        assert standing.weight == pytest.approx(1 / 3, abs=1e-3)
        assert (standing.num_beaten, standing.num_beaten_by) == (0, 0)
        assert standing.game_share == 0.5
    assert not copies.mixture_is_unique
    assert f"not significantly better than {name} (2) and {name} (3)" in headline(copies)


def test_names_are_told_apart():
    assert distinct(["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]


def test_a_single_pair_is_shown_without_a_claim():
    one = round_robin([make_agent("random"), make_agent("novice"), PASSER],
                      lambda a, b: match(a, b, pairs=1))  # fmt: skip
    assert not any(pairing.is_significant for pairing in one.pairings)
    text = shown(one)
    assert "nan" not in text
    assert "nan" not in headline(one)
    json.dumps(one.to_json(), allow_nan=False)


def test_pairings_may_have_played_fewer_pairs():
    players = [make_agent("novice"), make_agent("random"), PASSER]
    results = [match(a, b, pairs=60 if PASSER in (a, b) else 200)
               for a, b in combinations(players, 2)]  # fmt: skip
    uneven = summarise([player.name for player in players], results)
    assert {pairing.pairs for pairing in uneven.pairings} == {60, 200}
    assert uneven.protocol.pairs == 200
    assert all(s.field.low < s.field.mean < s.field.high for s in uneven.standings)


def test_results_that_do_not_belong_together_are_refused():
    results = [match("novice", "random", pairs=5, seed=seed) for seed in (0, 0, 1)]
    with pytest.raises(ValueError, match="the matches differ in seed: 0 and 1"):
        summarise(["a", "b", "c"], results)
    with pytest.raises(ValueError, match="3 agents meet in 3 pairings, not in 2"):
        summarise(["a", "b", "c"], results[:2])
    with pytest.raises(ValueError, match="two agents or more"):
        round_robin([make_agent("novice")], play)


# --- one sentence, tables, files ----------------------------------------------------------------


def test_the_headline_names_who_beats_all_others(four):
    best = four.standings[0]
    assert headline(four).startswith(
        f"novice beats every other agent; closest is {best.worst_against}, +"
    )
    assert "150 mirrored pairs" in headline(four)


def shown(tournament, width=80):
    console = Console(width=width, record=True, file=io.StringIO())
    for table in tournament_tables(tournament):
        console.print(table)
    return console.export_text()


def test_the_tables_show_every_figure_in_80_columns(four):
    text = shown(four)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    for pairing in four.pairings:
        assert f"{pairing.points.mean:+.3f}" in text
        assert f"{-pairing.points.mean:+.3f}" in text
        assert f"{pairing.first} – {pairing.second}" in text
    for standing in four.standings:
        assert f"{standing.rating.mean:+.0f} ±" in text


def test_names_are_shown_as_they_are():
    odd = Habit("[red]x[/red]", (PASS,))
    assert "[red]x[/red]" in shown(round_robin([odd, make_agent("novice")], play))


def test_the_whole_as_json_and_csv(four):
    plain = json.loads(json.dumps(four.to_json(), allow_nan=False))
    assert [standing["agent"] for standing in plain["standings"]] == list(four.agents)
    assert plain["payoffs"] == four.payoffs.tolist()
    assert plain["headline"] == headline(four)
    assert all(sum(p["score_counts"].values()) == 150 for p in plain["pairings"])
    rows = list(csv.DictReader(io.StringIO(four.pairings_csv())))
    assert [(row["first"], row["second"]) for row in rows] == list(combinations(four.agents, 2))
    assert [float(row["points"]) for row in rows] == [p.points.mean for p in four.pairings]
    agents = list(csv.DictReader(io.StringIO(four.agents_csv())))
    assert [row["agent"] for row in agents] == list(four.agents)
    assert [float(row["rating"]) for row in agents] == [s.rating.mean for s in four.standings]
    passer = next(row for row in agents if row["agent"] == "passer")
    assert passer["dealer_made"] == ""


# --- the command line ---------------------------------------------------------------------------


def test_more_than_two_agents_on_the_command_line(capsys):
    assert main(["novice", "random", "novice", "--pairs", "60", "--games", "0"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for words in ("novice (2)", "row against column", "not significantly better", "Nash"):
        assert words in printed
    mean = match("novice", "random", pairs=60).mean
    assert f"{mean:+.3f}" in printed
    assert f"{-mean:+.3f}" in printed


def test_a_missing_library_is_told_before_anything_is_played(monkeypatch, capsys):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "statsmodels" else find_spec(name)
    )
    assert main(["novice", "random", "novice", "--pairs", str(10**9)]) == 2
    printed = capsys.readouterr()
    assert printed.err == (
        "evaluate.py: a tournament needs statsmodels: pip install 'euchre-env[evaluate]'"
        + os.linesep
    )
