"""A model of how the other player acts: any agent, asked about what he would see.

Beliefs and best responses put the same question to an agent thousands of times: holding *that*,
what would you have done here? A `Model` asks in batches, and looks at the answers: an act, or
(`agents.base.ProbabilisticAgent`) how likely each act is.

An agent that draws at random and does not say how likely its acts are is made a fixed player: for
each view its random stream is a hash of a common seed and of that view, so it does the same
whenever it sees the same.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.base import Agent, CompiledAgent
from euchre_env.actions import NUM_ACTIONS, action_name
from euchre_env.dealing import AGENTS, mix, seed_word, substream
from euchre_env.engine import write_mask
from euchre_env.kernel import int64, kernel
from euchre_env.notation import format_position
from euchre_env.state import MAX_ACTIONS, States

_EIGHT = np.uint64(8)
MAX_BATCH: Final = 100_000
"""Views that an agent is asked about at once, at most."""
_MAX_ERROR: Final = 1e-3
"""How far the probabilities of a row may be from summing to 1."""


@kernel
def view_key(view: np.record, seed: np.uint64) -> np.uint64:
    """The key of the random stream of a view: a hash of what is seen and of a common seed."""
    word = mix(seed ^ np.uint64(view.hands[view.seat & 1]))
    packed = np.uint64(0)
    for i in range(MAX_ACTIONS):
        packed = packed << _EIGHT | np.uint64(int64(view.history[i]) & 255)
        if i == MAX_ACTIONS // 2:
            word = mix(word ^ packed)
            packed = np.uint64(0)
    word = mix(word ^ packed)
    table = np.uint64(int64(view.upcard) * 4 + view.dealer * 2 + view.seat)
    return substream(word ^ table, AGENTS, 0)


@kernel
def _keys_of(views: States, seed: np.uint64, keys: npt.NDArray[np.uint64]) -> None:
    for i in range(views.shape[0]):
        keys[i] = view_key(views[i], seed)


@kernel
def _masks_of(bits: npt.NDArray[np.int64], masks: npt.NDArray[np.int8]) -> None:
    for i in range(bits.shape[0]):
        write_mask(bits[i], masks[i])


@kernel
def _find_illegal(actions: npt.NDArray[np.int64], bits: npt.NDArray[np.int64]) -> int:
    for i in range(actions.shape[0]):
        if not 0 <= actions[i] < NUM_ACTIONS or not bits[i] >> actions[i] & 1:
            return i
    return -1


@kernel
def _check_chances(
    chances: npt.NDArray[np.float64], bits: npt.NDArray[np.int64], purify: float
) -> int:
    """Drop small chances and make rows sum to 1; returns a row that is no distribution, or -1."""
    for i in range(chances.shape[0]):
        total, largest = 0.0, 0.0
        for action in range(NUM_ACTIONS):
            chance = chances[i, action]
            if not 0.0 <= chance <= 1.0 + _MAX_ERROR or (
                chance > 0.0 and not bits[i] >> action & 1
            ):
                return i
            total += chance
            largest = max(largest, chance)
        if abs(total - 1.0) > _MAX_ERROR:
            return i
        kept = 0.0
        for action in range(NUM_ACTIONS):
            if chances[i, action] < min(purify, largest):
                chances[i, action] = 0.0
            kept += chances[i, action]
        for action in range(NUM_ACTIONS):
            chances[i, action] /= kept
    return -1


class Model:
    """An agent as others think of it: what it would do in a view, or how likely it does what.

    Attributes:
        agent: who is asked.
        is_mixed: whether it says how likely its acts are; otherwise it is taken as a player who
            always does the same in the same view.
        purify: acts of a smaller chance than this count as never done, the rest are scaled up.
    """

    def __init__(self, agent: Agent, seed: int = 0, purify: float = 0.0) -> None:
        """Ask an agent.

        Args:
            agent: whom.
            seed: of its random streams, where it draws acts without saying how likely they are.
            purify: threshold for its chances, 0 to 1.

        Raises:
            ValueError: a seed below 0, or a threshold that is no share.
        """
        if not 0.0 <= purify <= 1.0:
            raise ValueError(f"purify={purify}: it is a share of the acts, 0 to 1")
        self.agent, self.purify = agent, purify
        self.seed = seed_word(seed)
        self.is_mixed = callable(getattr(agent, "probabilities", None))
        is_own = isinstance(agent, CompiledAgent) and type(agent).act is CompiledAgent.act
        self._compiled: Any = agent if is_own else None

    @property
    def name(self) -> str:
        """What tables call the agent."""
        return str(getattr(self.agent, "name", type(self.agent).__name__))

    @property
    def policy_address(self) -> int:
        """Where its compiled policy lies, for kernels; 0 when it has to be asked in batches."""
        if self.is_mixed or self._compiled is None:
            return 0
        return int(self._compiled.policy_address)

    @property
    def memory_address(self) -> int:
        """Where the compiled policy's memory lies."""
        return 0 if self._compiled is None else int(self._compiled.memory_address)

    def actions(self, views: States, bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What it would do.

        Args:
            views: shape (n,), views of the seat to act.
            bits: int64, shape (n,): the legal acts of each as a mask, none of them empty.

        Returns:
            int64, shape (n,).

        Raises:
            ValueError: an act is not legal, or the answer has another shape; the agent and the
                position are named.
        """
        keys = np.empty(len(views), dtype=np.uint64)
        _keys_of(views, self.seed, keys)
        actions = np.empty(len(views), dtype=np.int64)
        if self._compiled is not None:
            self._compiled.batch(views, bits, keys, self.memory_address, actions)
        else:
            for part in self._parts(len(views)):
                given = np.asarray(
                    self.agent.act(views[part].copy(), _masks(bits[part]), keys[part])
                )
                if given.shape != actions[part].shape or given.dtype.kind not in "iu":
                    raise ValueError(
                        f"{self.name} answered {len(keys[part])} views with an array of shape "
                        f"{given.shape} and dtype {given.dtype}"
                    )
                actions[part] = given
        wrong = _find_illegal(actions, bits)
        if wrong >= 0:
            act = int(actions[wrong])
            said = action_name(act) if 0 <= act < NUM_ACTIONS else str(act)
            raise ValueError(
                f"{self.name} did {said}, which is not legal in {format_position(views[wrong])}"
            )
        return actions

    def chances(self, views: States, bits: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """How likely it does what, small chances dropped.

        Args:
            views: as for `actions`.
            bits: as for `actions`.

        Returns:
            float64, shape (n, 42): rows sum to 1, illegal acts have 0.

        Raises:
            ValueError: an act is not legal, or the answer is no distribution.
        """
        chances = np.zeros((len(views), NUM_ACTIONS))
        if not self.is_mixed:
            chances[np.arange(len(views)), self.actions(views, bits)] = 1.0
            return chances
        agent: Any = self.agent
        for part in self._parts(len(views)):
            given = np.asarray(agent.probabilities(views[part].copy(), _masks(bits[part])))
            if given.shape != chances[part].shape:
                raise ValueError(
                    f"{self.name} gave probabilities of shape {given.shape}, "
                    f"not {chances[part].shape}"
                )
            chances[part] = given
        wrong = _check_chances(chances, bits, self.purify)
        if wrong >= 0:
            raise ValueError(
                f"{self.name} gave probabilities that do not sum to 1 over the legal acts in "
                f"{format_position(views[wrong])}"
            )
        return chances

    def _parts(self, num: int) -> list[slice]:
        return [slice(start, start + MAX_BATCH) for start in range(0, num, MAX_BATCH)]


def _masks(bits: npt.NDArray[np.int64]) -> npt.NDArray[np.int8]:
    masks = np.empty((len(bits), NUM_ACTIONS), dtype=np.int8)
    _masks_of(bits, masks)
    return masks
