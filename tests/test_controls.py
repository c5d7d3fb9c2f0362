"""Controls notice the faults they are there for."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents import make_agent
from agents.evaluation import Estimate, match
from agents.evaluation.cli import main
from agents.evaluation.controls import Control, load_ceilings, run_controls
from agents.scripted import NoviceAgent
from euchre_env.kernel import IS_COMPILED
from euchre_env.rules import Rules
from tests.cheater import Cheater, head_to_head

SETTINGS: dict[str, Any] = {"pairs": 50, "seed": 0, "deals": "dev", "rules": Rules()}


def controls_of(*players: Any, results: Any = (), ceilings: Any = None) -> dict[str, Control]:
    found = run_controls(players, results, ceilings or {}, **SETTINGS)
    return {control.name.partition(",")[0]: control for control in found}


class Moody:
    """Acts differ from call to call: what no agent may do."""

    name = "moody"

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def act(self, views: Any, action_masks: np.ndarray, rng: Any) -> np.ndarray:
        return (self.rng.random(action_masks.shape) * action_masks).argmax(axis=1)


def test_shipped_agents_pass() -> None:
    found = controls_of("novice", "random", NoviceAgent())
    assert len(found) == 4
    assert all(control.passed for control in found.values())


def test_an_agent_with_moods_fails() -> None:
    found = controls_of("novice", Moody())
    assert not found["moody against itself"].passed
    assert "depend on more than" in found["moody against itself"].observed
    assert found["novice against itself"].passed


def test_random_numbers_of_their_own_are_other_ones() -> None:
    salted = match("random", "random", pairs=200, salts=(1, 2))
    assert salted.pair_scores.any()
    assert not match("random", "random", pairs=200, salts=(3, 3)).pair_scores.any()


def test_changed_deals_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        __import__("agents.evaluation.deals").evaluation.deals.LIST_HASHES, "dev", "0"
    )
    found = controls_of("novice")
    assert [name for name, control in found.items() if not control.passed] == [
        "hash of the first 40"
    ]


def test_nobody_wins_more_than_the_others_exploitability() -> None:
    result = match("novice", "random", pairs=500)
    low = controls_of(results=[result], ceilings={"random": Estimate(0.5, 0.45, 0.55)})
    assert not low["novice against random: ceiling"].passed
    assert "sees cards" in low["novice against random: ceiling"].observed
    high = controls_of(results=[result], ceilings={"random": Estimate(1.1, 1.0, 1.2)})
    assert high["novice against random: ceiling"].passed
    turned = match("random", "novice", pairs=500)
    low = controls_of(results=[turned], ceilings={"random": Estimate(0.5, 0.45, 0.55)})
    assert not low["novice against random: ceiling"].passed


MEASURED = load_ceilings(Path(__file__).parents[1] / "results", Rules())
FIELD = ("random", "novice", "expert", "search", "bidder", "ppo-strong", "ppo-selfplay")


@pytest.mark.skipif(not IS_COMPILED, reason="thousands of deals")
def test_no_shipped_agent_wins_more_than_the_best_response_to_the_other_does() -> None:
    results = [match(*two, pairs=1_000, games=0) for two in itertools.combinations(FIELD, 2)]
    found = controls_of(results=results, ceilings=MEASURED)
    ceilings = [control for name, control in found.items() if name.endswith(": ceiling")]
    assert len(ceilings) == len(MEASURED) * (len(FIELD) - 1)
    assert [control.name for control in ceilings if not control.passed] == []


@pytest.mark.skipif(not IS_COMPILED, reason="thousands of deals")
@pytest.mark.parametrize("name", sorted(MEASURED))
def test_who_sees_all_cards_wins_more_than_that(name: str) -> None:
    score = head_to_head(Cheater(), make_agent(name), 2_000)
    assert score.mean - 1.96 * score.error > MEASURED[name].high


def test_a_failed_control_is_exit_code_1(tmp_path: Path, capsys: Any) -> None:
    ceiling = {"agent": "random", "mean": 0.3, "low": 0.2, "high": 0.4, "rules": {}}
    (tmp_path / "exploitability-random.json").write_text(json.dumps(ceiling))
    arguments = ["novice", "random", "--pairs", "300", "--games", "0"]
    assert main([*arguments, "--ceilings", str(tmp_path)]) == 1
    assert "FAILED" in capsys.readouterr().out
    assert main([*arguments, "--ceilings", str(tmp_path), "--rules", "british"]) == 0
    (tmp_path / "exploitability-x.json").write_text("[1")
    assert main([*arguments, "--ceilings", str(tmp_path)]) == 2
    assert "exploitability-x.json is no exploitability file" in capsys.readouterr().err


def test_ceilings_belong_to_their_rules(tmp_path: Path) -> None:
    ceiling = {"agent": "novice", "mean": 0.5, "low": 0.4, "high": 0.6, "rules": {"joker": True}}
    (tmp_path / "exploitability-novice.json").write_text(json.dumps(ceiling))
    assert load_ceilings(tmp_path, Rules()) == {}
    assert load_ceilings(tmp_path, Rules.british()) == {"novice": Estimate(0.5, 0.4, 0.6)}
    assert load_ceilings(tmp_path / "nowhere", Rules()) == {}
