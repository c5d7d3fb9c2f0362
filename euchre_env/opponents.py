"""Whom an environment plays against: one agent, or several of which each episode draws one.

Who sits down for an episode is drawn from the game's own random stream, by weight, so that it
depends on the game's seed alone: not on the batch, the other games, or the acts.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numba
import numpy as np
import numpy.typing as npt

from euchre_env.dealing import OPPONENTS, substream
from euchre_env.kernel import IS_COMPILED, as_pointer, int64, kernel
from euchre_env.registry import resolve_agent

OPPONENT_DTYPE: Final = np.dtype(
    (
        np.record,
        [
            ("policy", np.int64),  # address of its compiled policy, or 0: it is asked in batches
            ("memory", np.int64),  # address of what its policy reads beside the view, or 0
            ("below", np.uint64),  # drawn by a random word up to and with this one
        ],
    )
)
"""What kernels must know of an opponent: one record each."""
MAX_OPPONENTS: Final = 256
_LAST_WORD: Final = 2**64 - 1


@kernel
def opponent_at(address: int, index: int) -> np.record:
    """The record of an opponent in the table of `Opponents`."""
    return numba.carray(as_pointer(address), (MAX_OPPONENTS,), OPPONENT_DTYPE)[index]


@kernel
def draw_opponent(stream: np.uint64, count: int, address: int, num: int) -> int:
    """Who sits down for an episode: an index into the table.

    Args:
        stream: the game's.
        count: of the deal that the episode begins with.
        address: of the table.
        num: opponents in it.

    Returns:
        The index; -1 where there is no opponent (self-play).
    """
    if num <= 1:
        return num - 1
    word = substream(stream, OPPONENTS, count)
    index = int64(0)
    while index < num - 1 and word > opponent_at(address, index).below:
        index += 1
    return index


class Opponents(Sequence[Any]):
    """The opponents of an environment with their weights; a sequence of agents, never changed.

    Attributes:
        weights: how often each is drawn, float64, summing to 1.
        address: of the table that kernels read.
    """

    def __init__(self, agents: Iterable[Any], weights: Iterable[float]) -> None:
        """Take agents, and a weight above 0 (or 0: never drawn) for each; see `opponents_of`."""
        self._agents = tuple(agents)
        given = np.array([_checked_weight(weight) for weight in weights])
        if not 1 <= len(self._agents) <= MAX_OPPONENTS or len(given) != len(self._agents):
            raise ValueError(
                f"{len(self._agents)} opponents with {len(given)} weights: from 1 to "
                f"{MAX_OPPONENTS} are possible, each with a weight"
            )
        if not given.sum() > 0:
            raise ValueError("every opponent has the weight 0: nobody would play")
        self.weights = given / given.sum()
        self._link()

    def _link(self) -> None:
        """The table of addresses, which are this process's own."""
        self._table = np.zeros(MAX_OPPONENTS, dtype=OPPONENT_DTYPE)
        total = np.cumsum(self.weights)
        last = int(np.flatnonzero(self.weights)[-1])
        for k, agent in enumerate(self._agents):
            policy = int(getattr(agent, "policy_address", 0) or 0) if IS_COMPILED else 0
            memory = int(getattr(agent, "memory_address", 0)) if policy else 0
            below = _LAST_WORD if k >= last else min(int(total[k] * 2.0**64), _LAST_WORD)
            self._table[k] = (policy, memory, below)
        self.address = int(self._table.ctypes.data)

    @property
    def is_compiled(self) -> npt.NDArray[np.bool_]:
        """Which opponents play inside the kernels, and need not be asked in batches."""
        compiled: npt.NDArray[np.bool_] = self._table["policy"][: len(self)] != 0
        return compiled

    @property
    def names(self) -> tuple[str, ...]:
        """What tables call them."""
        return tuple(opponent_name(agent) for agent in self._agents)

    def places_in(self, other: "Opponents") -> npt.NDArray[np.int64]:
        """Where each of these agents, the same object, stands among others; -1: nowhere."""
        places = {id(agent): k for k, agent in reversed(tuple(enumerate(other)))}
        return np.array([places.get(id(agent), -1) for agent in self._agents], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._agents)

    def __getitem__(self, index: Any) -> Any:
        return self._agents[index]

    def __getstate__(self) -> dict[str, Any]:
        """All but the addresses."""
        return {"_agents": self._agents, "weights": self.weights}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take up the agents, with the addresses of this process."""
        self.__dict__.update(state)
        self._link()


def opponent_name(agent: Any) -> str:
    """What tables call an agent; its class where it has no name."""
    return str(getattr(agent, "name", type(agent).__name__))


def _checked_weight(weight: Any) -> float:
    is_number = isinstance(weight, int | float | np.integer | np.floating)
    if isinstance(weight, bool) or not is_number or not math.isfinite(weight) or weight < 0:
        raise ValueError(f"an opponent's weight is {weight!r}: it is a number, 0 or above")
    return float(weight)


def opponents_of(opponent: Any) -> Opponents:
    """The opponents that a value of the option ``opponent`` means.

    Args:
        opponent: an agent or the name of one; several as a mapping ``{name: weight}``, or as a
            list of names, agents, and pairs ``(name or agent, weight)``; without a weight, 1.

    Returns:
        The opponents. An agent object stays the same object.

    Raises:
        ValueError: there is no such agent, a weight is none, or nobody would play.
        TypeError: something is neither a name nor an agent.
    """
    if isinstance(opponent, Opponents):
        return opponent
    if isinstance(opponent, Mapping):
        pairs = list(opponent.items())
    elif isinstance(opponent, list | tuple):
        pairs = [one if _is_pair(one) else (one, 1.0) for one in opponent]
    else:
        pairs = [(opponent, 1.0)]
    return Opponents([resolve_agent(agent) for agent, _ in pairs], [weight for _, weight in pairs])


def _is_pair(one: Any) -> bool:
    return isinstance(one, tuple) and len(one) == 2 and not isinstance(one[1], str)
