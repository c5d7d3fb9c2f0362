"""Agents that the package brings along: the median seeds, as measured, with cards that say so."""

import json
from pathlib import Path

import numpy as np
import pytest

from agents import AGENTS, make_agent
from agents.evaluation import match
from agents.policies import load_policy
from agents.pretrained import FOLDER
from agents.training.presets import PRESETS
from benchmarks import train_results

RUNS = json.loads((Path(__file__).parents[1] / "results/training.json").read_text(encoding="utf-8"))
SHIPPED = {"ppo-strong": "strong", "ppo-selfplay": "selfplay"}


def median_of(preset):
    runs = [run for run in RUNS if run["preset"] == preset]
    return sorted(runs, key=lambda run: run["heldout"]["expert"]["mean"])[len(runs) // 2]


def test_every_folder_is_an_agent():
    folders = {path.parent.name for path in FOLDER.glob("*/policy.json")}
    assert folders == set(SHIPPED) <= set(AGENTS)


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("argument", ["", ":sample"])
def test_it_goes_by_its_name(name, argument):
    assert make_agent(name + argument).name == name + argument


@pytest.mark.parametrize("name", SHIPPED)
def test_another_argument_is_refused(name):
    with pytest.raises(ValueError, match="sample"):
        make_agent(f"{name}:worlds=3")


@pytest.mark.parametrize(("name", "preset"), SHIPPED.items())
def test_it_is_the_median_seed_of_its_preset(name, preset):
    told, run = load_policy(FOLDER / name).training, median_of(preset)
    for key in ("preset", "seed", "steps", "opponent"):
        assert told[key] == run[key]
    assert run["steps"] >= PRESETS[preset]["steps"]
    assert len([run for run in RUNS if run["preset"] == preset]) == 5


@pytest.mark.parametrize(("name", "preset"), SHIPPED.items())
def test_its_card_gives_the_figures_measured(name, preset):
    card = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    run = median_of(preset)
    for told in run["heldout"].values():
        assert f"{told['mean']:+.3f} [{told['low']:+.3f}, {told['high']:+.3f}]" in card
    assert f"{run['exploitability']['mean']:.3f}" in card
    assert f"--seed {run['seed']}`" in card


@pytest.mark.parametrize("name", SHIPPED)
def test_a_few_megabytes_of_plain_numbers(name):
    sizes = {path.name: path.stat().st_size for path in (FOLDER / name).iterdir()}
    assert set(sizes) == {"policy.json", "policy.safetensors", "README.md"}
    assert sum(sizes.values()) < 4_000_000


@pytest.mark.parametrize(("name", "preset"), SHIPPED.items())
def test_it_plays_as_measured(name, preset):
    """On dev deals, within four standard errors of what held-out deals gave."""
    result = match(name, "expert", pairs=2_000)
    error = (result.high - result.low) / 2 / 1.96
    expected = median_of(preset)["heldout"]["expert"]["mean"]
    assert abs(result.mean - expected) < 4 * np.hypot(error, error / 2)


def run_of(seed, mean):
    return {"preset": "quick", "seed": seed, "heldout": {"novice": {"mean": mean}}}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_the_median_seed_is_neither_the_best_nor_the_worst(order):
    means = (0.41, 0.44, 0.37)
    runs = [run_of(seed, means[seed]) for seed in order]
    assert train_results.median_run(runs, "quick")["seed"] == 0


def test_an_even_number_of_seeds_has_no_median():
    with pytest.raises(ValueError, match="2 runs of quick"):
        train_results.median_run([run_of(0, 0.1), run_of(1, 0.2)], "quick")


@pytest.mark.parametrize("num", [1, 5, 9, 10, 40])
def test_checkpoints_of_a_curve_begin_and_end_with_the_run(num):
    chosen = train_results.spread(list(range(num)), 9)
    assert (chosen[0], chosen[-1]) == (0, num - 1)
    assert chosen == sorted(set(chosen))
    assert len(chosen) <= 9
