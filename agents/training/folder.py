"""A run's folder: how it is named, and how its configuration is written."""

import json
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

from agents.policies import write_atomically
from agents.training.config import Config
from euchre_env.rules import Rules

_PACKAGES = ("euchre-env", "torch", "stable-baselines3", "sb3-contrib", "gymnasium", "numpy")


def make_folder(config: Config) -> Path:
    """A new run folder, named by time and name.

    Raises:
        OSError: it cannot be made.
    """
    stem = f"{time.strftime('%Y%m%d-%H%M%S')}-{config.name or config.preset}"
    for count in range(1, 1000):
        folder = config.folder / (stem if count == 1 else f"{stem}-{count}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(f"{config.folder / stem}: choose another --name")


def write_config(config: Config, rules: Rules, folder: Path) -> None:
    """How the run is made, as ``config.json``."""
    told = {
        "args": config.to_json(),
        "changed": sorted(config.changed()),
        "rules": rules.changed(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in _PACKAGES},
    }
    write_atomically(folder / "config.json", (json.dumps(told, indent=2) + "\n").encode())
