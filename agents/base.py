"""What an agent is, and the base of those that are compiled.

An agent is shown *views* (``euchre_env.views``), never states, and answers for a whole batch of
them at once. All that it draws for a row comes from that row's own random stream, so what it
does never depends on the batch.
"""

import functools
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NUM_ACTIONS, action_name
from euchre_env.dealing import as_streams
from euchre_env.engine import action_bits, legal_actions
from euchre_env.kernel import IS_COMPILED, kernel, policy_address
from euchre_env.notation import format_position
from euchre_env.state import NOBODY, STATE_DTYPE, States


class AgentError(RuntimeError):
    """An agent's answer cannot be used; the message names the agent and the position."""


@runtime_checkable
class Agent(Protocol):
    """Whoever can say what to do: a name and `act`; nothing needs to be inherited."""

    name: str
    """What tables call it."""

    def act(
        self,
        views: States,
        action_masks: npt.NDArray[np.int8],
        rng: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.int64]:
        """Choose an act for every view.

        Args:
            views: shape (n,), from ``views.blank``: what the seat to act knows; it is theirs to
                change.
            action_masks: shape (n, 42), 1 = legal; every row has an act.
            rng: shape (n,), the key of a random stream for each row (``dealing.substream``).

        Returns:
            Legal acts, int64, shape (n,). Row i is a function of ``views[i]``,
            ``action_masks[i]`` and ``rng[i]`` alone.
        """
        ...


@runtime_checkable
class ProbabilisticAgent(Agent, Protocol):
    """An agent that draws its acts at random and can say how likely each is.

    Whoever thinks about it (`agents.beliefs`, `agents.best_response`) then needs no sample of it.
    """

    def probabilities(
        self, views: States, action_masks: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.float64]:
        """How likely `act` is to do each act, over all random streams.

        Args:
            views: shape (n,), as for `act`.
            action_masks: shape (n, 42), 1 = legal; every row has an act.

        Returns:
            float64, shape (n, 42): rows sum to 1, illegal acts have 0.
        """
        ...


def streams(
    rng: int | np.random.Generator | npt.NDArray[np.uint64], num: int
) -> npt.NDArray[np.uint64]:
    """One random stream a row, for calling `Agent.act` by hand.

    Args:
        rng: a seed, 0 or above; a generator; or the keys themselves.
        num: rows.

    Returns:
        uint64, shape ``(num,)``.

    Raises:
        ValueError: a seed below 0, or keys of another shape.
    """
    keys: npt.NDArray[np.uint64] = as_streams(rng, num)
    return keys


@kernel
def _read_rows(rows: States, masks: npt.NDArray[np.int8], bits: npt.NDArray[np.int64]) -> int:
    """Masks as 64-bit sets; returns the first row that no agent could answer, or -1."""
    wrong = -1
    for i in range(masks.shape[0]):
        row = np.int64(0)
        for action in range(NUM_ACTIONS):
            if masks[i, action] != 0:
                row |= np.int64(1) << action
        bits[i] = row
        is_asked = rows[i].seat == rows[i].to_act
        if wrong < 0 and (row == 0 or not is_asked or row & ~legal_actions(rows[i]) != 0):
            wrong = i
    return wrong


def _why_not(view: np.record, bits: int, row: int) -> str:
    """What is wrong with a row that `_read_rows` has found."""
    if view.seat == NOBODY:
        return "these are full states: an agent is shown views (views.blank)"
    if bits == 0:
        return f"row {row} of the masks has no legal act"
    place = f"row {row}, {format_position(view)!r}"
    if view.seat != view.to_act:
        return f"{place}: it is not this seat's turn, and an agent is asked when it is"
    wrong = bits & ~int(action_bits(np.array([view], dtype=STATE_DTYPE))[0])
    names = ", ".join(action_name(a) for a in range(NUM_ACTIONS) if wrong >> a & 1)
    return f"{place}: its mask allows {names}, not legal there"


def at_the_door(
    views: States, action_masks: npt.NDArray[np.int8]
) -> tuple[States, npt.NDArray[np.int8], npt.NDArray[np.int64]]:
    """Views and masks as kernels take them, checked: a kernel trusts them, and reads no bounds.

    Args:
        views: shape (n,), as for `Agent.act`.
        action_masks: shape (n, 42); some of the legal acts will do.

    Returns:
        Views and masks, C-contiguous, and the masks as sets of acts, int64, shape (n,).

    Raises:
        ValueError: what are no views, full states, views of a seat that is not to act, other
            shapes, a row without an act, or one with an act that is not legal.
    """
    if not isinstance(views, np.ndarray) or views.dtype != STATE_DTYPE:
        kind = views.dtype if isinstance(views, np.ndarray) else type(views).__name__
        raise ValueError(f"views are an array of dtype STATE_DTYPE (views.blank), not {kind}")
    rows = np.require(views, STATE_DTYPE, ["C", "W"])
    masks = np.require(action_masks, np.int8, ["C", "W"])
    if views.ndim != 1 or masks.shape != (len(rows), NUM_ACTIONS):
        raise ValueError(
            f"views of shape {views.shape}, masks of shape {masks.shape}: (n,) and "
            f"(n, {NUM_ACTIONS}) are expected"
        )
    bits = np.empty(len(rows), dtype=np.int64)
    wrong = int(_read_rows(rows, masks, bits))
    if wrong >= 0:
        raise ValueError(_why_not(rows[wrong], int(bits[wrong]), wrong))
    return rows, masks, bits


def keys_at_the_door(rng: npt.NDArray[np.uint64], num: int) -> npt.NDArray[np.uint64]:
    """Keys of random streams as kernels take them.

    Raises:
        ValueError: another shape than ``(num,)``, or no whole numbers.
    """
    keys = np.asarray(rng)
    if keys.shape != (num,) or (keys.dtype.kind not in "iu" and num):
        raise ValueError(
            f"{num} views, rng of shape {keys.shape} and dtype {keys.dtype}: a key a row is "
            f"expected, uint64 of shape ({num},), as agents.streams makes them"
        )
    return np.require(keys, np.uint64, ["C", "W"])


def _num_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def _compiled(policy: Callable[..., int]) -> tuple[Any, int]:
    """A policy for calls from kernels, compiled once a process and kept alive."""
    return policy_address(policy)


class CompiledAgent:
    """An agent whose choice is a kernel: played inside other kernels, or in batches.

    A subclass names two functions of its module. Both stand there in full, and are not made by a
    function here, because only then does Numba keep what it compiled for the next process::

        @kernel
        def _choose(view, legal_bits, stream): ...        # -> a legal act

        @kernel
        def _batch(views, bits, rng, memory_address, actions):
            for i in range(views.shape[0]):
                actions[i] = _choose(views[i], bits[i], rng[i])

        def _policy(view_address, legal_bits, stream, memory_address):
            return _choose(row_at(view_address), legal_bits, stream)

        class Careful(CompiledAgent):
            name = "careful"
            batch, policy = staticmethod(_batch), staticmethod(_policy)

    An agent with parameters or tables keeps them in one array, its `memory`, which both functions
    read at ``memory_address`` (``kernel.array_at``): so one compiled policy serves every setting.
    """

    name: str
    batch: "ClassVar[staticmethod[..., None]]"
    """Kernel ``(views, bits int64 (n,), rng uint64 (n,), memory_address, actions int64 (n,)
    written)``."""
    policy: "ClassVar[staticmethod[[int, int, np.uint64, int], int]]"
    """Plain function ``(view_address, legal_bits, stream, memory_address) -> action`` that can be
    compiled."""
    memory: npt.NDArray[Any] | None = None
    """What the functions read beside the view: C-contiguous, not replaced while in use."""
    rows_a_thread: ClassVar[int] = 0
    """Rows that are worth a thread of their own: larger batches are shared out among the cores,
    which changes no act; 0: never."""

    def act(
        self,
        views: States,
        action_masks: npt.NDArray[np.int8],
        rng: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.int64]:
        """Choose an act for every view (see `Agent.act`).

        Raises:
            ValueError: what `at_the_door` refuses, or keys of another shape.
        """
        rows, _, bits = at_the_door(views, action_masks)
        num = len(rows)
        keys = keys_at_the_door(rng, num)
        actions = np.empty(num, dtype=np.int64)
        num_threads = min(_num_cores(), num // self.rows_a_thread) if self.rows_a_thread else 1
        if num_threads < 2:
            self.batch(rows, bits, keys, self.memory_address, actions)
            return actions
        cuts = [num * k // num_threads for k in range(num_threads + 1)]
        parts = [slice(start, stop) for start, stop in itertools.pairwise(cuts)]

        def act_in(part: slice) -> None:
            self.batch(rows[part], bits[part], keys[part], self.memory_address, actions[part])

        # threads of a kept pool would be missing after a fork
        with ThreadPoolExecutor(num_threads) as pool:
            list(pool.map(act_in, parts))
        return actions

    @property
    def policy_address(self) -> int:
        """Where the compiled policy lies, for ``kernel.call_policy``; 0 without a compiler."""
        # who overrides `act` is asked in batches: the compiled policy would not know of it
        is_own = type(self).act is CompiledAgent.act
        return _compiled(type(self).policy)[1] if IS_COMPILED and is_own else 0

    @property
    def memory_address(self) -> int:
        """Where `memory` lies; 0 when there is none."""
        return 0 if self.memory is None else int(self.memory.ctypes.data)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
