"""A run that is killed, stopped or out of disk goes on as if nothing had been."""

import contextlib
import errno
import io
import itertools
import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import train
from agents.base import AgentError
from agents.policies import load_policy
from agents.training import checkpoints
from agents.training.config import Config, check
from agents.training.folder import locked, write_config
from agents.training.run import BrokenRunError, Run
from agents.training.screen import Screen
from euchre_env.rules import Rules
from euchre_env.state import new_states
from euchre_env.stepping import TABLE_DTYPE

TINY = Config(
    name="tiny",
    opponent=("novice", "random"),
    steps=8 * 512,
    num_envs=32,
    num_steps=16,
    batch_size=128,
    epochs=1,
    policy_layers=(32,),
    value_layers=(16,),
    checkpoint_minutes=0.0,
    evaluations=2,
    evaluation_pairs=10,
    pairs=0,
)
SELF_PLAY = replace(
    TINY, self_play=True, pool_steps=1024, pool_size=2, magnet_kl=0.1, magnet_updates=3
)
ROOT = Path(__file__).parents[1]


def make_run(config, folder):
    """A run in a folder, with what it said."""
    folder.mkdir(parents=True, exist_ok=True)
    rules = check(config)
    write_config(config, rules, folder)
    console = Console(record=True, file=io.StringIO(), width=200)
    return Run(config, rules, folder, Screen(console, config.episode)), console


def after(config, folder, updates):
    """A run after some updates, as if it were killed then."""
    run, _ = make_run(config, folder)
    for _ in range(updates):
        run.budget.mark(run.model.num_timesteps)
        run.update()
    return run


def resumed(config, folder):
    """The run of a folder, gone on with to its end, and what it said."""
    run, console = make_run(config, folder)
    run.resume()
    run.go()
    return run, console.export_text()


def results(folder):
    """The weights that a run left."""
    return [array for layer in load_policy(folder).layers for array in layer]


def are_equal(ours, theirs):
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Runs that nothing interrupted, by their knobs."""
    made = {}
    for config in (TINY, SELF_PLAY):
        folder = tmp_path_factory.mktemp("whole")
        run, _ = make_run(config, folder)
        run.go()
        made[config] = run, folder
    return made


# --- the same as one that was not stopped -------------------------------------------------------


@pytest.mark.parametrize("config", [TINY, SELF_PLAY], ids=["scripts", "self-play"])
@pytest.mark.parametrize("updates", [1, 5])
def test_a_resumed_run_equals_one_that_was_not_stopped(tmp_path, whole, config, updates):
    after(config, tmp_path, updates)
    run, _ = resumed(config, tmp_path)
    expected, folder = whole[config]
    assert are_equal(results(tmp_path), results(folder))
    for name in ("steps", "episodes", "points", "entropy", "approx_kl", "learning_rate"):
        ours, theirs = ([row[name] for row in one.curve] for one in (run, expected))
        assert ours == theirs, name
    assert [one["mean"] for one in run.evaluations] == [one["mean"] for one in expected.evaluations]


def test_something_else_of_the_state_would_be_noticed(tmp_path, whole):
    """The test above can fail: another random stream gives other weights."""
    after(TINY, tmp_path, 3)
    run, _ = make_run(TINY, tmp_path)
    run.resume()
    np.random.seed(1)  # noqa: NPY002
    run.go()
    assert not are_equal(results(tmp_path), results(whole[TINY][1]))


def test_a_run_that_is_killed_goes_on(tmp_path):
    """SIGKILL at a moment of its own choosing, and again while it goes on."""
    config = replace(TINY, steps=40 * 512, evaluations=0)
    words = [
        f"--{name.replace('_', '-')}" + (f"={value}" if not isinstance(value, tuple) else "")
        for name, value in config.changed().items()
        if name not in ("opponent", "policy_layers", "value_layers", "folder")
    ]
    words += ["--opponent", *config.opponent, "--policy-layers", "32", "--value-layers", "16"]
    command = [sys.executable, "train.py"]
    kill_at_checkpoint([*command, *words, "--folder", str(tmp_path)], tmp_path, 3)
    folder = next(tmp_path.glob("*-tiny"))
    newest = checkpoints.found(folder)[0].name
    kill_at_checkpoint([*command, "--resume", str(folder)], tmp_path, 3, newest)
    assert not (folder / "policy.json").exists()
    train.main(Config(resume=folder))
    run, _ = make_run(config, tmp_path / "whole")
    run.go()
    assert are_equal(results(folder), results(tmp_path / "whole"))
    assert not list(folder.glob("state/.*"))


def kill_at_checkpoint(command, folder, number, after=""):
    """Run a command until a number of checkpoints beyond one were there, then kill it."""
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        seen = set()
        while len(seen) < number:
            seen |= {one.name for one in folder.glob("*/state/[0-9]*") if one.name > after}
            assert process.poll() is None, "the run ended before it could be killed"
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)


# --- opponents that fail ------------------------------------------------------------------------


def test_an_opponents_fault_costs_nothing_that_was_learnt(tmp_path, monkeypatch, whole):
    """In the middle of the games of an update: the run can go on from where that began."""
    run = after(replace(TINY, checkpoint_minutes=1e6), tmp_path, 3)
    assert not checkpoints.found(tmp_path)
    step, left = run.games.step_wait, iter(range(5))

    def step_or_fail():
        if next(left, None) is None:
            raise AgentError("agent 'my_agent.py:Careful' at the position '...': no legal act")
        return step()

    monkeypatch.setattr(run.games, "step_wait", step_or_fail)
    words = r"'my_agent.py:Careful' .* no legal act; the checkpoint of 1,536 acts stands in .*state"
    with pytest.raises(BrokenRunError, match=words):
        run.go()
    resumed(TINY, tmp_path)
    assert are_equal(results(tmp_path), results(whole[TINY][1]))


def test_a_fault_before_anything_was_learnt_leaves_no_checkpoint(tmp_path, monkeypatch):
    run, _ = make_run(TINY, tmp_path)

    def fail():
        raise AgentError("it answers nothing")

    monkeypatch.setattr(run.games, "step_wait", fail)
    with pytest.raises(BrokenRunError, match="it answers nothing; no checkpoint was saved before"):
        run.go()
    assert not checkpoints.found(tmp_path)


# --- disks that are full, files that are damaged ------------------------------------------------


def test_a_full_disk_costs_a_checkpoint_and_not_the_run(tmp_path, monkeypatch, whole):
    run, console = make_run(TINY, tmp_path)
    write, calls = checkpoints._to_disk, []

    def full_now_and_then(path):
        calls.append(path)
        if 8 < len(calls) < 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(path)

    monkeypatch.setattr(checkpoints, "_to_disk", full_now_and_then)
    run.go()
    said = console.export_text()
    assert "no checkpoint could be written" in said
    assert "No space left on device" in said
    assert "acts stands" in said
    assert are_equal(results(tmp_path), results(whole[TINY][1]))
    assert not list(tmp_path.glob("state/.*"))


def test_a_disk_that_is_full_at_the_end_is_told_with_what_stands(tmp_path, monkeypatch):
    run = after(TINY, tmp_path, 1)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("agents.training.run.save_policy", full)
    run.budget.is_stopped = True
    place = re.escape(str(tmp_path))
    words = (
        f"^{place}: .*No space left on device; the checkpoint of 512 acts stands in {place}/state"
    )
    with pytest.raises(OSError, match=words):
        run.go()
    with pytest.raises(BrokenPipeError), run.telling_what_stands():
        raise BrokenPipeError


@pytest.mark.parametrize("name", ["state.json", "tensors.safetensors", "games.npz"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, name, damage):
    after(TINY, tmp_path, 3)
    newest, before = checkpoints.found(tmp_path)
    file = newest / name
    content = file.read_bytes()
    if damage == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        place = len(content) // 2
        changed = bytes([content[place] ^ 0x55])
        file.write_bytes(content[:place] + changed + content[place + 1 :])
    else:
        file.unlink()
    run, console = make_run(TINY, tmp_path)
    run.resume()
    said = console.export_text()
    assert run.model.num_timesteps == int(before.name) == 2 * 512
    assert "the checkpoint before it is tried" in said


def test_a_damaged_checkpoint_drives_no_whole_one_out(tmp_path):
    """What could not be read is none of the two that stay, whatever its number."""
    after(TINY, tmp_path, 3)
    newest, before = checkpoints.found(tmp_path)
    (newest / "state.json").write_text("[" * 200_000)
    newest.rename(newest.with_name("000000999999"))
    run, console = make_run(TINY, tmp_path)
    run.resume()
    assert "maximum recursion" in console.export_text()
    run.budget.mark(run.model.num_timesteps)
    run.update()
    assert checkpoints.found(tmp_path) == [newest, before]
    assert all(checkpoints.read(one).told for one in (newest, before))


def test_where_no_checkpoint_can_be_read_it_says_so(tmp_path):
    after(TINY, tmp_path, 2)
    for folder in checkpoints.found(tmp_path):
        (folder / "state.json").write_text("{}")
    with pytest.raises(ValueError, match=r"no checkpoint in .* can be read"):
        resumed(TINY, tmp_path)


def test_a_run_goes_on_with_the_network_it_had(tmp_path):
    """Another activation would take the same numbers, and play worse without a word."""
    after(TINY, tmp_path, 1)
    run, _ = make_run(replace(TINY, activation="tanh"), tmp_path)
    with pytest.raises(ValueError, match=r"with activation='relu', and .*json says 'tanh'"):
        run.resume()
    assert checkpoints.found(tmp_path)  # it is no damaged one
    run, _ = make_run(TINY, tmp_path)
    checkpoint = checkpoints.read(checkpoints.found(tmp_path)[0])
    del checkpoint.told["network"]  # as those written before it was told
    run.restore(checkpoint)
    assert run.model.num_timesteps == 512


def test_a_run_killed_before_its_first_checkpoint_starts_again(tmp_path, whole):
    _, said = resumed(TINY, tmp_path)
    assert "starts from the beginning" in said
    assert are_equal(results(tmp_path), results(whole[TINY][1]))


def test_only_the_last_checkpoints_stay(tmp_path):
    after(TINY, tmp_path, 5)
    assert [int(one.name) for one in checkpoints.found(tmp_path)] == [5 * 512, 4 * 512]
    assert len(list((tmp_path / "checkpoints").iterdir())) == 5


def test_a_folder_that_is_no_run_is_told(tmp_path):
    with pytest.raises(ValueError, match="is no run folder"):
        train.main(Config(resume=tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"args": {"steps": 1}}))
    with pytest.raises(ValueError, match="another version"):
        train.main(Config(resume=tmp_path))


# --- killed while a checkpoint is written -------------------------------------------------------


class Killed(BaseException):
    """As SIGKILL: nothing that follows happens."""


class Games:
    """Games under way, as far as a checkpoint asks."""

    def get_state(self):
        return {"states": new_states(1), "tables": np.zeros(1, TABLE_DTYPE)}


def write(folder, told, steps=512):
    """A checkpoint that holds a number."""
    return checkpoints.write(folder, steps, {"x": np.arange(3)}, {"told": told}, Games())


def kill_at(number, monkeypatch, change):
    """Do something, and end before its ``number``-th new name or amid that removal of a folder."""
    calls = []

    def counted(real, is_removal):
        def call(path, *args, **options):
            calls.append(path)
            if len(calls) == number:
                if is_removal:
                    (path / "state.json").unlink(missing_ok=True)
                raise Killed
            return real(path, *args, **options)

        return call

    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        patch.setattr(checkpoints.os, "replace", counted(checkpoints.os.replace, False))
        patch.setattr(checkpoints.shutil, "rmtree", counted(checkpoints.shutil.rmtree, True))
        change()


def test_a_run_killed_while_it_replaces_its_only_checkpoint_keeps_one(tmp_path, monkeypatch):
    """At every change of a name, and at every one again while that is tidied up."""
    found = {}
    for number, again in itertools.product(range(1, 8), range(1, 4)):
        folder = tmp_path / f"{number}-{again}"
        write(folder, "old")
        kill_at(number, monkeypatch, lambda folder=folder: write(folder, "new"))
        kill_at(again, monkeypatch, lambda folder=folder: checkpoints.tidy(folder))
        checkpoints.tidy(folder)
        (only,) = (folder / "state").iterdir()
        assert [only] == checkpoints.found(folder)
        found[number] = checkpoints.read(only).told["told"]
    assert list(found.values()) == ["old"] * 5 + ["new"] * 2


def test_a_checkpoint_that_cannot_be_named_leaves_the_one_before(tmp_path, monkeypatch):
    write(tmp_path, "old")
    replace = checkpoints.os.replace

    def refuse_drafts(source, target):
        if Path(source).name.startswith(".draft-"):
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(checkpoints.os, "replace", refuse_drafts)
    with pytest.raises(OSError, match="No space"):
        write(tmp_path, "new")
    (only,) = (tmp_path / "state").iterdir()
    assert checkpoints.read(only).told == {"told": "old"}


# --- two processes ------------------------------------------------------------------------------


def test_a_folder_is_trained_in_by_one_process_at_a_time(tmp_path):
    write_config(TINY, Rules(), tmp_path)
    with (
        locked(tmp_path),
        pytest.raises(BlockingIOError, match="another process trains there; wait for its end"),
    ):
        train.main(Config(resume=tmp_path))
    with locked(tmp_path):  # free again
        pass


def test_the_folder_of_a_killed_process_is_free(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from agents.training.folder import locked\n"
        f"with locked(Path({str(tmp_path)!r})):\n"
        "    print('here', flush=True); time.sleep(1000)\n"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(BlockingIOError), locked(tmp_path):
            pass
        process.kill()
        process.wait()
    with locked(tmp_path):
        pass


def test_where_there_are_no_locks_nobody_is_kept_out(tmp_path, monkeypatch):
    def know_no_locks(_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("agents.training.folder._take", know_no_locks)
    with locked(tmp_path), locked(tmp_path):
        pass


# --- numbers that go wrong ----------------------------------------------------------------------


def test_a_loss_that_is_no_number_ends_the_run_with_the_last_checkpoint_kept(tmp_path):
    run = after(TINY, tmp_path, 2)
    with np.errstate(all="ignore"):
        run.model.policy.value_net.bias.data.fill_(float("nan"))
        with pytest.raises(BrokenRunError, match="no number any more"):
            run.go()
    again, _ = make_run(TINY, tmp_path)
    again.resume()
    assert again.model.num_timesteps == 2 * 512
