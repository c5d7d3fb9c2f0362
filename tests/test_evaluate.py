"""Evaluation: mirrored, reproducible to the bit, honest about its error."""

import csv
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from agents.base import Agent
from agents.evaluation import (
    AgentError,
    MatchResult,
    agent_keys,
    bootstrap_interval,
    deal_words,
    match,
    normal_interval,
    parse_rules,
    rates_table,
    result_table,
    share_interval,
)
from agents.evaluation.cli import main
from agents.evaluation.controls import Control
from agents.evaluation.deals import HASHED_DEALS, LIST_HASHES, deals_hash
from agents.evaluation.tables import controls_table
from agents.scripted import NoviceAgent, RandomAgent
from euchre_env.actions import NUM_ACTIONS, PASS
from euchre_env.dealing import seed_streams, substream
from euchre_env.engine import start_games
from euchre_env.kernel import IS_COMPILED, policy_address
from euchre_env.records import read_records
from euchre_env.rules import Rules
from euchre_env.state import States, new_states

ROOT = Path(__file__).parents[1]
SOME_RULES = [
    pytest.param(Rules(), id="default"),
    pytest.param(Rules.british(discard_upcard=True), id="british"),
    pytest.param(Rules.railroad_pack(joker_turned_up="redeal"), id="railroad"),
    pytest.param(Rules.stick(target_score=5, allow_turned_down_suit="always"), id="stick"),
    pytest.param(
        Rules(
            order_up_pickup="must", redeal_dealer="same", stop_when_decided=True, super_euchre=True
        ),
        id="the rest",
    ),
]


TIMES = ("seconds", "deals_per_second", "decisions_per_second")


class Batched:
    """An agent without its compiled policy: it is asked in batches."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.name = agent, agent.name
        self.sizes: list[int] = []

    def act(self, views: States, action_masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
        self.sizes.append(len(views))
        return self.agent.act(views, action_masks, rng)


class Answers:
    """An agent that answers whatever it is told to."""

    name = "odd"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def act(self, views: States, action_masks: np.ndarray, rng: np.ndarray) -> Any:
        return self.answer(views, action_masks)


def first_legal(views: States, masks: np.ndarray) -> np.ndarray:
    return masks.argmax(axis=1)


def same(one: MatchResult, other: MatchResult) -> bool:
    """Equal in every number; single pairs too. NaN equals NaN."""
    return json.dumps(untimed(one)) == json.dumps(untimed(other)) and np.array_equal(
        one.pair_scores, other.pair_scores
    )


def untimed(result: MatchResult) -> dict[str, Any]:
    return {name: value for name, value in result.to_json().items() if name not in TIMES}


# --- the protocol -------------------------------------------------------------------------------


def test_novice_is_far_above_random() -> None:
    smoke = match("novice", "random", pairs=2_500, games=250)
    assert smoke.mean > 0.75
    assert smoke.low > 0.7
    assert smoke.game_share is not None
    assert smoke.game_share.low > 0.9
    full = match("novice", "random")
    assert full.low > 0.8


@pytest.mark.parametrize("name", ["novice", "random"])
@pytest.mark.parametrize("rules", SOME_RULES)
def test_an_agent_against_itself_scores_exactly_0(name: str, rules: Rules) -> None:
    result = match(name, name, pairs=200, games=20, rules=rules)
    assert not result.pair_scores.any()
    assert (result.mean, result.low, result.high, result.sd) == (0, 0, 0, 0)
    assert result.game_share is not None
    assert (result.game_share.low, result.game_share.mean, result.game_share.high) == (
        0.5,
        0.5,
        0.5,
    )


@pytest.mark.parametrize("rules", SOME_RULES)
def test_swapping_the_agents_turns_the_result_round(rules: Rules) -> None:
    one = match("novice", "random", pairs=300, games=20, rules=rules)
    other = match("random", "novice", pairs=300, games=20, rules=rules)
    np.testing.assert_array_equal(one.pair_scores, -other.pair_scores)
    assert one.as_dealer.mean == -other.as_nondealer.mean
    assert json.dumps(untimed(one)["rates"]) == json.dumps(untimed(other)["rates"][::-1])
    assert one.game_share is not None
    assert other.game_share is not None
    assert one.game_share.mean == pytest.approx(1 - other.game_share.mean)
    assert one.game_share.low == pytest.approx(1 - other.game_share.high)


@pytest.mark.parametrize("rules", SOME_RULES)
def test_compiled_and_batched_agents_give_the_same_numbers(rules: Rules) -> None:
    fused = match("novice", "random", pairs=200, games=30, rules=rules)
    novice, random = Batched(NoviceAgent()), Batched(RandomAgent())
    assert same(fused, match(novice, random, pairs=200, games=30, rules=rules))
    assert same(fused, match("novice", random, pairs=200, games=30, rules=rules))
    assert same(fused, match(novice, "random", pairs=200, games=30, rules=rules))
    assert max(novice.sizes) > 100  # it was asked for many rows at once


@pytest.mark.parametrize("wrap", [lambda agent: agent, Batched], ids=["compiled", "batched"])
def test_the_batch_size_changes_nothing(wrap: Any) -> None:
    results = [
        match(wrap(NoviceAgent()), wrap(RandomAgent()), pairs=100, games=12, batch=batch)
        for batch in (1, 7, 64, 4_096)
    ]
    assert all(same(results[0], result) for result in results[1:])


def test_a_longer_match_begins_with_the_shorter_one() -> None:
    short, long = (match("novice", "random", pairs=pairs) for pairs in (50, 400))
    np.testing.assert_array_equal(long.pair_scores[:50], short.pair_scores)


def test_seed_and_list_tell_the_deals() -> None:
    results = [
        match("novice", "random", pairs=200, **options)
        for options in ({}, {}, {"seed": 1}, {"deals": "heldout"}, {"seed": 2**70})
    ]
    assert results[0] == results[1]
    scores = [result.pair_scores.tolist() for result in results[1:]]
    assert all(scores[i] != scores[k] for i in range(4) for k in range(i))


def test_the_lists_share_no_deal_with_one_another_nor_with_environments() -> None:
    dev, heldout = (deal_words(0, name, 0, 20_000) for name in ("dev", "heldout"))
    assert len({*dev.tolist(), *heldout.tolist()}) == 40_000
    assert (dev >> np.uint64(62) == 2).all()  # top bits 10, 11; seeds of environments are small
    assert (heldout >> np.uint64(62) == 3).all()
    np.testing.assert_array_equal(deal_words(0, "dev", 100, 50), dev[100:150])


@pytest.mark.parametrize("name", ["dev", "heldout"])
def test_the_deals_of_the_lists_stay_what_they_are(name: Any) -> None:
    assert deals_hash(0, name, HASHED_DEALS, Rules()) == LIST_HASHES[name]
    assert deals_hash(1, name, 10, Rules()) != deals_hash(0, name, 10, Rules())
    assert deals_hash(0, name, 10, Rules.british()) != deals_hash(0, name, 10, Rules())


def test_the_deal_list_stays_what_it_is() -> None:
    assert deal_words(0, "dev", 0, 2).tolist() == [0xAE27BB6EA943AFDA, 0xA8F16A9AE81CFCAC]
    assert agent_keys(0, 0, 1).tolist() == [0x9D5975E3F1BAE343]


def test_each_agent_deals_once_in_a_pair_and_seats_take_turns() -> None:
    result = match("novice", "random", pairs=501)
    for rates in result.rates:
        assert rates.as_dealer.deals == rates.as_nondealer.deals == 501
    states = new_states(2_000, Rules())
    seed_streams(states, deal_words(0, "dev", 0, 2_000))
    start_games(states)
    assert abs(states["dealer"].mean() - 0.5) < 4 * 0.5 / math.sqrt(2_000)


def test_an_agent_sees_views_and_its_own_stream_and_no_stream_comes_twice() -> None:
    seen: list[int] = []

    class Watcher:
        name = "watcher"

        def act(self, views: States, action_masks: np.ndarray, rng: np.ndarray) -> np.ndarray:
            assert (views["seat"] == views["to_act"]).all()
            assert not views["stream"].any()
            assert rng.shape == (len(views),)
            seen.extend(rng.tolist())
            return first_legal(views, action_masks)

    result = match(Watcher(), "novice", pairs=100, games=10)
    assert len(seen) == len(set(seen))
    assert 0 < len(seen) < result.decisions


def test_rates_by_hand() -> None:
    def bidder(views: States, masks: np.ndarray) -> np.ndarray:
        """Orders up and accepts whenever it may; else the first legal act."""
        wanted = np.where(masks[:, 38], 38, np.where(masks[:, 39], 39, masks.argmax(axis=1)))
        return wanted

    def passer(views: States, masks: np.ndarray) -> np.ndarray:
        return np.where(masks[:, PASS], PASS, masks.argmax(axis=1))

    result = match(Answers(bidder), Answers(passer), pairs=300)
    bids, passes = result.rates
    assert bids.as_nondealer.order_up == bids.as_dealer.accept == 1
    assert bids.as_nondealer.maker == bids.as_dealer.maker == 1
    assert passes.as_nondealer.order_up == passes.as_nondealer.maker == passes.as_dealer.maker == 0
    assert math.isnan(passes.as_dealer.accept)  # it was ordered up every time
    assert math.isnan(passes.as_dealer.made)
    assert result.thrown_in == 0
    for rates in (bids.as_dealer, bids.as_nondealer):
        assert rates.made + rates.euchred == pytest.approx(1)
        assert 0 < rates.march < rates.made
        points = rates.made + rates.march - 2 * rates.euchred
        estimate = result.as_dealer if rates is bids.as_dealer else result.as_nondealer
        assert points == pytest.approx(estimate.mean)


def test_deals_thrown_in_score_nothing_and_games_without_end_are_half_won(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def passer(views: States, masks: np.ndarray) -> np.ndarray:
        return np.where(masks[:, PASS], PASS, masks.argmax(axis=1))

    monkeypatch.setattr("agents.evaluation.parts.MAX_DEALS", 30)
    result = match(Answers(passer), Answers(passer), pairs=20, games=3)
    assert result.thrown_in == 1
    assert result.mean == 0
    assert result.unfinished_games == 6
    assert result.deals_per_game == 30
    assert result.game_share is not None
    assert result.game_share.mean == 0.5


# --- intervals ----------------------------------------------------------------------------------


def test_intervals_cover_the_truth_about_95_times_in_100() -> None:
    rng = np.random.default_rng(0)
    values, chances = np.array([-2, -0.5, 0, 1.0]), np.array([0.2, 0.3, 0.3, 0.2])
    truth = float(values @ chances)
    normal = bootstrap = 0
    for k in range(400):
        scores = rng.choice(values, size=200, p=chances)
        estimate = normal_interval(scores)
        low, high = bootstrap_interval(scores, k)
        normal += estimate.low <= truth <= estimate.high
        bootstrap += low <= truth <= high
    assert 0.92 < normal / 400 < 0.98
    assert 0.91 < bootstrap / 400 < 0.98


def test_the_normal_interval_by_hand() -> None:
    estimate = normal_interval(np.array([0.0, 1.0, 2.0, 3.0]))
    assert estimate.mean == 1.5
    assert estimate.high - 1.5 == pytest.approx(1.95996 * math.sqrt(5 / 3) / 2, rel=1e-5)
    assert 1.5 - estimate.low == pytest.approx(estimate.high - 1.5)
    assert math.isnan(normal_interval(np.array([1.0])).low)


def test_the_share_interval() -> None:
    split = share_interval(np.full(50, 0.5))
    assert (split.low, split.mean, split.high) == (0.5, 0.5, 0.5)
    won = share_interval(np.ones(100))
    assert won.mean == won.high == 1
    assert won.low == pytest.approx(1 / (1 + 1.96**2 / 100), rel=1e-3)  # Wilson, 100 of 100
    rng = np.random.default_rng(1)
    fair = share_interval((rng.random((2, 20_000)) < 0.3).mean(axis=0))
    # independent games: Wilson's half width for 40,000 of them
    assert (fair.high - fair.low) / 2 == pytest.approx(1.96 * math.sqrt(0.21 / 40_000), rel=0.05)


def test_the_score_counts_are_the_pairs() -> None:
    result = match("novice", "random", pairs=300)
    assert sum(result.score_counts.values()) == 300
    total = sum(float(score) * number for score, number in result.score_counts.items())
    assert total / 300 == pytest.approx(result.mean)


# --- agents that answer badly -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            lambda views, masks: np.full(len(views), PASS),
            r"agent 'odd' answered 37 \(pass\), legal are .*at the position '.* d[01] 0-0 ",
            id="not legal now",
        ),
        pytest.param(
            lambda views, masks: np.full(len(views), NUM_ACTIONS), "answered 42 .no act", id="42"
        ),
        pytest.param(lambda views, masks: np.full(len(views), -1), "answered -1 .no act", id="-1"),
        pytest.param(
            lambda views, masks: masks.argmax(axis=1)[:, None],
            r"agent 'odd' answered int64 of shape \(\d+, 1\) .* position was '",
            id="a column",
        ),
        pytest.param(lambda views, masks: 37, r"answered int64 of shape \(\)", id="one number"),
        pytest.param(
            lambda views, masks: masks.argmax(axis=1) * 1.0, "answered float64", id="float"
        ),
        pytest.param(lambda views, masks: None, "answered object", id="nothing"),
    ],
)
@pytest.mark.parametrize("other", ["novice", Batched(NoviceAgent())], ids=["fused", "batched"])
def test_bad_answers_are_told_with_agent_and_position(
    answer: Any, message: str, other: Any
) -> None:
    with pytest.raises(AgentError, match=message):
        match(other, Answers(answer), pairs=20)


def test_a_list_of_legal_acts_will_do() -> None:
    lists = match(Answers(lambda views, masks: masks.argmax(axis=1).tolist()), "novice", pairs=20)
    assert same(lists, match(Answers(first_legal), "novice", pairs=20))


def _always_pass(view_address: int, legal_bits: int, stream: int, memory_address: int) -> int:
    return 37


def test_a_compiled_policy_that_answers_badly_is_told_too() -> None:
    agent = Answers(first_legal)
    if not IS_COMPILED:  # then policies are passed over, whatever they are
        agent.policy_address = 1  # type: ignore[attr-defined]
        assert match("novice", agent, pairs=20).pairs == 20
        return
    compiled, address = policy_address(_always_pass)
    agent.policy_address = address  # type: ignore[attr-defined]
    with pytest.raises(AgentError, match=r"agent 'odd' answered 37 \(pass\).*position '"):
        match("novice", agent, pairs=20)
    assert compiled.address == address


# --- wrong arguments, the command line ----------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pairs": 0}, "pairs=0: it is a whole number, 1 or more"),
        ({"pairs": 2.5}, "pairs=2.5"),
        ({"games": -1}, "games=-1: it is a whole number, 0 or more"),
        ({"batch": 0}, "batch=0"),
        ({"seed": -1}, "seed=-1"),
        ({"deals": "test"}, "deals='test': it is one of 'dev', 'heldout'"),
        ({"rules": "british"}, "rules='british'"),
    ],
)
def test_wrong_arguments_are_told(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        match("novice", "random", **{"pairs": 5, **options})


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", Rules()),
        ("default", Rules()),
        ("british", Rules.british()),
        ("32", Rules.with_32_cards()),
        ("railroad", Rules.railroad_pack()),
        ("stick", Rules.stick()),
        ("lowest_rank=7,joker=true", Rules(lowest_rank="7", joker=True)),
        ("railroad, joker=false, target_score=5", Rules(lowest_rank="7", target_score=5)),
        (
            "joker=True,joker_turned_up=fixed_suit,joker_fixed_suit=S",
            Rules(joker=True, joker_turned_up="fixed_suit", joker_fixed_suit="S"),
        ),
    ],
)
def test_rules_as_text(text: str, rules: Rules) -> None:
    assert parse_rules(text) == rules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("german", "'german' is no preset: there are default, british"),
        ("jokers=1", "no option 'jokers'"),
        ("joker=maybe", "joker='maybe': it is one of false, true"),
        ("target_score=ten", "target_score='ten' is no whole number"),
        ("target_score=0", "target_score=0"),
        ("allow_turned_down_suit=stuck_dealer", "needs stick_the_dealer"),
    ],
)
def test_wrong_rules_are_told(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_rules(text)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, table = tmp_path / "out.json", tmp_path / "out.csv"
    arguments = ["novice", "random", "--pairs", "50", "--games", "5", "--rules", "british"]
    assert main([*arguments, "--json", str(path), "--csv", str(table)]) == 0
    printed = capsys.readouterr().out
    for words in ("novice against random", "points per deal", "bootstrap", "games won", "made"):
        assert words in printed
    assert "novice against itself, 50 pairs: 0 in every pair" in printed
    (numbers,) = json.loads(path.read_text(encoding="utf-8"))
    wanted = match("novice", "random", pairs=50, games=5, rules=Rules.british())
    controls = numbers.pop("controls")
    assert numbers == wanted.to_json() | {name: numbers[name] for name in TIMES}
    assert numbers["rates"][0]["as_dealer"]["order_up"] is None
    assert numbers["rules"] == {"joker": True}
    assert numbers["partial"] is False
    assert len(controls) == 4
    assert all(control["passed"] for control in controls)
    (row,) = csv.DictReader(table.read_text(encoding="utf-8").splitlines())
    assert (row["agents.0"], row["agents.1"], row["pairs"]) == ("novice", "random", "50")
    assert float(row["mean"]) == wanted.mean
    assert float(row["game_share.low"]) == wanted.to_json()["game_share"]["low"]
    assert row["rates.0.as_dealer.order_up"] == ""


def test_recorded_deals_are_those_that_were_played(tmp_path: Path) -> None:
    path, numbers = tmp_path / "deals.txt", tmp_path / "out.json"
    arguments = ["novice", "random", "expert", "--pairs", "40", "--games", "0", "--seed", "4"]
    assert main([*arguments, "--record", str(path), "--json", str(numbers)]) == 0
    records = read_records(path)
    assert [record.players for record in records] == [
        ("novice", "random"),
        ("novice", "expert"),
        ("random", "expert"),
    ]
    for record in records:
        assert (record.kind, record.seed, record.tags["list"]) == ("deals", 4, "dev")
        result = match(*record.players, pairs=40, seed=4)
        points = record.deals["points"].astype(int).reshape(40, 2, 2)
        scores = (points[:, :, 0] - points[:, :, 1]).mean(axis=1)
        np.testing.assert_array_equal(scores, result.pair_scores)
        assert record.tags["hash"] == result.deals_hash


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["novice"], "name at least two agents"),
        (["novice", "novise"], "did you mean 'novice'"),
        (["novice", "random", "--rules", "joker=maybe"], "joker='maybe'"),
        (["novice", "random", "--pairs", "0"], "pairs=0"),
        (["novice", "random", "--seed", "-1"], "seed=-1"),
        (["novice", "random", "--json", os.path.join("no", "such", "x.json")], "no folder"),
        (["novice", os.path.join("no", "such", "run")], "such"),
        (["novice", "random", "--csv", os.path.join("no", "such", "x.csv")], "no folder"),
        (["novice", "random", "--sequential", "0.1", "0"], "sequential=0.1 0: two means"),
        (["novice", "random", "--sequential", "0", "3"], "between -2 and 2"),
        (["novice", "random", "novice", "--sequential", "0", "1"], "is for two agents"),
        (["novice", "random", "--workers", "0"], "workers=0"),
        (["novice", "random", "--address", "here"], "the backend loky has none"),
    ],
)
def test_wrong_command_lines_end_with_one_sentence_and_code_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("evaluate.py: ")
    assert message in printed.err
    assert printed.err.count("\n") == 1


def test_tables_fit_80_columns() -> None:
    result = match("novice", "random", pairs=300, games=3, rules=Rules.british())
    failed = Control("a against [b]", "1", "2", passed=False)
    console = Console(width=80, record=True, file=open(os.devnull, "w", encoding="utf-8"))
    with console.file:
        for table in (result_table(result), rates_table(result), controls_table([failed])):
            console.print(table)
    text = console.export_text()
    assert "…" not in text
    assert "nondealer" in text
    assert "FAILED a against [b]: 2 (expected: 1)" in text


def test_a_single_pair_has_no_interval_but_a_result() -> None:
    result = match("novice", "random", pairs=1)
    assert math.isnan(result.sd)
    assert result.to_json()["low"] is None
    assert str(result) == f"novice against random: {result.mean:+.3f} points per deal (95%, 1 pair)"
    assert result == replace(result, seconds=0.0)
    assert result.game_share is None


def test_a_single_pair_is_told_without_nan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["novice", "random", "--pairs", "1", "--games", "1"]) == 0
    printed = capsys.readouterr().out
    assert "nan" not in printed
    assert "a single pair has no interval" in printed
    result = match("novice", "random", pairs=1, games=1)
    assert result.game_share is not None
    assert result.game_share.low < 0.3
    assert result.game_share.high > 0.7


def test_progress_counts_every_pair() -> None:
    counted: list[int] = []
    match("novice", "random", pairs=100, games=30, batch=40, progress=counted.append)
    assert sum(counted) == 130
    assert max(counted) <= 40


def test_streams_of_acts_depend_on_nothing_else() -> None:
    key = agent_keys(0, 3, 1)[0]
    np.testing.assert_array_equal(agent_keys(0, 0, 4)[3], key)
    assert substream(key, np.uint64(4), 1) != substream(key, np.uint64(4), 2)


# --- other processes ----------------------------------------------------------------------------

AGAIN = """
import json
from evaluate import match
result = match("novice", "random", pairs=40, games=2, seed=3).to_json()
del result["seconds"], result["deals_per_second"], result["decisions_per_second"]
print(json.dumps(result))
"""


def in_another_process(**environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", AGAIN],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )


def test_other_processes_find_the_same_compiled_or_not() -> None:
    first, second = in_another_process(), in_another_process()
    here = json.dumps(untimed(match("novice", "random", pairs=40, games=2, seed=3)))
    assert first.stdout.strip() == second.stdout.strip() == here
    assert "compiling" not in second.stderr
    assert in_another_process(NUMBA_DISABLE_JIT="1").stdout.strip() == here


def test_the_script_runs_from_anywhere(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "evaluate.py"), "novice", "nobody"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("evaluate.py: no agent is called 'nobody'")
