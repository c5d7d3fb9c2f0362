"""Many games in one ``.npz`` file and back; whole environments too.

A file holds one array for every field of ``state.STATE_FIELDS``, so other programs can read it,
and the table's own description, so a file of another version is refused by name. Loading executes
nothing: no pickle, and every row must be what the rules make of its deal and its acts, so that
kernels, which trust their rows, never see a row that no game can reach.

The rest of a loaded game is the same as it would have been, its random deals included: the random
stream is part of a row.
"""

import contextlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from euchre_env.actions import Phase
from euchre_env.cards import NUM_CARDS
from euchre_env.history import NO_FAULT, RULE_FIELDS, done_again
from euchre_env.rules import MAX_TARGET_SCORE, OPTION_VALUES, Rules
from euchre_env.state import NO_CARD, NOBODY, NUM_SEATS, STATE_DTYPE, States, new_states
from euchre_env.stepping import DONE, READY, TABLE_DTYPE

FORMAT: Final = "euchre_env states 1"
"""What a file says it is, under the key ``format``."""
_TABLE_PREFIX: Final = "table_"
_DAMAGED: Final = (
    ValueError, KeyError, EOFError, TypeError, AttributeError, MemoryError, NotImplementedError,
    SyntaxError, RuntimeError, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What NumPy and zipfile raise of a file that is damaged, or another file altogether."""


def _described(dtype: np.dtype[Any]) -> str:
    """The fields of a dtype as text: equal only for equal tables."""
    return " ".join(f"{name}:{dtype[name].str}{dtype[name].shape}" for name in dtype.names or ())


def _columns(rows: npt.NDArray[Any], prefix: str = "") -> dict[str, npt.NDArray[Any]]:
    return {f"{prefix}{name}": rows[name] for name in rows.dtype.names or ()}


# --- what may stand in a row --------------------------------------------------------------------


def _are_rules(states: States) -> npt.NDArray[np.bool_]:
    """Which rows are played by rules that there are: bool, shape (n,)."""
    codes = np.stack([states[name].astype(np.int64) for name in RULE_FIELDS], axis=1)
    kinds, kind_of = np.unique(codes, axis=0, return_inverse=True)
    known = [_is_rules(dict(zip(RULE_FIELDS, row, strict=True))) for row in kinds.tolist()]
    return np.array(known, dtype=np.bool_)[kind_of.reshape(-1)]


def _is_rules(codes: dict[str, int]) -> bool:
    in_range = all(0 <= codes[name] < len(values) for name, values in OPTION_VALUES.items())
    if not in_range or not 1 <= codes["target_score"] <= MAX_TARGET_SCORE:
        return False
    try:
        return Rules.from_codes(codes).codes() == codes
    except ValueError:
        return False


def find_unsound(states: States) -> int:
    """The first row that no game can reach, or -1.

    Args:
        states: full states, shape (n,), dealt or not yet; any numbers may stand in them.
    """
    if not len(states):
        return -1
    is_sound = _are_rules(states) & (states["seat"] == NOBODY) & (states["num_draws"] >= 0)
    is_dealt = states["dealer"] != NOBODY
    before = states["scores"].astype(np.int64) - states["points"]
    is_sound &= ~is_dealt | (
        (states["dealer"] >= 0)
        & (states["dealer"] < NUM_SEATS)
        & (states["upcard"] >= 0)
        & (states["upcard"] < NUM_CARDS)
        & (states["discard"] >= NO_CARD)
        & (states["discard"] < NUM_CARDS)
        & (states["deal_number"] >= 1)
        & (before >= 0).all(axis=1)
        & (before < states["target_score"][:, None]).all(axis=1)
    )
    dealt, fresh = np.flatnonzero(is_sound & is_dealt), np.flatnonzero(is_sound & ~is_dealt)
    if len(dealt):
        again, faults = done_again(states[dealt])
        is_sound[dealt] = (faults == NO_FAULT) & (again == states[dealt])
    if len(fresh):
        undealt = new_states(len(fresh))
        for name in (*RULE_FIELDS, "stream", "num_draws"):
            undealt[name] = states[fresh][name]
        is_sound[fresh] = undealt == states[fresh]
    return -1 if is_sound.all() else int(is_sound.argmin())


def _check_states(states: States, what: str) -> None:
    row = find_unsound(states)
    if row >= 0:
        if states[row]["seat"] != NOBODY:
            raise ValueError(f"{what}: row {row} is a view; save the full states, and blank them")
        raise ValueError(f"{what}: row {row} is no state that a game can reach")


def _check_tables(states: States, tables: npt.NDArray[Any], what: str) -> None:
    """What an environment holds beside its games, where it waits for its learner."""
    is_pending = tables["is_pending"]
    is_right = (tables["seat"] >= 0) & (tables["seat"] < NUM_SEATS)
    is_right &= np.where(is_pending, tables["status"] == DONE, tables["status"] == READY)
    is_right &= is_pending | (
        (states["phase"] < Phase.DEAL_OVER) & (states["to_act"] == tables["seat"])
    )
    if not is_right.all():
        raise ValueError(f"{what}: row {int(is_right.argmin())} of the tables fits no environment")


# --- files --------------------------------------------------------------------------------------


def _write(path: str | os.PathLike[str], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write beside the file and move: a reader never sees half of one, whatever happens."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)  # what an ordinary new file may do
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    """The arrays of a file, nothing in it executed; a clear error for whatever else it is."""
    try:
        with open(path, "rb") as file:
            arrays = np.load(file, allow_pickle=False)
            if not isinstance(arrays, np.lib.npyio.NpzFile) or "format" not in arrays:
                raise ValueError("it does not say what it is")
            said = str(arrays["format"])
            if said != FORMAT:
                raise ValueError(f"it says that it is {said!r}, not {FORMAT!r}")
            yield arrays
    except _DAMAGED as problem:
        raise ValueError(f"{os.fspath(path)} is no file of saved games: {problem}") from problem


def _rows(arrays: Any, dtype: np.dtype[Any], prefix: str = "") -> npt.NDArray[Any]:
    """The columns of a file as one array of rows, each of the size and kind it must have."""
    described = str(arrays[f"{prefix}fields"])
    if described != _described(dtype):
        raise ValueError(f"its table is that of another version: {described}")
    columns = {name: arrays[f"{prefix}{name}"] for name in dtype.names or ()}
    num = len(next(iter(columns.values())))
    rows = np.zeros(num, dtype=dtype)
    for name, column in columns.items():
        if column.dtype != dtype[name].base or column.shape != (num, *dtype[name].shape):
            raise ValueError(
                f"{prefix}{name} is {column.dtype} of shape {column.shape}, "
                f"not {dtype[name].base} of shape {(num, *dtype[name].shape)}"
            )
        rows[name] = column
    return rows


def save_states(path: str | os.PathLike[str], states: States) -> None:
    """Write games into a file; `load_states` reads it back.

    Args:
        path: an ``.npz`` file, replaced as a whole or not at all.
        states: full states, shape (n,), at any act.

    Raises:
        ValueError: these are no full states.
        OSError: the file cannot be written.
    """
    if states.dtype != STATE_DTYPE or states.ndim != 1:
        raise ValueError(f"{states.dtype} of shape {states.shape}: an array of states is wanted")
    _check_states(states, "states")
    described = {"format": np.array(FORMAT), "fields": np.array(_described(STATE_DTYPE))}
    _write(path, {**described, **_columns(states)})


def load_states(path: str | os.PathLike[str]) -> States:
    """Read games that `save_states` has written. Executes nothing of what is in the file.

    Returns:
        Full states, dtype ``STATE_DTYPE``, shape (n,), equal to those saved.

    Raises:
        ValueError: the file is damaged, of another version, another file altogether, or holds a
            row that no game can reach.
        OSError: it cannot be read.
    """
    with _opened(path) as arrays:
        states = _rows(arrays, STATE_DTYPE)
        _check_states(states, "states")
        return states


class Saveable(Protocol):
    """An environment: `EuchreEnv`, `EuchreVectorEnv`."""

    def get_state(self) -> dict[str, Any]:
        """All of it that changes."""
        ...

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back there."""
        ...


def save_env(path: str | os.PathLike[str], env: Saveable) -> None:
    """Write all that changes in an environment into a file (its options are not in it).

    Args:
        path: an ``.npz`` file, replaced as a whole or not at all; `load_states` reads the games.
        env: an `EuchreEnv` or `EuchreVectorEnv` under way (``gymnasium.make(...).unwrapped``).

    Raises:
        gymnasium.error.ResetNeeded: nothing is under way yet.
        OSError: the file cannot be written.
    """
    state = env.get_state()
    _write(
        path,
        {
            "format": np.array(FORMAT),
            "fields": np.array(_described(STATE_DTYPE)),
            f"{_TABLE_PREFIX}fields": np.array(_described(TABLE_DTYPE)),
            **_columns(state["states"]),
            **_columns(state["tables"], _TABLE_PREFIX),
        },
    )


def load_env(path: str | os.PathLike[str], env: Saveable) -> None:
    """Set an environment to what `save_env` has written; executes nothing.

    Args:
        path: the file.
        env: an environment made with the same options as the one saved.

    Raises:
        ValueError: the file is damaged, of another version, another file altogether, or does not
            fit the environment; which is then as before.
        OSError: it cannot be read.
    """
    with _opened(path) as arrays:
        if f"{_TABLE_PREFIX}fields" not in arrays:
            raise ValueError("it holds games only, no environment: see load_states")
        states = _rows(arrays, STATE_DTYPE)
        tables = _rows(arrays, TABLE_DTYPE, _TABLE_PREFIX)
        if len(states) != len(tables):
            raise ValueError(f"{len(states)} games and {len(tables)} rows of tables")
        _check_states(states, "states")
        _check_tables(states, tables, "tables")
    env.set_state({"states": states, "tables": tables})
