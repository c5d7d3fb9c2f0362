"""A run's folder: how it is named, how its configuration is written, and who may write there."""

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from agents.policies import write_atomically
from agents.training.config import Config
from euchre_env.rules import Rules

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


LOCK_FILE = ".lock"
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
        except OSError as error:
            raise OSError(
                f"no run can be kept in {config.folder}: {error.strerror}; choose another --folder"
            ) from error
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


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else trains in a folder meanwhile; the system frees it when the process ends.

    Two processes would take each other's drafts for those of a run that was killed. Where a file
    system knows no locks, nobody is kept out.

    Raises:
        BlockingIOError: another process trains there.
        OSError: nothing can be written there.
    """
    handle = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            _take(handle)
        except (BlockingIOError, PermissionError):
            raise BlockingIOError(
                f"{folder}: another process trains there; wait for its end, or stop it"
            ) from None
        except OSError:  # no locks here, as on some network disks
            pass
        yield
    finally:
        os.close(handle)
