"""Guests: agents from outside, each in a process of its own, with a time limit.

A guest is named by where it stands, ``my_package.agents:Careful`` or ``my_agent.py:Careful``, or
by the name under which another package has registered it (``euchre_env.registry``). It can crash,
hang, print, leave the process or answer nonsense; whoever plays against it goes on:

- a view for which it raises an error, or answers with what is no legal act, is a *fault*: it loses
  that deal (or game);
- when its process dies, or is late with a batch, it is *out*: it loses the match.

What comes back from it is read as numbers of known length; nothing of it is executed here. Its own
process is a fence against accidents, not a jail: run no agent whose author you do not trust.
"""

import os
import signal
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, TypeVar

import numpy as np
import numpy.typing as npt

from agents.base import AgentError, at_the_door, keys_at_the_door
from agents.guest_process import PLACE, RAISED, TEXT_BYTES, read_exactly, write_all
from euchre_env.actions import NUM_ACTIONS, action_name
from euchre_env.notation import format_position
from euchre_env.state import States

T = TypeVar("T")

BATCH: Final = 1_024
"""Most views that a guest is asked about at once."""
TIME_LIMIT: Final = 60.0
"""Seconds that a guest may take for a batch, unless told otherwise."""
START_LIMIT: Final = 60.0
"""Seconds that it may take to start, at least."""
_STDERR_LINES: Final = 20
_ROOT: Final = str(Path(__file__).resolve().parents[1])
_START: Final = (
    f"import sys; sys.path.insert(0, {_ROOT!r}); "
    "from agents import AGENTS; from agents.guest_process import main; main(sys.argv[1], AGENTS)"
)


class GuestOutError(AgentError):
    """A guest's process died or was late: it plays no more."""


class _EndedError(RuntimeError):
    """The process is gone; the message says how."""


@dataclass(frozen=True)
class Answer:
    """What a guest said to a batch of views."""

    actions: npt.NDArray[np.int64]
    """Legal acts, shape (n,); -1 where there is a fault."""
    faults: dict[int, str]
    """What is wrong, and at which position, by row."""


class Guest:
    """An agent from outside, in its own process, which is kept from batch to batch."""

    def __init__(self, place: str, time_limit: float = TIME_LIMIT) -> None:
        """Start the process and have the agent made there.

        Args:
            place: ``module:attribute``, ``file.py:attribute`` or a registered name; a file is
                looked for in the current folder.
            time_limit: seconds for a batch of at most `BATCH` views.

        Raises:
            ValueError: a time limit that is none.
            ImportError: the agent cannot be made; the message says why.
        """
        is_number = isinstance(time_limit, int | float) and not isinstance(time_limit, bool)
        if not is_number or not 0 < time_limit < threading.TIMEOUT_MAX:
            raise ValueError(f"time_limit={time_limit!r}: it is a number of seconds above 0")
        found = PLACE.fullmatch(place)
        file = found["where"] if found is not None and found["where"].endswith(".py") else ""
        self.name = Path(file).name + place.removeprefix(file)
        """Where it stands, without folders: what it calls itself would prove nothing."""
        self.time_limit = time_limit
        self._place = os.path.abspath(place) if file else place
        self._out: GuestOutError | None = None
        self._process = _Process(self._place, self.name, time_limit)

    def __reduce__(self) -> tuple[type["Guest"], tuple[str, float]]:
        """In another process there is another guest."""
        return Guest, (self._place, self.time_limit)

    def __repr__(self) -> str:
        return f"Guest({self.name!r})"

    def answer(
        self,
        views: States,
        action_masks: npt.NDArray[np.int8],
        rng: npt.NDArray[np.uint64],
    ) -> Answer:
        """Ask for acts; arguments as for `Agent.act`.

        Raises:
            ValueError: what `agents.base.at_the_door` refuses: no fault of the guest, which is not
                asked then.
            GuestOutError: its process died or was late, now or before, or it was closed.
        """
        rows, masks, _ = at_the_door(views, action_masks)
        keys = keys_at_the_door(rng, len(rows))
        actions = np.empty(len(rows), dtype=np.int64)
        faults: dict[int, str] = {}
        for start in range(0, len(rows), BATCH):
            part = slice(start, start + BATCH)
            acts, texts = self._ask(rows[part], masks[part], keys[part])
            faults |= {start + row: text for row, text in texts.items()}
            actions[part] = acts
        places = np.arange(len(rows)), np.clip(actions, 0, NUM_ACTIONS - 1)
        wrong = (actions < 0) | (masks[places] == 0)
        for row in np.flatnonzero(wrong):
            faults.setdefault(int(row), _illegal(int(actions[row]), masks[row]))
        actions[list(faults)] = -1
        told = {row: f"{self._at(rows[row])}: {faults[row]}" for row in sorted(faults)}
        return Answer(actions, told)

    def act(
        self,
        views: States,
        action_masks: npt.NDArray[np.int8],
        rng: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.int64]:
        """Choose an act for every view (see `Agent.act`).

        Raises:
            AgentError: there is a fault, or the guest is out.
        """
        answer = self.answer(views, action_masks, rng)
        if answer.faults:
            raise AgentError(next(iter(answer.faults.values())))
        return answer.actions

    def close(self) -> None:
        """End its process; it is not asked again."""
        if self._out is None:
            self._out = GuestOutError(f"agent {self.name!r} was closed: it is asked no more")
        self._process.end()

    def _ask(
        self,
        views: States,
        masks: npt.NDArray[np.int8],
        keys: npt.NDArray[np.uint64],
    ) -> tuple[npt.NDArray[np.int64], dict[int, str]]:
        if self._out is not None:
            raise self._out
        try:
            return self._process.ask(views, masks, keys)
        except _EndedError as problem:
            is_late = self._process.is_late
            row = 0 if is_late else self._fatal_row(views, masks, keys)
            others = f" and {len(views) - 1:,} others" if is_late and len(views) > 1 else ""
            self._out = GuestOutError(f"{self._at(views[row])}{others}: {problem}; it is out")
            raise self._out from None

    def _at(self, view: np.record) -> str:
        return f"agent {self.name!r} at the position {format_position(view)!r}"

    def _fatal_row(
        self, views: States, masks: npt.NDArray[np.int8], keys: npt.NDArray[np.uint64]
    ) -> int:
        """At which view it dies, found by asking a new process for one after the other."""
        row = 0
        try:
            again = _Process(self._place, self.name, self.time_limit)
            for row in range(len(views)):
                again.ask(views[row : row + 1], masks[row : row + 1], keys[row : row + 1])
            again.end()
        except (_EndedError, ImportError):
            return row
        return 0


def _illegal(action: int, mask: npt.NDArray[np.int8]) -> str:
    legal = ", ".join(map(action_name, np.flatnonzero(mask).tolist()))
    said = action_name(action) if 0 <= action < NUM_ACTIONS else "no act at all"
    return f"it answered {said}, legal are {legal}"


# --- the process --------------------------------------------------------------------------------


class _Process:
    """One process of a guest, from here."""

    def __init__(self, place: str, name: str, time_limit: float) -> None:
        self.is_late = False
        self._limit = max(time_limit, START_LIMIT)
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, place],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # apart from this process's group: Ctrl-C is for us, and its children end with it
            start_new_session=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process, self._to, self._from = process, process.stdin, process.stdout
        self._told: deque[bytes] = deque(maxlen=_STDERR_LINES)
        reader = threading.Thread(target=_drain, args=(process.stderr, self._told), daemon=True)
        reader.start()
        self.end = weakref.finalize(self, _end, process)
        try:
            hello = self._exchange(b"", lambda pipe: read_exactly(pipe, 1 + TEXT_BYTES))
        except _EndedError as problem:
            raise ImportError(f"the agent {name!r} does not start: {problem}") from None
        if hello[0] != 1:
            self.end()
            raise ImportError(f"the agent {name!r} cannot be made: {_text(hello[1:])}")
        self._limit = time_limit

    def ask(
        self, views: States, masks: npt.NDArray[np.int8], keys: npt.NDArray[np.uint64]
    ) -> tuple[npt.NDArray[np.int64], dict[int, str]]:
        """Acts as they come, and what was raised, by row.

        Raises:
            _EndedError: it died or was late.
        """
        num = len(views)
        parts = (np.array([num], dtype=np.int64), views, masks, keys)

        def read(pipe: IO[bytes]) -> tuple[npt.NDArray[np.int64], dict[int, str]]:
            acts = np.frombuffer(read_exactly(pipe, 8 * num), dtype=np.int64)
            raised = np.flatnonzero(acts == RAISED).tolist()
            return acts, {row: _text(read_exactly(pipe, TEXT_BYTES)) for row in raised}

        return self._exchange(b"".join(part.tobytes() for part in parts), read)

    def _exchange(self, message: bytes, read: Callable[[IO[bytes]], T]) -> T:
        timer = threading.Timer(self._limit, self._too_late)
        timer.daemon = True
        timer.start()
        try:
            write_all(self._to, message)
            return read(self._from)
        except (EOFError, OSError, ValueError):  # ValueError: the pipe was closed here
            raise _EndedError(self._how_it_ended()) from None
        except BaseException:
            self.end()  # Ctrl-C: what it still answers would be taken for the next answer
            raise
        finally:
            timer.cancel()

    def _too_late(self) -> None:
        self.is_late = True
        _kill(self._process)

    def _how_it_ended(self) -> str:
        if self.is_late:
            return f"it took more than {self._limit:g} seconds"
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            code = None
        self.end()
        if code is None:
            return "it closed its pipe"
        if code < 0:
            return f"its process was ended by {signal.Signals(-code).name}"
        last = next((line for line in reversed(self._told) if line.strip()), b"")
        return f"its process ended with exit code {code}" + (f": {_text(last)}" if last else "")


def _drain(stream: IO[bytes], told: "deque[bytes]") -> None:
    """Read what a guest prints, and keep the last lines, so that it never has to wait."""
    with stream:
        while line := stream.readline(TEXT_BYTES):
            told.append(line)


def _text(data: bytes | bytearray) -> str:
    """A text of a guest, made safe to print."""
    text = bytes(data).rstrip(b"\0").decode(errors="replace").strip()
    return "".join(letter if letter.isprintable() else " " for letter in text)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """End a process and those that it has started."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    except (ProcessLookupError, PermissionError):
        pass


def _end(process: "subprocess.Popen[bytes]") -> None:
    _kill(process)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                pass
    process.wait()
