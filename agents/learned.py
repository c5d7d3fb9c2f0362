"""A learned policy as an agent: the network of a policy folder (`agents.policies`), compiled.

Playing needs neither torch nor Stable-Baselines3: the network is a compiled kernel that works on
one view at a time and adds in a fixed order. What an agent does therefore depends on the view
(and, when it samples, on that row's random stream) alone, never on the batch it stands in.
"""

from math import exp, tanh
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from agents.base import at_the_door, keys_at_the_door
from agents.policies import (
    ACTIVATIONS,
    RUNS,
    Policy,
    fold_scale,
    load_policy,
    save_policy,
    write_atomically,
)
from euchre_env.actions import NUM_ACTIONS
from euchre_env.dealing import AGENTS, mix, substream
from euchre_env.kernel import kernel
from euchre_env.observation import (
    ABSOLUTE_ACTIONS,
    OBSERVATION_SIZE,
    encode_into,
    frame_of,
)
from euchre_env.state import States

__all__ = [
    "LearnedAgent",
    "Policy",
    "fold_scale",
    "load_agent",
    "load_policy",
    "save_policy",
    "write_atomically",
]

_ELEVEN: Final = np.uint64(11)


@kernel
def _add_inputs(
    inputs: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float32],
    start: int,
    outputs: npt.NDArray[np.float32],
) -> None:
    """Add the inputs that are not 0, times their weights, to the outputs.

    Four at a time: the outputs are then fetched and stored a quarter as often. Every output still
    adds input by input, in order.

    Args:
        inputs: shape (m,).
        weights: the row of input i begins at ``start + i * n``.
        start: see there.
        outputs: shape (n,).
    """
    num = outputs.shape[0]
    i, m = 0, inputs.shape[0]
    while True:
        while i < m and inputs[i] == 0:
            i += 1
        a, i = i, i + 1
        while i < m and inputs[i] == 0:
            i += 1
        b, i = i, i + 1
        while i < m and inputs[i] == 0:
            i += 1
        c, i = i, i + 1
        while i < m and inputs[i] == 0:
            i += 1
        d, i = i, i + 1
        if d >= m:
            break
        w, x, y, z = inputs[a], inputs[b], inputs[c], inputs[d]
        row_a = weights[start + a * num : start + (a + 1) * num]
        row_b = weights[start + b * num : start + (b + 1) * num]
        row_c = weights[start + c * num : start + (c + 1) * num]
        row_d = weights[start + d * num : start + (d + 1) * num]
        for j in range(num):
            outputs[j] = (((outputs[j] + w * row_a[j]) + x * row_b[j]) + y * row_c[j]) + z * row_d[
                j
            ]
    for k in (a, b, c):  # three at most are left
        if k < m:
            number = inputs[k]
            row = weights[start + k * num : start + (k + 1) * num]
            for j in range(num):
                outputs[j] += number * row[j]


@kernel
def _forward(
    observation: npt.NDArray[np.uint8],
    weights: npt.NDArray[np.float32],
    sizes: npt.NDArray[np.int64],
    activation: int,
    work: npt.NDArray[np.float32],
) -> int:
    """Run the network on one observation.

    Sums go input by input, in order, and inputs that are 0 are passed over: most are.

    Args:
        observation: shape (sizes[0],).
        weights: layer after layer, the weights inputs x outputs, then the bias.
        sizes: numbers that enter the first layer and leave each layer.
        activation: place in `ACTIVATIONS`.
        work: shape (2, the largest size), overwritten.

    Returns:
        The row of ``work`` that begins with the last layer's outputs.
    """
    source, start = 1, 0
    for i in range(sizes[0]):
        work[source, i] = observation[i]
    last = sizes.shape[0] - 2
    for layer in range(last + 1):
        num_inputs, num_outputs = sizes[layer], sizes[layer + 1]
        outputs = work[1 - source, :num_outputs]
        bias = start + num_inputs * num_outputs
        for j in range(num_outputs):
            outputs[j] = weights[bias + j]
        _add_inputs(work[source, :num_inputs], weights, start, outputs)
        if layer < last:
            for j in range(num_outputs):
                if activation == 0:
                    outputs[j] = max(outputs[j], np.float32(0))
                else:
                    outputs[j] = np.float32(tanh(outputs[j]))
        source = 1 - source
        start = bias + num_outputs
    return source


@kernel
def _only_act(mask: npt.NDArray[np.int8]) -> int:
    """The one legal act, or -1 where there are several."""
    only = -1
    for act in range(mask.shape[0]):
        if mask[act]:
            if only >= 0:
                return -1
            only = act
    return only


@kernel
def _best(
    logits: npt.NDArray[np.float32], mask: npt.NDArray[np.int8], names: npt.NDArray[np.int64]
) -> int:
    """The legal act of the highest logit; ``names`` tells each logit's act."""
    best = -1
    for k in range(names.shape[0]):
        if mask[names[k]] and (best < 0 or logits[k] > logits[best]):
            best = k
    act: int = names[best]
    return act


@kernel
def _drawn(
    logits: npt.NDArray[np.float32],
    mask: npt.NDArray[np.int8],
    names: npt.NDArray[np.int64],
    word: np.uint64,
) -> int:
    """A legal act drawn by the softmax of the logits, by inverting its distribution function."""
    highest, total = -np.inf, 0.0
    for k in range(names.shape[0]):
        if mask[names[k]]:
            highest = max(highest, np.float64(logits[k]))
    for k in range(names.shape[0]):
        if mask[names[k]]:
            total += exp(np.float64(logits[k]) - highest)
    left = np.float64(word >> _ELEVEN) / 2.0**53 * total
    drawn = -1
    for k in range(names.shape[0]):
        if mask[names[k]]:
            drawn = names[k]
            left -= exp(np.float64(logits[k]) - highest)
            if left < 0:
                break
    return drawn


@kernel
def _act_all(
    views: States,
    masks: npt.NDArray[np.int8],
    rng: npt.NDArray[np.uint64],
    is_relative: bool,
    is_sampled: bool,
    weights: npt.NDArray[np.float32],
    sizes: npt.NDArray[np.int64],
    activation: int,
    work: npt.NDArray[np.float32],
    observation: npt.NDArray[np.uint8],
    actions: npt.NDArray[np.int64],
) -> None:
    """The act of every view, one view after the other."""
    for i in range(views.shape[0]):
        actions[i] = _only_act(masks[i])
        if actions[i] >= 0:  # whatever the network says
            continue
        encode_into(views[i], is_relative, observation)
        logits = work[_forward(observation, weights, sizes, activation, work), :NUM_ACTIONS]
        names = ABSOLUTE_ACTIONS[frame_of(views[i], is_relative)]
        if is_sampled:
            actions[i] = _drawn(logits, masks[i], names, mix(substream(rng[i], AGENTS, 0)))
        else:
            actions[i] = _best(logits, masks[i], names)


@kernel
def _chances_all(
    views: States,
    masks: npt.NDArray[np.int8],
    is_relative: bool,
    weights: npt.NDArray[np.float32],
    sizes: npt.NDArray[np.int64],
    activation: int,
    work: npt.NDArray[np.float32],
    observation: npt.NDArray[np.uint8],
    chances: npt.NDArray[np.float64],
) -> None:
    """The softmax over the legal acts of every view: what `_drawn` draws by."""
    for i in range(views.shape[0]):
        only = _only_act(masks[i])
        if only >= 0:
            chances[i, only] = 1.0
            continue
        encode_into(views[i], is_relative, observation)
        logits = work[_forward(observation, weights, sizes, activation, work), :NUM_ACTIONS]
        names = ABSOLUTE_ACTIONS[frame_of(views[i], is_relative)]
        highest, total = -np.inf, 0.0
        for k in range(names.shape[0]):
            if masks[i, names[k]]:
                highest = max(highest, np.float64(logits[k]))
        for k in range(names.shape[0]):
            if masks[i, names[k]]:
                chances[i, names[k]] = exp(np.float64(logits[k]) - highest)
                total += chances[i, names[k]]
        for action in range(NUM_ACTIONS):
            chances[i, action] /= total


@kernel
def _logits_all(
    observations: npt.NDArray[np.uint8],
    weights: npt.NDArray[np.float32],
    sizes: npt.NDArray[np.int64],
    activation: int,
    work: npt.NDArray[np.float32],
    logits: npt.NDArray[np.float32],
) -> None:
    for i in range(observations.shape[0]):
        row = _forward(observations[i], weights, sizes, activation, work)
        for k in range(logits.shape[1]):
            logits[i, k] = work[row, k]


def _in_a_row(policy: Policy) -> npt.NDArray[np.float32]:
    """The numbers as the kernels read them: layer after layer, inputs x outputs, then the bias."""
    return np.concatenate(
        [part.ravel() for weight, bias in policy.layers for part in (weight.T, bias)]
    )


class LearnedAgent:
    """A saved policy at the table.

    Attributes:
        name: how tables call it.
        policy: what was loaded.
        is_sampled: draw acts by their probability; otherwise the likeliest act is done.
    """

    def __init__(self, policy: Policy, name: str = "run", is_sampled: bool = False) -> None:
        """Make an agent of a policy that `load_policy` has checked."""
        self.policy, self.name, self.is_sampled = policy, name, is_sampled
        self._weights = _in_a_row(policy)
        self._sizes = np.array(policy.sizes, dtype=np.int64)
        self._activation = ACTIVATIONS.index(policy.activation)

    @classmethod
    def load(cls, folder: str | Path, is_sampled: bool = False) -> "LearnedAgent":
        """The agent saved in a policy folder, called by the folder's name.

        Raises:
            FileNotFoundError: a file is missing.
            ValueError: a file is damaged or of another version.
        """
        name = f"run:{Path(folder).resolve().name}" + (",sample" if is_sampled else "")
        return cls(load_policy(folder), name, is_sampled)

    def refresh(self, policy: Policy) -> None:
        """Play by other numbers from now on, staying the same agent to whoever plays it.

        Raises:
            ValueError: the network or the suits differ.
        """
        told = (policy.sizes, policy.activation, policy.suits)
        if told != (self.policy.sizes, self.policy.activation, self.policy.suits):
            raise ValueError(f"{self.name} has another network than the policy it is to play by")
        self.policy = policy
        self._weights[:] = _in_a_row(policy)

    def act(
        self,
        views: States,
        action_masks: npt.NDArray[np.int8],
        rng: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.int64]:
        """Choose an act for every view.

        Args:
            views: shape (n,), from ``views.blank``.
            action_masks: shape (n, 42), 1 = legal, at least one a row; plain suits.
            rng: uint64, shape (n,): a random stream a row, used when sampling only.

        Returns:
            int64, shape (n,): legal acts, plain suits.

        Raises:
            ValueError: what `agents.base.at_the_door` refuses.
        """
        rows, masks, _ = at_the_door(views, action_masks)
        num = len(rows)
        keys = keys_at_the_door(rng, num)
        actions = np.empty(num, dtype=np.int64)
        _act_all(
            rows,
            masks,
            keys,
            self.policy.suits == "relative",
            self.is_sampled,
            self._weights,
            self._sizes,
            self._activation,
            self._work(),
            np.empty(OBSERVATION_SIZE, dtype=np.uint8),
            actions,
        )
        return actions

    def probabilities(
        self, views: States, action_masks: npt.NDArray[np.int8]
    ) -> npt.NDArray[np.float64]:
        """How likely each act is; 1 for the act itself where the agent does not sample.

        Args:
            views: shape (n,), from ``views.blank``.
            action_masks: shape (n, 42), 1 = legal, at least one a row; plain suits.

        Returns:
            float64, shape (n, 42): rows sum to 1, illegal acts have 0.

        Raises:
            ValueError: what `agents.base.at_the_door` refuses.
        """
        rows, masks, _ = at_the_door(views, action_masks)
        chances = np.zeros((len(rows), NUM_ACTIONS))
        if not self.is_sampled:
            actions = self.act(rows, masks, np.zeros(len(rows), dtype=np.uint64))
            chances[np.arange(len(rows)), actions] = 1.0
            return chances
        _chances_all(
            rows,
            masks,
            self.policy.suits == "relative",
            self._weights,
            self._sizes,
            self._activation,
            self._work(),
            np.empty(OBSERVATION_SIZE, dtype=np.uint8),
            chances,
        )
        return chances

    def logits(self, observations: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """The network's outputs, masks not applied, suits as the policy names them.

        Args:
            observations: uint8, shape (n, OBSERVATION_SIZE), suits named likewise.

        Returns:
            float32, shape (n, 42).

        Raises:
            ValueError: another shape or dtype.
        """
        rows = np.require(observations, requirements=["C"])
        if rows.dtype != np.uint8 or rows.shape[1:] != (OBSERVATION_SIZE,):
            raise ValueError(
                f"observations of shape {rows.shape} and dtype {rows.dtype}: uint8 of shape "
                f"(n, {OBSERVATION_SIZE}) is expected"
            )
        outputs = np.empty((len(rows), NUM_ACTIONS), dtype=np.float32)
        _logits_all(rows, self._weights, self._sizes, self._activation, self._work(), outputs)
        return outputs

    def _work(self) -> npt.NDArray[np.float32]:
        return np.empty((2, int(self._sizes.max())), dtype=np.float32)


def load_agent(text: str) -> LearnedAgent:
    """The agent named ``run:<text>``.

    Args:
        text: a run folder or a checkpoint in it, or the name alone of a folder in ``runs/``;
            ``,sample`` behind it draws acts by their probability instead of doing the likeliest.

    Raises:
        FileNotFoundError: there is no policy; the message says what is there instead.
        ValueError: no folder is named, the option is another one, or the policy is damaged or of
            another version.
    """
    folder, option = text, ""
    for sign in (",", "?"):
        if text.endswith(f"{sign}sample"):
            folder, option = text[: -len(f"{sign}sample")], "sample"
    if not folder:
        raise ValueError("run: names no folder; write run:<folder of a training run>")
    _check_no_other_option(folder)
    return LearnedAgent.load(folder, is_sampled=option == "sample")


def _check_no_other_option(text: str) -> None:
    """Refuse ``runs/x,sampled``, where ``runs/x`` is there and a folder called so is not.

    Raises:
        ValueError: it is so.
    """
    folder, comma, option = text.rpartition(",")
    is_there = [any((place / name).exists() for place in (Path(), RUNS)) for name in (text, folder)]
    if comma and is_there == [False, True]:
        raise ValueError(f"{option!r} is no option: behind a folder only ',sample' is known")
