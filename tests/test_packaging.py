"""What an installed package promises: light imports, declared names, no import upward."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import entry_points, version
from pathlib import Path

import pytest

import agents
import euchre_env

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
HEAVY = {
    "torch",
    "stable_baselines3",
    "sb3_contrib",
    "matplotlib",
    "tensorboard",
    "pandas",
}


def _modules_after(program):
    """The top-level modules that a new process has loaded after a program."""
    program += "\nimport json, sys\nprint(json.dumps([name.split('.')[0] for name in sys.modules]))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "program",
    [
        "import euchre_env",
        "import agents",
        "import evaluate",
        "import agents.evaluation.cli",
        "import gymnasium, euchre_env\n"
        "gymnasium.make('euchre_env/Euchre-v0', opponent='novice').reset(seed=0)",
    ],
)
def test_playing_imports_no_training_library(program):
    assert not _modules_after(program) & HEAVY


def test_the_package_does_not_import_agents():
    modules = _modules_after("import euchre_env")
    assert "euchre_env" in modules
    assert "agents" not in modules


def test_importing_compiles_nothing():
    program = (
        "import sys\n"
        "from numba.core import event\n"
        "class Listener(event.Listener):\n"
        "    def on_start(self, event): sys.exit(f'compiles {event.data}')\n"
        "    def on_end(self, event): pass\n"
        "event.register('numba:compile', Listener())\n"
        "import euchre_env"
    )
    _modules_after(program)


def test_the_version_is_said_once():
    assert euchre_env.__version__ == version("euchre-env") == PYPROJECT["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, re.M)
    assert newest is not None
    assert newest[1] == euchre_env.__version__


def test_declared_agents_are_installed_and_lead_to_factories():
    declared = PYPROJECT["project"]["entry-points"]["euchre_env.agents"]
    installed = {e.name: e for e in entry_points(group="euchre_env.agents")}
    assert declared == agents.AGENTS
    assert set(declared) <= set(installed)
    for name, value in declared.items():
        module, _, attribute = value.partition(":")
        assert installed[name].value == value
        assert callable(getattr(importlib.import_module(module), attribute))


def test_public_names_exist_and_are_told_about():
    assert euchre_env.__all__
    for name in euchre_env.__all__:
        value = getattr(euchre_env, name)
        assert isinstance(value, str) or value.__doc__


@pytest.mark.parametrize("extra", ["train", "dev", "bench", None])
def test_every_requirement_is_pinned_by_the_constraints(extra):
    project = PYPROJECT["project"]
    wanted = project["dependencies"] if extra is None else project["optional-dependencies"][extra]
    pinned = {
        _normal(line.partition("==")[0])
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    names = {_normal(re.match(r"[\w-]+", requirement)[0]) for requirement in wanted}
    assert names - {"euchre-env"} <= pinned


def test_whoever_can_train_can_also_play_tournaments_of_what_came_out():
    assert "euchre-env[evaluate]" in PYPROJECT["project"]["optional-dependencies"]["train"]


def _normal(name):
    return re.sub(r"[-_.]+", "-", name).lower()
