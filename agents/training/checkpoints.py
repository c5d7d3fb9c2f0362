"""Everything that a run needs to go on, on the disk: whole, or the one before.

A checkpoint is a folder ``state/<steps>`` of a run. It is written beside, forced to the disk and
only then given its name, so a run that is killed at any moment leaves whole checkpoints alone; one
of the same name is set aside until the new one stands, and `tidy` puts it back where none came to
stand. The last `KEPT` stay: where one cannot be read, the one before is taken, and what could not
be read counts no more (`set_aside`). Its files, plain data from which nothing is executed:

``state.json``
    what it is, the counters, facts about past selves, and the digest of the other files.
``tensors.safetensors``
    weights, optimiser, magnet, random streams, past selves, the last observations, the curve.
``games.npz``
    the games under way (`euchre_env.saving`).
"""

import contextlib
import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.policies import observation_version

FORMAT: Final = "euchre_env training state"
FORMAT_VERSION: Final = 1
FOLDER: Final = "state"
KEPT: Final = 2
"""Checkpoints that stay."""
_STATE, _TENSORS, GAMES = "state.json", "tensors.safetensors", "games.npz"
_DRAFT: Final = ".draft-"
_BEFORE: Final = ".before-"
"""What stood in the place of a checkpoint while it is replaced."""
_DAMAGED: Final = "damaged-"


@dataclass(frozen=True)
class Checkpoint:
    """What was read.

    Attributes:
        folder: where it lies; the games in it are read by `euchre_env.saving.load_env`.
        arrays: numbers by name.
        told: counters and facts.
    """

    folder: Path
    arrays: dict[str, npt.NDArray[Any]]
    told: dict[str, Any]

    @property
    def games(self) -> Path:
        """The file of the games under way."""
        return self.folder / GAMES


# --- writing ------------------------------------------------------------------------------------


def write(
    run: Path, steps: int, arrays: dict[str, npt.NDArray[Any]], told: dict[str, Any], games: Any
) -> Path:
    """Write a checkpoint, then forget those that are too old.

    Args:
        run: the run folder.
        steps: the learner's acts so far; names the checkpoint.
        arrays: numbers by name.
        told: JSON values.
        games: the `EuchreVectorEnv` under way.

    Returns:
        The checkpoint's folder.

    Raises:
        OSError: it cannot be written; those before it are as they were.
    """
    from safetensors.numpy import save

    from euchre_env.saving import save_env

    place = run / FOLDER
    target, draft = place / f"{steps:012d}", place / f"{_DRAFT}{steps:012d}"
    try:
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        (draft / _TENSORS).write_bytes(save(tensors))
        save_env(draft / GAMES, games)
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "observation_version": observation_version(),
            "digests": {name: _digest(draft / name) for name in (_TENSORS, GAMES)},
            "told_digest": _told_digest(told),
            "told": told,
        }
        (draft / _STATE).write_text(json.dumps(description) + "\n", encoding="utf-8")
        for file in draft.iterdir():
            _to_disk(file)
        _to_disk(draft)
        _put(draft, target)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    for old in found(run)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
    return target


def _put(draft: Path, target: Path) -> None:
    """Give a draft its name; at every moment it or what had that name before is whole."""
    before = target.with_name(f"{_BEFORE}{target.name}")
    if target.exists():  # the same moment, saved before
        shutil.rmtree(before, ignore_errors=True)
        os.replace(target, before)
    try:
        os.replace(draft, target)
    except OSError:
        if before.exists():
            os.replace(before, target)
        raise
    _to_disk(target.parent)
    shutil.rmtree(before, ignore_errors=True)


def _to_disk(path: Path) -> None:
    """Have the disk hold what was written; systems that know no such thing for folders do not."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:
        if not path.is_dir():
            raise
    finally:
        os.close(handle)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _told_digest(told: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


# --- reading ------------------------------------------------------------------------------------


def found(run: Path) -> list[Path]:
    """The checkpoints of a run, newest first; drafts are none."""
    place = run / FOLDER
    if not place.is_dir():
        return []
    return sorted((one for one in place.iterdir() if one.name.isdecimal()), reverse=True)


def tidy(run: Path) -> None:
    """After a run was killed: put back what it was replacing, remove what it did not finish."""
    place = run / FOLDER
    with contextlib.suppress(OSError):
        for before in place.glob(f"{_BEFORE}*"):
            target = place / before.name.removeprefix(_BEFORE)
            if target.exists():
                shutil.rmtree(before, ignore_errors=True)
            else:
                os.replace(before, target)
        for draft in place.glob(f"{_DRAFT}*"):
            shutil.rmtree(draft, ignore_errors=True)


def set_aside(folder: Path) -> None:
    """Have a checkpoint that cannot be read count no more, so that it drives no other one out."""
    damaged = folder.with_name(f"{_DAMAGED}{folder.name}")
    shutil.rmtree(damaged, ignore_errors=True)
    with contextlib.suppress(OSError):
        os.replace(folder, damaged)


def read(folder: Path) -> Checkpoint:
    """Read a checkpoint; executes nothing of what is in it.

    Raises:
        ValueError: it is damaged, or of another version.
        OSError: it cannot be read.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        told = _read_state(folder)
    except RecursionError as problem:
        raise ValueError(f"{folder / _STATE} is damaged: {problem}") from problem
    for name in (_TENSORS, GAMES):
        if _digest(folder / name) != told["digests"].get(name):
            raise ValueError(f"{folder / name} is damaged: it is not what was written")
    try:
        arrays = dict(load((folder / _TENSORS).read_bytes()))
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError) as problem:
        raise ValueError(f"{folder / _TENSORS} is no safetensors file: {problem}") from problem
    return Checkpoint(folder, arrays, told["told"])


def _read_state(folder: Path) -> dict[str, Any]:
    """What ``state.json`` says, once it is known to be what was written."""
    try:
        told = json.loads((folder / _STATE).read_text(encoding="utf-8"))
    except ValueError as problem:
        raise ValueError(f"{folder / _STATE} is damaged: {problem}") from problem
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise ValueError(f"{folder / _STATE} describes no checkpoint of a training run")
    for key, value in (
        ("format_version", FORMAT_VERSION),
        ("observation_version", observation_version()),
    ):
        if told.get(key) != value:
            raise ValueError(f"{folder} is of another version: {key}={told.get(key)!r}")
    if not isinstance(told.get("told"), dict) or not isinstance(told.get("digests"), dict):
        raise ValueError(f"{folder / _STATE} describes no checkpoint of a training run")
    if told.get("told_digest") != _told_digest(told["told"]):
        raise ValueError(f"{folder / _STATE} is damaged: it is not what was written")
    return told
