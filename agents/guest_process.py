"""The other end of a guest: the process in which an outsider's agent lives (`agents.guests`).

It is told a name, makes the agent, and answers batches until its input ends. What goes through the
two pipes is raw numbers of known length and short texts, nothing that could be executed:

    here -> parent   once: one byte (1: made), then a text
    parent -> here   n as int64; n views, n x 42 masks int8, n random streams uint64
    here -> parent   n acts int64; then a text for each act that is `RAISED`

A text is `TEXT_BYTES` bytes of UTF-8, filled up with zeros. What the guest prints goes
nowhere, so that it cannot get in between.
"""

import importlib
import importlib.util
import os
import re
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NUM_ACTIONS
from euchre_env.registry import agent_names, resolve_agent
from euchre_env.state import STATE_DTYPE, States

TEXT_BYTES: Final = 240
"""Bytes of a text."""
RAISED: Final = int(np.iinfo(np.int64).min)
"""In place of an act: the agent raised an error here, or answered no whole number."""
PLACE: Final = re.compile(
    r"(?P<where>.+?\.py|[A-Za-z_]\w*(?:\.\w+)*):(?P<attribute>[A-Za-z_]\w*)(?::(?P<argument>.*))?",
    re.S,
)
"""``my_package.agents:Careful``, ``my_agent.py:Careful``, ``my_agent.py:Careful:argument``."""


# --- making the agent ---------------------------------------------------------------------------


def load_guest(name: str, also: Mapping[str, str] | None = None) -> Any:
    """The agent of a name: ``module:attribute``, ``file.py:attribute`` or a registered one.

    Args:
        name: see `agents.make_agent`.
        also: names known beside the registered ones, ``name -> "module:attribute"``.

    The attribute is an agent; or a class or function, called without arguments, or with the text
    after a second colon, which makes one.

    Raises:
        ImportError: no such module, file or attribute.
        TypeError: it is no agent, and makes none.
    """
    place = PLACE.fullmatch(name)
    if place is None or name.partition(":")[0] in agent_names(also):
        return resolve_agent(name, also=also)
    module = _module(place["where"])
    try:
        found = getattr(module, place["attribute"])
    except AttributeError:
        raise ImportError(f"{place['where']} has no {place['attribute']}") from None
    if isinstance(found, type) or not callable(getattr(found, "act", None)):
        if not callable(found):
            raise TypeError(f"{name} is {found!r}: neither an agent nor what makes one")
        found = found() if place["argument"] is None else found(place["argument"])
    if not callable(getattr(found, "act", None)):
        raise TypeError(f"{name} made {found!r}, which has no act(views, action_masks, rng)")
    return found


def _module(where: str) -> Any:
    if not where.endswith(".py"):
        sys.path.append(os.getcwd())
        return importlib.import_module(where)
    path = Path(where).resolve()
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise ImportError(f"there is no file {where}")
    sys.path.append(str(path.parent))
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


# --- answering ----------------------------------------------------------------------------------


def as_text(problem: BaseException) -> str:
    """An error as people read it."""
    return f"{type(problem).__name__}: {problem}".removesuffix(": ")


def answer(
    agent: Any, views: States, masks: npt.NDArray[np.int8], rng: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], list[str]]:
    """Acts for a batch; `RAISED` for the rows that the agent fails on when asked for them alone.

    A batch that fails is halved until the rows at fault are known, so which rows these are does
    not depend on the batch.

    Returns:
        Acts, shape (n,), and a text for each that is `RAISED`, in order.
    """
    num = len(views)
    try:
        # copies: the agent may write to what it is given, and keep it
        acts = np.asarray(agent.act(views.copy(), masks.copy(), rng.copy()))
        if acts.shape != (num,) or not np.issubdtype(acts.dtype, np.integer):
            raise TypeError(
                f"it answered {acts.dtype} of shape {acts.shape} for {num} views, not whole "
                f"numbers of shape ({num},)"
            )
        is_act = (acts >= 0) & (acts < NUM_ACTIONS)
        return np.where(is_act, acts, -1).astype(np.int64), []
    except BaseException as problem:  # sys.exit and KeyboardInterrupt of the guest's own too
        if num == 1:
            return np.array([RAISED]), [as_text(problem)]
    halves = slice(0, num // 2), slice(num // 2, num)
    first, second = (answer(agent, views[half], masks[half], rng[half]) for half in halves)
    return np.concatenate([first[0], second[0]]), first[1] + second[1]


def _packed(text: str) -> bytes:
    return text.encode(errors="replace")[:TEXT_BYTES].ljust(TEXT_BYTES, b"\0")


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the parent, out of the guest's way: its input is empty, its output apart."""
    take = os.fdopen(os.dup(0), "rb", buffering=0)
    give = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)
    return take, give


def read_exactly(pipe: IO[bytes], num: int) -> bytearray:
    """So many bytes.

    Raises:
        EOFError: there are no more.
    """
    data = bytearray()
    while len(data) < num:
        more = pipe.read(num - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def write_all(pipe: IO[bytes], data: bytes) -> None:
    """Write everything to a pipe without a buffer."""
    left = memoryview(data)
    while left:
        left = left[pipe.write(left) :]


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, even in the middle of a long thought."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def main(name: str, also: Mapping[str, str]) -> None:
    """Make the agent of a name and answer for it until there are no more questions."""
    take, give = _private_pipes()
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    try:
        agent = load_guest(name, also)
    except BaseException as problem:
        write_all(give, b"\0" + _packed(as_text(problem)))
        return
    write_all(give, b"\1" + _packed(""))
    while True:
        try:
            num = int(np.frombuffer(read_exactly(take, 8), dtype=np.int64)[0])
            views = np.frombuffer(
                read_exactly(take, num * STATE_DTYPE.itemsize), dtype=STATE_DTYPE
            ).view(np.recarray)
            masks = np.frombuffer(read_exactly(take, num * NUM_ACTIONS), dtype=np.int8)
            rng = np.frombuffer(read_exactly(take, num * 8), dtype=np.uint64)
        except EOFError:
            os._exit(0)  # whatever threads and exit handlers the guest has left behind
        acts, texts = answer(agent, views, masks.reshape(num, NUM_ACTIONS), rng)
        write_all(give, acts.tobytes() + b"".join(map(_packed, texts)))
