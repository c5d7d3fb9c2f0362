"""The sequential test: its errors are what it says, and it stops where anybody would stop."""

import json
import math

import numpy as np
import pytest

from agents.evaluation import match
from agents.evaluation.cli import main
from agents.evaluation.sequential import (
    BOUNDS,
    STEP,
    check_means,
    judge,
    log_likelihood_ratio,
    looks,
)

SCORES = np.array([-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2])


def chances(mean: float) -> np.ndarray:
    """Scores as of two agents, with this mean."""
    shares = np.array([1, 2, 5, 14, 56, 14, 5, 2, 1]) / 100
    low, high = -5.0, 5.0
    while high - low > 1e-12:
        tilt = (low + high) / 2
        tilted = shares * np.exp(tilt * SCORES)
        tilted /= tilted.sum()
        low, high = (tilt, high) if tilted @ SCORES < mean else (low, tilt)
    return tilted


def verdicts(truth: float, mean_0: float, mean_1: float, runs: int, cap: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    found = {"H0": 0, "H1": 0, "undecided": 0}
    for _ in range(runs):
        scores = rng.choice(SCORES, size=cap, p=chances(truth))
        for num in looks(0, cap, cap):
            test = judge(scores[:num], mean_0, mean_1, 2, cap)
            if test.verdict != "undecided":
                break
        found[test.verdict] += 1
    return {verdict: number / runs for verdict, number in found.items()}


def test_errors_are_at_most_what_the_test_says() -> None:
    under_0 = verdicts(0.0, 0.0, 0.06, runs=100, cap=4_000)
    assert under_0["H1"] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 100)
    assert under_0["H0"] > 0.85
    under_1 = verdicts(0.06, 0.0, 0.06, runs=100, cap=4_000)
    assert under_1["H0"] <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 100)
    assert under_1["H1"] > 0.85


def test_beyond_a_hypothesis_it_decides_sooner() -> None:
    scores = np.random.default_rng(2).choice(SCORES, size=250, p=chances(0.3))
    assert judge(scores, 0.0, 0.06, 2, 1_000).verdict == "H1"
    assert judge(-scores, 0.0, 0.06, 2, 1_000).verdict == "H0"


def test_the_ratio_is_near_the_normal_one() -> None:
    scores = np.random.default_rng(3).choice(SCORES, size=4_000, p=chances(0.02))
    mean, variance = scores.mean(), scores.var()
    normal = 4_000 * 0.02 * (2 * mean - 0.02) / (2 * variance)
    assert log_likelihood_ratio(scores, 0.0, 0.02, 2) == pytest.approx(normal, rel=0.02, abs=0.02)


def test_swapping_the_agents_turns_the_ratio_round() -> None:
    scores = np.random.default_rng(4).choice(SCORES, size=500, p=chances(0.05))
    there = log_likelihood_ratio(scores, 0.0, 0.06, 2)
    back = log_likelihood_ratio(-scores, -0.06, 0.0, 2)
    assert there == pytest.approx(-back)


@pytest.mark.parametrize("score", [-2.0, 0.0, 2.0])
def test_scores_that_are_all_equal_have_a_ratio(score: float) -> None:
    ratio = log_likelihood_ratio(np.full(250, score), -0.1, 0.1, 2)
    assert math.isfinite(ratio)
    assert (ratio > 0.5) - (ratio < -0.5) == np.sign(score)


def test_it_looks_at_fixed_places() -> None:
    assert list(looks(0, 1_000, 1_000)) == [250, 500, 750, 1_000]
    assert list(looks(0, 249, 1_000)) == []
    assert list(looks(250, 600, 1_000)) == [500]
    assert list(looks(500, 620, 620)) == [620]


def test_hypotheses_are_in_order_and_can_be_scored() -> None:
    check_means(-0.1, 0.1, 2)
    check_means(2, 3, 4)
    for means in ((0.1, 0.0), (0.0, 0.0), (0.0, 2.0), (-2.0, 0.0), (math.nan, 0.0)):
        with pytest.raises(ValueError, match="two means in points a deal"):
            check_means(*means, 2)


# --- matches that stop --------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 100, 4_096])
def test_a_match_stops_at_the_same_pair_whatever_the_batch(batch: int) -> None:
    result = match("novice", "random", sequential=(0.0, 0.1), pairs=5_000, batch=batch)
    test = result.sequential
    assert test is not None
    assert test.verdict == "H1"
    assert test.llr >= test.upper == BOUNDS[1]
    assert result.pairs == test.pairs < 5_000
    assert result.pairs % STEP == 0
    shorter = match("novice", "random", pairs=result.pairs)
    np.testing.assert_array_equal(result.pair_scores, shorter.pair_scores)
    assert result.rates == shorter.rates
    assert result.decisions == shorter.decisions
    before = judge(shorter.pair_scores[:-STEP], 0.0, 0.1, 2, 5_000)
    assert before.verdict == "undecided"


def test_the_cap_is_told() -> None:
    result = match("novice", "novice", sequential=(-0.001, 0.001), pairs=300)
    assert result.sequential is not None
    assert result.sequential.verdict == "undecided"
    assert result.sequential.pairs == result.pairs == 300
    assert "the cap of 300 pairs came first" in result.sequential.reason


def test_the_command_line_tells_the_stop(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "out.json"
    arguments = ["novice", "random", "--sequential", "0", "0.1", "--games", "0", "--no-controls"]
    assert main([*arguments, "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "H1 taken: +0.1 points a deal rather than +0" in printed
    assert "bounds -2.94 and +2.94" in printed
    (numbers,) = json.loads(path.read_text(encoding="utf-8"))
    assert numbers["sequential"]["verdict"] == "H1"
    assert numbers["sequential"]["pairs"] == numbers["pairs"]
