"""Training writes what it says, and the saved policy plays what was learnt."""

import csv
import importlib.machinery
import io
import json
import os
import re
import signal
import subprocess
import sys
import types
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tyro
from rich.console import Console

import train
from agents import make_agent
from agents.evaluation import match
from agents.learned import LearnedAgent, load_agent
from agents.policies import Policy, load_policy, save_policy, write_atomically
from agents.sb3 import EuchreVecEnv
from agents.training.config import (
    Config,
    check,
    from_json,
    read_config,
    read_run,
    split_weight,
    with_preset,
)
from agents.training.curve import COLUMNS, smoothed
from agents.training.folder import make_folder
from agents.training.network import observation_scale
from agents.training.report import report_html
from agents.training.run import Run
from agents.training.screen import Screen
from agents.training.setup import make_games
from agents.training.watch import warnings
from euchre_env import EuchreVectorEnv, Rules
from euchre_env.dealing import as_streams
from euchre_env.observation import (
    ABSOLUTE,
    ABSOLUTE_ACTIONS,
    OBSERVATION_HIGH,
    OBSERVATION_SIZE,
    encode,
)

TINY = Config(
    name="tiny",
    opponent=("random",),
    steps=2048,
    num_envs=64,
    num_steps=16,
    batch_size=256,
    epochs=1,
    policy_layers=(32,),
    value_layers=(16,),
    threads=1,
    checkpoint_minutes=0.0,
    evaluations=0,
    pairs=0,
)


def make_run(config, folder, console=None):
    """A run in a folder of its own."""
    return Run(config, check(config), folder, Screen(console or Console(quiet=True), "deal"))


def learn(config, folder, console=None):
    """A run, done: its model."""
    run = make_run(config, folder, console)
    run.go()
    return run.model


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A short run: its model and its folder."""
    folder = tmp_path_factory.mktemp("runs")
    return learn(TINY, folder), folder


def views_and_masks(num, **options):
    """``num`` views of many phases, with masks in plain suits."""
    games = EuchreVectorEnv(100, opponent="random", autoreset_mode="SameStep", **options)
    _, infos = games.reset(seed=3)
    rng = np.random.default_rng(0)
    views, masks = [], []
    for _ in range(-(-num // 100)):
        views.append(games.views.copy())
        masks.append(infos["action_mask"])
        _, _, _, _, infos = games.step(
            (rng.random((100, 42)) * infos["action_mask"]).argmax(axis=1)
        )
    return np.concatenate(views)[:num], np.concatenate(masks)[:num]


def frames(views):
    """The frame in which each view's suits are named."""
    return np.where(views["turned_suit"] < 0, ABSOLUTE, views["turned_suit"])


def random_policy(seed=0, activation="relu", suits="relative", sizes=(24,)):
    """A network of random numbers."""
    rng = np.random.default_rng(seed)
    sizes = [OBSERVATION_SIZE, *sizes, 42]
    layers = tuple(
        (
            rng.normal(size=(m, n), scale=n**-0.5).astype(np.float32),
            rng.normal(size=m).astype(np.float32),
        )
        for n, m in pairwise(sizes)
    )
    return Policy(layers, (), activation, suits, Rules(), {})


# --- a run --------------------------------------------------------------------------------------


def test_a_run_leaves_its_files(tmp_path):
    folder = train.main(replace(TINY, folder=tmp_path, rules="stick"))
    assert folder.parent == tmp_path
    assert folder.name.endswith("-tiny")
    config = json.loads((folder / "config.json").read_text())
    assert config["args"]["steps"] == TINY.steps
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    with (folder / "curve.csv").open(newline="") as file:
        curve = list(csv.DictReader(file))
    assert [int(line["steps"]) for line in curve] == [1024, 2048]
    assert float(curve[-1]["points"]) < 2
    assert list(folder.glob("tensorboard/events.out.tfevents.*"))
    checkpoint = folder / "checkpoints" / "0000001024"
    assert load_policy(checkpoint).training["steps"] == 1024
    assert load_policy(folder).training["steps"] == 2048
    page = (folder / "report.html").read_text()
    assert folder.name in page
    assert page.count("<figure>") == 2  # the curves and the deal: nothing was measured
    assert not re.search(r'(src|href)="(?!#)', page)  # it loads nothing


def test_a_report_tells_matches_calls_and_the_deal(tmp_path):
    run = make_run(replace(TINY, evaluations=2, evaluation_pairs=10), tmp_path)
    run.go()
    results = [match(LearnedAgent.load(tmp_path), "novice", pairs=20)]
    page = report_html(run, results)
    assert "against novice" in page
    assert f"{results[0].mean:+.3f}" in page
    assert "Calls over time" in page
    run.warned["points"] = "<script>"
    assert "<script>" not in report_html(run, results)


def test_the_saved_policy_acts_as_the_trained_one(run):
    model, folder = run
    views, masks = views_and_masks(1000, episode="deal")
    agent = LearnedAgent.load(folder)
    acts = agent.act(views, masks, as_streams(1, 1000))
    names = ABSOLUTE_ACTIONS[frames(views)]
    relative_masks = np.take_along_axis(masks, names, axis=1)
    expected, _ = model.predict(
        encode(views, relative=True), deterministic=True, action_masks=relative_masks
    )
    assert np.array_equal(acts, names[np.arange(1000), expected])
    assert len(np.unique(acts)) > 10


def test_the_same_seed_gives_the_same_weights(run, tmp_path):
    _, folder = run
    for seed, is_same in ((TINY.seed, True), (TINY.seed + 1, False)):
        again = tmp_path / str(seed)
        learn(replace(TINY, seed=seed), again)
        weights = [load_policy(where).layers for where in (folder, again)]
        assert is_same == all(
            np.array_equal(a, b)
            for ours, theirs in zip(*weights, strict=True)
            for a, b in zip(ours, theirs, strict=True)
        )


def test_learning_beats_the_random_agent(tmp_path):
    config = replace(TINY, steps=64 * 16 * 40, learning_rate=3e-3, epochs=3)
    model = learn(config, tmp_path)
    games = make_games(replace(config, num_envs=500), Rules())
    games.seed(10**6)
    observations = games.reset()
    for _ in range(40):
        acts, _ = model.predict(observations, deterministic=True, action_masks=games.action_masks())
        observations, *_ = games.step(acts)
    error = 1.5 / games.num_episodes**0.5
    assert games.total_reward / games.num_episodes > 0.2 + 2 * error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_a_run_with_everything_saved(tmp_path, number):
    run = make_run(replace(TINY, steps=10**9), tmp_path)
    note = run._note

    def note_and_interrupt():
        note()
        if len(run.curve) == 2:
            signal.raise_signal(number)

    run._note = note_and_interrupt
    before = signal.getsignal(number)
    run.go()
    assert run.model.num_timesteps == 2 * 1024
    assert load_policy(tmp_path).training["steps"] == 2 * 1024
    assert (tmp_path / "curve.csv").exists()
    assert signal.getsignal(number) is before


def test_a_second_ctrl_c_breaks_off(tmp_path):
    run = make_run(replace(TINY, steps=10**9), tmp_path)
    run._note = lambda: (signal.raise_signal(signal.SIGINT), signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run.go()


def test_a_run_by_the_clock_stops(tmp_path):
    model = learn(replace(TINY, steps=0, minutes=0.01), tmp_path)
    assert model.num_timesteps > 0
    assert load_policy(tmp_path).training["seconds"] >= 0.6


def test_the_shortest_run_is_one_update(tmp_path):
    """The clock starts with the first game, whatever time it took to make them."""
    run = make_run(replace(TINY, steps=0, minutes=1e-9), tmp_path)
    run.budget.set_back(10**6, 0.0)
    run.go()
    assert run.model.num_timesteps == 1024
    assert run.curve[0]["seconds"] < 1000
    assert load_policy(tmp_path).training["steps"] == 1024


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_shows_steps_speed_and_result(tmp_path, is_terminal):
    shown = io.StringIO()
    console = Console(file=shown, force_terminal=is_terminal, width=100)
    learn(replace(TINY, steps=1024), tmp_path, console)
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue())
    assert re.search(r"1,024 steps · [\d,]+/s · [+-]\d\.\d{3} points a deal", lines)
    assert is_terminal == ("\x1b[" in shown.getvalue())


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"batch_size": 100}, "batch_size=100: it divides the 1024 acts"),
        ({"opponent": ("nobody",)}, "nobody"),
        ({"rules": "whist"}, "whist"),
        ({"steps": 0, "minutes": 0.0}, "nothing would be learnt"),
        ({"threads": 0}, "threads=0"),
        ({"seed": -1}, "seed=-1"),
        ({"value_layers": (0,)}, "layers"),
        ({"opponent": ()}, "name one at least"),
        ({"opponent": ("novice=-1",)}, "weight"),
        ({"self_play": True, "pool_self": 0.9, "pool_past": 0.3}, "pool_self=0.9, .* together"),
        ({"device": "abacus"}, "abacus"),
        ({"entropy": float("nan")}, "entropy=nan"),
        ({"gae_lambda": 1.5}, "gae_lambda=1.5"),
        ({"evaluations": 1, "evaluation_pairs": 1}, "evaluation_pairs=1: it is 2 or above"),
        ({"evaluations": 1, "evaluation_pairs": 0}, "evaluation_pairs=0: .* evaluations=0"),
        ({"self_play": True, "pool_size": 255}, "pool_size=255: it is 254 at the most"),
        ({"seed": 2**32}, "seed=4294967296: it is 4294967295 at the most"),
        ({"threads": 10**9}, "threads=1000000000: it is 1024 at the most"),
        ({"num_envs": 2**40}, "num_envs=1099511627776 times num_steps=16: .* memory"),
        ({"policy_layers": (10**12,)}, "layers have sizes from 1 to 65536"),
        ({"name": "\udc80"}, r"name='\\udc80': no folder can be called that"),
        ({"name": "a\0b"}, "name=.* a part of a folder's name"),
        ({"name": "a/b"}, "name='a/b': it is a part of a folder's name"),
        ({"name": "x" * 300}, "name=.* of 200 bytes at the most"),
    ],
)
def test_knobs_that_mean_nothing_are_told_before_anything_is_written(tmp_path, knobs, words):
    with pytest.raises(ValueError, match=words):
        train.main(replace(TINY, folder=tmp_path, **knobs))
    assert list(tmp_path.iterdir()) == []


def test_a_preset_is_what_the_command_line_does_not_change():
    strong = read_config(["--preset", "strong", "--seed", "3"])
    assert strong == with_preset("strong", seed=3)
    assert strong.changed() == {"seed": 3}
    assert (strong.opponent, strong.steps > 0) == (("expert",), True)
    assert read_config(["--preset=selfplay"]).self_play
    assert read_config([]) == with_preset("quick")


def test_minutes_train_by_the_clock_whatever_the_preset():
    config = read_config(["--preset", "strong", "--minutes", "3"])
    assert (config.minutes, config.steps) == (3.0, 0)


def test_a_run_ends_by_steps_or_by_the_clock_but_not_by_both():
    with pytest.raises(ValueError, match=r"--steps and --minutes: .* give one alone"):
        read_config(["--steps", "1000", "--minutes=3"])
    assert read_config(["--steps", "0", "--minutes", "3"]).steps == 0
    assert read_config(["--steps", "1000"]).steps == 1000


def test_the_largest_knobs_that_mean_something_are_taken():
    check(replace(TINY, seed=2**32 - 1, threads=1024, evaluations=1, evaluation_pairs=2))
    check(replace(TINY, self_play=True, pool_size=254))
    check(replace(TINY, pool_size=1000))  # nobody asks for a pool


def test_a_resumed_run_takes_no_other_knobs():
    with pytest.raises(ValueError, match="stands alone"):
        read_config(["--resume", "runs/x", "--seed", "1"])


def test_large_numbers_may_be_written_short():
    assert read_config(["--steps", "1e6"]).steps == 1_000_000
    assert read_config(["--steps=2.5e5", "--pool-steps", "1E+5"]).steps == 250_000
    assert read_config(["--pool-steps", "1E+5"]).pool_steps == 100_000
    with pytest.raises(SystemExit):
        read_config(["--steps", "1.5"])


def test_a_run_alone_is_told_how_to_go_on():
    with pytest.raises(ValueError, match="to go on with a run, --resume runs/x"):
        read_config(["runs/x"])


def test_knobs_survive_the_disk():
    config = with_preset("selfplay", seed=5, magnet_kl=1.0)
    told = json.loads(json.dumps(config.to_json()))
    assert from_json(told) == config
    for wrong in ({**told, "colour": 1}, {"seed": 5}, []):
        with pytest.raises(ValueError, match="another version"):
            from_json(wrong)


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"seed": "5"}, "seed='5': that is no int"),
        ({"seed": True}, "seed=True: that is no int"),
        ({"entropy": 10**400}, "entropy=10+: that is no float"),
        ({"activation": "foo"}, "activation='foo': it is one of relu, tanh"),
        ({"preset": "zzz"}, "preset='zzz': it is one of quick, strong, selfplay"),
        ({"critic": None}, "critic=None: it is one of open, own"),
        ({"precision": []}, r"precision=\[\]: it is one of auto, "),
        ({"policy_layers": ["a"]}, "policy_layers='a': that is no int"),
        ({"policy_layers": 3}, "policy_layers=3: that is no list of int"),
        ({"opponent": [3]}, "opponent=3: that is no str"),
    ],
)
def test_knobs_on_the_disk_are_checked_and_told_with_their_file(tmp_path, knobs, words):
    told = {"args": {**with_preset("quick").to_json(), **knobs}}
    (tmp_path / "config.json").write_text(json.dumps(told))
    with pytest.raises(ValueError, match=rf"config\.json cannot be read: {words}"):
        read_run(tmp_path)


def test_a_configuration_nested_without_end_is_told(tmp_path):
    (tmp_path / "config.json").write_text("[" * 200_000)
    with pytest.raises(ValueError, match=r"config\.json cannot be read: maximum recursion"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("text", "name", "weight"),
    [
        ("expert=2", "expert", 2.0),
        ("runs/x", "runs/x", 1.0),
        ("search:worlds=40", "search:worlds=40", 1.0),
        ("search:worlds=40=0.5", "search:worlds=40", 0.5),
        ("best_response:search:worlds=40", "best_response:search:worlds=40", 1.0),
        ("ppo-strong:sample=2", "ppo-strong:sample", 2.0),
        ("run:runs/x=2", "run:runs/x", 2.0),
        ("run:runs/x,sample=2", "run:runs/x,sample", 2.0),
        ("my_agent.py:Careful=2", "my_agent.py:Careful", 2.0),
        ("my_package.agents:Careful=2", "my_package.agents:Careful", 2.0),
        ("my_agent.py:Careful:depth=3", "my_agent.py:Careful:depth=3", 1.0),
        ("my_agent.py:Careful:depth=3=2", "my_agent.py:Careful:depth=3", 2.0),
        ("my_agent.py:Careful:3=2", "my_agent.py:Careful:3", 2.0),
    ],
)
def test_opponents_have_weights(text, name, weight):
    assert split_weight(text) == (name, weight)


def test_a_folder_is_a_name_whatever_it_is_called(tmp_path):
    folder = tmp_path / "x-lr=0.01"
    assert split_weight(str(folder)) == (str(tmp_path / "x-lr"), 0.01)  # there is none
    folder.mkdir()
    assert split_weight(str(folder)) == (str(folder), 1.0)
    assert split_weight(f"run:{folder}") == (f"run:{folder}", 1.0)
    assert split_weight(f"{folder}=2") == (str(folder), 2.0)


def test_a_weight_is_a_number(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r"'expert=two'.* its weight, a number, as in expert=2"):
        split_weight("expert=two")
    (tmp_path / "expert=two").mkdir()  # a folder is a name
    assert split_weight("expert=two") == ("expert=two", 1.0)


def test_a_place_that_keeps_nothing_is_told(tmp_path):
    file = tmp_path / "runs"
    file.write_text("no folder")
    with pytest.raises(OSError, match=r"no run can be kept in .*runs: .*; choose another --folder"):
        make_folder(replace(TINY, folder=file))


def test_the_policy_is_measured_on_the_way(tmp_path):
    run = make_run(replace(TINY, evaluations=2, evaluation_pairs=20), tmp_path)
    run.go()
    told = [(one["steps"], one["rival"]) for one in run.evaluations]
    assert told == [(1024, "novice"), (1024, "random"), (2048, "novice"), (2048, "random")]
    assert all(one["low"] <= one["mean"] <= one["high"] for one in run.evaluations)


def test_a_policy_that_collapses_is_warned_of():
    row = dict.fromkeys(COLUMNS, 0.1) | {"approx_kl": 0.01, "entropy": 0.5, "script_points": 0.3}
    well = [row] * 40
    assert warnings(well, 0.9) == {}
    assert warnings([row | {"entropy": 0.01}] * 40, 0.9).keys() == {"entropy"}
    assert warnings([row | {"entropy": 0.01}] * 40, 0.1) == {}
    assert warnings([row | {"approx_kl": 0.5}] * 40, 0.9).keys() == {"kl"}
    assert warnings([*well, *[row | {"script_points": -0.2}] * 10], 0.9).keys() == {"points"}


def test_wandb_is_asked_for_by_name_only_where_it_is_installed(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    config = replace(TINY, wandb=True, steps=1024, folder=tmp_path)
    with pytest.raises(ImportError, match="pip install wandb"):
        train.main(config)
    assert list(tmp_path.iterdir()) == []
    asked = []
    fake = types.ModuleType("wandb")
    fake.__spec__ = importlib.machinery.ModuleSpec("wandb", None)
    fake.init = lambda **options: asked.append(options)
    monkeypatch.setitem(sys.modules, "wandb", fake)
    folder = train.main(config)
    assert asked[0]["id"] == folder.name
    assert asked[0]["config"]["steps"] == 1024


def test_the_documented_knobs_exist():
    text = (Path(train.__file__).parent / "docs" / "training.md").read_text()
    known = {f"--{knob.name.replace('_', '-')}" for knob in fields(Config)}
    known |= {"--help", "--logdir", "--deals"}  # of train.py, tensorboard and evaluate.py
    named = set(re.findall(r"(?<!-)--[a-z][a-z-]*", text))
    assert named <= known
    assert {"--learning-rate", "--entropy", "--steps", "--resume", "--preset"} <= named


def test_a_reader_that_leaves_early_is_no_error():
    """As with ``python train.py --help | head -1``."""
    shown = subprocess.Popen(
        [sys.executable, "train.py", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert shown.stdout is not None
    shown.stdout.close()
    _, told = shown.communicate()
    assert told == b""
    assert shown.returncode in (0, 1)


def test_help_explains_every_knob(capsys):
    with pytest.raises(SystemExit):
        tyro.cli(Config, args=["--help"])
    shown = capsys.readouterr().out
    for knob in fields(Config):
        assert f"--{knob.name.replace('_', '-')}" in shown


def test_what_never_changes_in_training_does_not_sway_the_agent(run):
    _, folder = run
    views, masks = views_and_masks(300)
    agent = LearnedAgent.load(folder)
    others = views.copy()
    others["scores"] = [[7, 9]]
    others["stop_when_decided"] = 1
    rng = as_streams(1, 300)
    assert not np.array_equal(encode(views), encode(others))
    assert np.array_equal(agent.act(views, masks, rng), agent.act(others, masks, rng))


def test_with_whole_games_the_score_is_seen():
    scale = {episode: observation_scale(Rules(), episode) for episode in ("deal", "game")}
    assert (scale["game"] > 0).sum() - (scale["deal"] > 0).sum() == 11 + 11 + 2 + 1
    assert (scale["deal"] * OBSERVATION_HIGH <= 1).all()


@pytest.mark.parametrize("rules", [Rules(), Rules.british(), Rules.railroad_pack()])
@pytest.mark.parametrize("episode", ["deal", "game"])
def test_the_network_sees_all_that_changes(rules, episode):
    games = EuchreVectorEnv(
        500, rules=rules, opponent="random", episode=episode, suits="relative",
        autoreset_mode="SameStep",
    )  # fmt: skip
    observations, infos = games.reset(seed=0)
    lowest, highest = observations.min(axis=0), observations.max(axis=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        observations, _, _, _, infos = games.step(
            (rng.random((500, 42)) * infos["action_mask"]).argmax(axis=1)
        )
        lowest = np.minimum(lowest, observations.min(axis=0))
        highest = np.maximum(highest, observations.max(axis=0))
    changing = np.flatnonzero(lowest != highest)
    seen = np.flatnonzero(observation_scale(rules, episode))
    assert set(changing) <= set(seen)
    assert len(seen) < OBSERVATION_SIZE


def test_smoothing_passes_over_gaps():
    values = np.array([1.0, np.nan, 3.0, 5.0])
    assert smoothed(values, 1).tolist() == [1.0, 2.0, 4.0, 5.0]
    assert np.isnan(smoothed(np.array([np.nan, 1.0]), 0)).tolist() == [True, False]


# --- the agent ----------------------------------------------------------------------------------


@pytest.mark.parametrize("is_sampled", [False, True])
@pytest.mark.parametrize("suits", ["absolute", "relative"])
def test_acts_do_not_depend_on_the_batch(is_sampled, suits):
    agent = LearnedAgent(random_policy(suits=suits), is_sampled=is_sampled)
    views, masks = views_and_masks(200, rules=Rules.railroad_pack())
    rng = as_streams(5, 200)
    together = agent.act(views, masks, rng)
    singly = [agent.act(views[i : i + 1], masks[i : i + 1], rng[i : i + 1])[0] for i in range(200)]
    order = np.random.default_rng(0).permutation(200)
    assert together.tolist() == singly
    assert np.array_equal(agent.act(views[order], masks[order], rng[order]), together[order])
    assert masks[np.arange(200), together].all()


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_the_network_is_the_one_described(activation):
    policy = random_policy(activation=activation, sizes=(20, 12))
    views, _ = views_and_masks(50)
    numbers = encode(views, relative=True).astype(np.float64)
    for k, (weight, bias) in enumerate(policy.layers):
        numbers = numbers @ weight.T.astype(np.float64) + bias
        if k < 2:
            numbers = np.maximum(numbers, 0) if activation == "relu" else np.tanh(numbers)
    assert np.allclose(
        LearnedAgent(policy).logits(encode(views, relative=True)), numbers, atol=1e-3
    )


@pytest.mark.parametrize(
    "odd", [np.zeros((2, 10), np.uint8), np.zeros(334, np.uint8), np.zeros((2, 334))]
)
def test_logits_are_those_of_observations(odd):
    with pytest.raises(ValueError, match=r"uint8 of shape \(n, 334\)"):
        LearnedAgent(random_policy()).logits(odd)


def test_suits_have_no_names_for_an_agent_with_relative_suits():
    agent = LearnedAgent(random_policy())
    views, masks = views_and_masks(100)
    names = ABSOLUTE_ACTIONS[frames(views)]
    logits = agent.logits(encode(views, relative=True))
    legal = np.take_along_axis(masks, names, axis=1)
    expected = names[np.arange(100), np.where(legal, logits, -np.inf).argmax(axis=1)]
    assert np.array_equal(agent.act(views, masks, as_streams(0, 100)), expected)


def test_sampling_follows_the_probabilities():
    agent = LearnedAgent(random_policy(suits="absolute"), is_sampled=True)
    views, masks = views_and_masks(1)
    num = 20_000
    acts = agent.act(np.repeat(views, num), np.repeat(masks, num, axis=0), as_streams(9, num))
    logits = np.where(masks[0], agent.logits(encode(views))[0].astype(float), -np.inf)
    expected = np.exp(logits - logits.max())
    expected /= expected.sum()
    assert (expected > 0).sum() > 1
    assert np.abs(np.bincount(acts, minlength=42) / num - expected).max() < 0.015
    assert np.allclose(agent.probabilities(views, masks), expected)


@pytest.mark.parametrize("suits", ["absolute", "relative"])
def test_who_does_not_sample_is_sure_of_what_it_does(suits):
    views, masks = views_and_masks(100)
    policy = random_policy(suits=suits)
    acts = LearnedAgent(policy).act(views, masks, as_streams(0, 100))
    sure = LearnedAgent(policy).probabilities(views, masks)
    assert (sure == np.eye(42)[acts]).all()
    sampled = LearnedAgent(policy, is_sampled=True).probabilities(views, masks)
    assert np.allclose(sampled.sum(axis=1), 1)
    assert (sampled[masks == 0] == 0).all()
    assert np.array_equal(sampled.argmax(axis=1), acts)


def test_a_policy_survives_the_disk(tmp_path):
    policy = random_policy()
    save_policy(policy, tmp_path / "a")
    again = load_policy(tmp_path / "a")
    assert again.sizes == policy.sizes == [OBSERVATION_SIZE, 24, 42]
    assert (again.activation, again.suits, again.rules) == ("relu", "relative", Rules())
    for ours, theirs in zip(policy.layers, again.layers, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def test_agents_are_named_by_their_folder(tmp_path):
    save_policy(random_policy(), tmp_path / "x")
    assert load_agent(str(tmp_path / "x")).name == "run:x"
    for sign in ",?":
        sampled = load_agent(f"{tmp_path / 'x'}{sign}sample")
        assert (sampled.name, sampled.is_sampled) == ("run:x,sample", True)
    with pytest.raises(ValueError, match="no folder"):
        load_agent("")


def test_a_name_that_is_printed_can_be_typed_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_policy(random_policy(), tmp_path / "runs" / "x")
    for name in ("run:x", "run:x,sample"):
        assert make_agent(name).name == name
    save_policy(random_policy(), tmp_path / "x")  # a folder that is here goes before
    save_policy(random_policy(suits="absolute"), tmp_path / "runs" / "x")
    assert make_agent("run:x").policy.suits == "relative"
    assert make_agent("run:runs/x").policy.suits == "absolute"


def make_places(folder):
    """Folders and files that a user may name by mistake; ``runs/b`` is the newest."""
    for name in ("runs/a", "runs/b", "killed/checkpoints/0000001024"):
        save_policy(random_policy(), folder / name)
    os.utime(folder / "runs/a/policy.json", (1, 1))
    (folder / "runs/young").mkdir()
    for name in ("killed", "runs/young"):
        (folder / name / "config.json").write_text("{}")
    (folder / "empty").mkdir()


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("gone", "there is no folder gone, nor runs/gone"),
        ("runs/gone", "there is no folder runs/gone"),
        (
            "killed",
            "killed is a run that is not finished: it holds no policy.json yet; go on with it, "
            "python train.py --resume killed, or play its last checkpoint, "
            "killed/checkpoints/0000001024",
        ),
        (
            "young",
            "runs/young is a run that is not finished: it holds no policy.json yet; go on with "
            "it, python train.py --resume runs/young",
        ),
        ("runs", "runs holds policies in folders of their own: name one, like runs/b or runs/a"),
        ("runs/a/policy.json", "runs/a/policy.json is a file: name the folder that it lies in"),
        ("empty", "empty holds no policy.json: a policy is a folder written by train.py"),
        ("runs/a,sampled", "'sampled' is no option: behind a folder only ',sample' is known"),
        ("a,sampled", "'sampled' is no option"),
    ],
)
def test_where_there_is_no_policy_it_is_said_what_there_is(tmp_path, monkeypatch, typed, words):
    monkeypatch.chdir(tmp_path)
    make_places(tmp_path)
    with pytest.raises((FileNotFoundError, ValueError)) as found:
        load_agent(typed)
    assert words.replace("/", os.sep) in str(found.value)


def test_states_are_refused_as_views():
    agent = LearnedAgent(random_policy())
    views, masks = views_and_masks(4)
    views["seat"] = -1
    with pytest.raises(ValueError, match="full states"):
        agent.act(views, masks, as_streams(0, 4))
    with pytest.raises(ValueError, match=r"views of shape \(3,\), masks of shape \(4, 42\)"):
        agent.act(views_and_masks(3)[0], masks, as_streams(0, 3))


def change(**values):
    """Damage to a description: other values, or with None the key taken away."""

    def damage(folder):
        path = folder / "policy.json"
        told = json.loads(path.read_text()) | values
        path.write_text(json.dumps({key: v for key, v in told.items() if v is not None}))

    return damage


def weights(content):
    """Damage to the weights: another policy's, or other bytes."""

    def damage(folder):
        path = folder / "policy.safetensors"
        if isinstance(content, Policy):
            description = (folder / "policy.json").read_bytes()
            save_policy(content, folder)
            (folder / "policy.json").write_bytes(description)
        else:
            path.write_bytes(content(path.read_bytes()))

    return damage


def not_finite():
    """A policy with a hole in it."""
    policy = random_policy()
    policy.layers[0][0][0, 0] = np.nan
    return policy


def huge():
    """A policy of finite numbers whose sums are none: its probabilities would be no numbers."""
    policy = random_policy()
    policy.layers[0][0][:] = 3e38
    return policy


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(change(format="other"), "describes no policy", id="format"),
        pytest.param(change(format_version=99), "format_version=99", id="format version"),
        pytest.param(change(observation_version="x"), "observation changed", id="observation"),
        pytest.param(change(observation_size=12), "observation_size=12", id="observation size"),
        pytest.param(change(num_actions=41), "acts changed", id="acts"),
        pytest.param(change(suits="sideways"), "suits='sideways'", id="suits"),
        pytest.param(change(activation=None), "activation=None", id="activation"),
        pytest.param(change(policy_sizes=[OBSERVATION_SIZE, -1, 42]), "layer sizes", id="sizes"),
        pytest.param(change(policy_sizes=[OBSERVATION_SIZE, 42]), "tensors", id="fewer layers"),
        pytest.param(change(policy_sizes="wide"), "layer sizes", id="sizes are text"),
        pytest.param(change(value_sizes=[3, 1]), "value_sizes", id="value sizes"),
        pytest.param(change(rules={"joker": "maybe"}), "rules=", id="rules"),
        pytest.param(change(rules={"wild": True}), "wild", id="unknown rule"),
        pytest.param(change(rules=[]), "each an object", id="rules are a list"),
        pytest.param(weights(random_policy(sizes=(25,))), "described is", id="other shape"),
        pytest.param(weights(not_finite()), "not finite", id="not finite"),
        pytest.param(weights(huge()), "so large", id="huge"),
        pytest.param(weights(lambda old: old[:-8]), "safetensors", id="cut short"),
        pytest.param(weights(lambda old: b"\x80\x04K."), "safetensors", id="a pickle"),
        pytest.param(weights(lambda old: b""), "safetensors", id="empty"),
    ],
)
def test_damaged_files_are_refused(tmp_path, damage, words):
    save_policy(random_policy(), tmp_path)
    damage(tmp_path)
    with pytest.raises(ValueError, match=words):
        LearnedAgent.load(tmp_path)


@pytest.mark.parametrize("text", ["{", "[" * 200_000, "9" * 5_000], ids=["cut", "deep", "long"])
def test_a_description_that_is_no_json_is_refused(tmp_path, text):
    save_policy(random_policy(), tmp_path)
    (tmp_path / "policy.json").write_text(text)
    with pytest.raises(ValueError, match=r"policy\.json is no JSON"):
        load_policy(tmp_path)


def test_files_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("agents.policies.os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_saved_policy_plays_without_torch(tmp_path):
    save_policy(random_policy(), tmp_path / "x")
    code = (
        "import sys, agents, agents.learned, numpy as np\n"
        "from euchre_env import EuchreVectorEnv\n"
        f"agent = agents.learned.load_agent({str(tmp_path / 'x')!r})\n"
        "games = EuchreVectorEnv(4, opponent=agent)\n"
        "_, infos = games.reset(seed=0)\n"
        "games.step(infos['action_mask'].argmax(axis=1))\n"
        "print(sorted({'torch', 'stable_baselines3', 'sb3_contrib'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_run_can_be_the_opponent(tmp_path):
    save_policy(random_policy(), tmp_path / "x")
    games = EuchreVecEnv(16, opponent=load_agent(str(tmp_path / "x")), episode="deal")
    games.seed(0)
    games.reset()
    rng = np.random.default_rng(0)
    for _ in range(20):
        games.step((rng.random((16, 42)) * games.action_masks()).argmax(axis=1))
    assert games.num_episodes > 16
