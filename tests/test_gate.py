"""The regression gate: a weaker agent is noticed, an unchanged one never blamed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.evaluation.cli import main
from agents.evaluation.gate import (
    Baseline,
    check_agents,
    load_baseline,
    play_baseline,
    save_baseline,
)
from euchre_env.rules import Rules

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def baseline() -> Baseline:
    return play_baseline(["novice", "expert"], pairs=1_000)


def with_scores(baseline: Baseline, agent: str, change: Any) -> Baseline:
    scores = {
        key: change(known) if key[0] == agent else known for key, known in baseline.scores.items()
    }
    return Baseline(baseline.seed, baseline.deals, baseline.rules, baseline.pairs, scores)


def test_agents_that_did_not_change_are_unchanged(baseline: Baseline) -> None:
    for verdict in check_agents(baseline):
        assert verdict.word == "unchanged"
        assert verdict.num_changed == 0
        assert (verdict.difference.low, verdict.difference.high) == (0, 0)
        assert verdict.p_value == 1
        assert verdict.before == verdict.now
        assert verdict.agent not in verdict.opponents


def test_only_the_weaker_one_is_named(baseline: Baseline) -> None:
    rng = np.random.default_rng(0)
    better = with_scores(
        baseline, "expert", lambda known: known + rng.choice([0, 0.5], len(known), p=[0.9, 0.1])
    )
    novice, expert = check_agents(better)
    assert (novice.word, expert.word) == ("unchanged", "WEAKER")
    assert expert.difference.mean == pytest.approx(-0.05, abs=0.02)
    assert expert.p_value < 0.001


def test_stronger_is_not_weaker_and_luck_is_neither(baseline: Baseline) -> None:
    worse = with_scores(baseline, "novice", lambda known: known - (np.arange(len(known)) % 9 == 0))
    assert [verdict.word for verdict in check_agents(worse)] == ["stronger", "unchanged"]
    rng = np.random.default_rng(1)
    lucky = with_scores(baseline, "novice", lambda known: known + rng.choice([-0.5, 0.5], 1_000))
    assert check_agents(lucky, ["novice"])[0].word == "no weaker"


def test_the_correction_is_for_the_number_of_agents(baseline: Baseline) -> None:
    rng = np.random.default_rng(2)
    change = rng.choice([-0.5, 0.5], 1_000, p=[0.47, 0.53])
    both = with_scores(baseline, "novice", lambda known: known + change)
    alone = check_agents(both, ["novice"])[0].p_value
    among = check_agents(both)[0].p_value
    assert 0 < alone < 1
    assert among == pytest.approx(min(1.0, 2 * alone))


def test_a_file_holds_it_all(baseline: Baseline, tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    played = play_baseline(["novice"], pairs=50, seed=3, deals="heldout", rules=Rules.british())
    for known in (baseline, played):
        save_baseline(path, known)
        again = load_baseline(path)
        assert (again.seed, again.deals, again.rules, again.pairs) == (
            known.seed,
            known.deals,
            known.rules,
            known.pairs,
        )
        assert list(again.scores) == list(known.scores)
        for key, scores in known.scores.items():
            np.testing.assert_array_equal(again.scores[key], scores)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: text[: len(text) // 2], "is no baseline"),
        (lambda text: "[]", "no 'euchre_env baseline' in it"),
        (lambda text: text.replace('"version": 1', '"version": 2'), "version 2 is not 1"),
        (lambda text: text.replace('"pairs": 50', '"pairs": 49'), "not 49 letters"),
        (lambda text: text.replace('"scores": "', '"scores": "z'), "letters a to q"),
        (lambda text: text.replace('"mean"', '"means"'), "it has no 'mean'"),
        (lambda text: text.replace('"seed": 0', '"seed": 1'), "no longer dealt so"),
        (lambda text: text.replace('"rules": {}', '"rules": {"x": 1}'), "is no baseline"),
    ],
)
def test_damaged_files_are_told(
    damage: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "baseline.json"
    save_baseline(path, play_baseline(["novice"], pairs=50))
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert main(["--against", str(path)]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_a_missing_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--against", str(tmp_path / "none.json")]) == 2
    assert "no such file; --baseline writes one" in capsys.readouterr().err


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, found = tmp_path / "baseline.json", tmp_path / "found.json"
    assert main(["novice", "expert", "--pairs", "200", "--baseline", str(path)]) == 0
    assert "expert against novice: +0." in capsys.readouterr().out
    assert main(["--against", str(path), "--json", str(found)]) == 0
    assert capsys.readouterr().out.count("unchanged") == 2
    assert [row["is_weaker"] for row in json.loads(found.read_text())] == [False, False]
    known = load_baseline(path)
    save_baseline(path, with_scores(known, "novice", lambda scores: np.minimum(scores + 0.5, 2)))
    assert main(["novice", "--against", str(path)]) == 1
    assert "WEAKER" in capsys.readouterr().out
    assert main(["expert", "--against", str(path)]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["random"], "knows no agent 'random': it has novice"),
        (["--rules", "british"], "was played by other rules, 24 cards"),
    ],
)
def test_what_cannot_be_compared_is_told(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "baseline.json"
    save_baseline(path, play_baseline(["novice"], pairs=20))
    assert main([*arguments, "--against", str(path)]) == 2
    assert message in capsys.readouterr().err
    assert main(["--against", str(tmp_path / "none.json")]) == 2


def test_the_projects_own_baseline_can_be_read() -> None:
    known = load_baseline(ROOT / "results" / "baseline.json")
    assert {"random", "novice", "expert"} <= set(known.agents)
    assert known.pairs == 10_000
    assert known.rules == Rules()
