"""A learned policy as an agent: numbers in a safetensors file, described by a JSON file.

A *policy folder* holds two files, both plain data; nothing in them is ever executed:

``policy.json``
    what the numbers are: format version, network, observation it reads, rules it was trained
    under, and facts about the training for people.
``policy.safetensors``
    the weights: ``policy.<k>.weight`` (float32, outputs x inputs) and ``policy.<k>.bias`` of each
    layer; ``value.<k>.…`` likewise, of the network that estimates points (for training only).

Playing needs neither torch nor Stable-Baselines3: the network is a compiled kernel that works on
one view at a time and adds in a fixed order. What an agent does therefore depends on the view
(and, when it samples, on that row's random stream) alone, never on the batch it stands in.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, tanh
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NUM_ACTIONS
from euchre_env.dealing import AGENTS, mix, substream
from euchre_env.kernel import kernel
from euchre_env.observation import (
    ABSOLUTE_ACTIONS,
    OBSERVATION_FIELDS,
    OBSERVATION_SIZE,
    encode_into,
    frame_of,
)
from euchre_env.rules import Rules
from euchre_env.state import NOBODY, STATE_DTYPE, States

FORMAT: Final = "euchre_env policy"
FORMAT_VERSION: Final = 1
DESCRIPTION_FILE, WEIGHTS_FILE = "policy.json", "policy.safetensors"

ACTIVATIONS: Final = ("relu", "tanh")
"""Activations between layers; the kernel knows them by their place here."""
SUITS: Final = ("absolute", "relative")

_ELEVEN: Final = np.uint64(11)


def observation_version() -> str:
    """Twelve letters that change whenever the table of the observation does."""
    table = [(f.name, f.kind, f.labels, f.high) for f in OBSERVATION_FIELDS]
    return hashlib.sha256(json.dumps(table).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Policy:
    """What a policy folder holds.

    Attributes:
        layers: ``(weight, bias)`` of each layer, first to last: float32, shapes (outputs, inputs)
            and (outputs,). The first reads the raw observation, the last gives one logit an act.
        value_layers: likewise, ending in one number: expected points; may be empty.
        activation: between layers, one of `ACTIVATIONS`.
        suits: how the observation and the acts name suits, one of `SUITS`.
        rules: the rules it was trained under; it plays any.
        training: facts about the training, for people.
    """

    layers: tuple[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]], ...]
    value_layers: tuple[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]], ...]
    activation: str
    suits: str
    rules: Rules
    training: Mapping[str, Any]

    @property
    def sizes(self) -> list[int]:
        """Numbers that enter the first layer and leave each layer."""
        return [self.layers[0][0].shape[1], *(len(bias) for _, bias in self.layers)]


# --- files --------------------------------------------------------------------------------------


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that whoever looks finds the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, 0o644)
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def save_policy(policy: Policy, folder: Path) -> None:
    """Write a policy folder: weights first, so that a description never stands without them."""
    from safetensors.numpy import save

    tensors: dict[str, npt.NDArray[np.float32]] = {}
    for part, layers in (("policy", policy.layers), ("value", policy.value_layers)):
        for k, (weight, bias) in enumerate(layers):
            tensors[f"{part}.{k}.weight"] = np.ascontiguousarray(weight, dtype=np.float32)
            tensors[f"{part}.{k}.bias"] = np.ascontiguousarray(bias, dtype=np.float32)
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "observation_version": observation_version(),
        "observation_size": OBSERVATION_SIZE,
        "num_actions": NUM_ACTIONS,
        "suits": policy.suits,
        "activation": policy.activation,
        "policy_sizes": policy.sizes,
        "value_sizes": [OBSERVATION_SIZE, *(len(bias) for _, bias in policy.value_layers)]
        if policy.value_layers
        else [],
        "rules": policy.rules.changed(),
        "training": dict(policy.training),
    }
    write_atomically(folder / WEIGHTS_FILE, save(tensors))
    text = json.dumps(description, indent=2) + "\n"
    write_atomically(folder / DESCRIPTION_FILE, text.encode())


def load_policy(folder: str | Path) -> Policy:
    """Read a policy folder, checking all that the kernel will trust.

    Args:
        folder: holds ``policy.json`` and ``policy.safetensors``; a run folder does.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file is damaged, or made for another version of this package.
    """
    folder = Path(folder)
    for name in (DESCRIPTION_FILE, WEIGHTS_FILE):
        if not (folder / name).is_file():
            raise FileNotFoundError(
                f"{folder} holds no {name}: a policy is a folder written by train.py, with "
                f"{DESCRIPTION_FILE} and {WEIGHTS_FILE}"
            )
    told = _read_description(folder / DESCRIPTION_FILE)
    tensors = _read_tensors(folder / WEIGHTS_FILE)
    expected = _expected_shapes(told)
    if tensors.keys() != expected.keys():
        odd = sorted(tensors.keys() ^ expected.keys())
        raise ValueError(f"{folder / WEIGHTS_FILE}: tensors missing or not described: {odd}")
    for name, shape in expected.items():
        tensor = tensors[name]
        if tensor.dtype != np.float32 or tensor.shape != shape:
            raise ValueError(
                f"{folder / WEIGHTS_FILE}: {name} is {tensor.dtype} of shape {tensor.shape}, "
                f"described is float32 of shape {shape}"
            )
        if not np.isfinite(tensor).all():
            raise ValueError(f"{folder / WEIGHTS_FILE}: {name} holds numbers that are not finite")

    def layers(part: str) -> tuple[Any, ...]:
        count = len(told[f"{part}_sizes"]) - 1
        return tuple(
            (tensors[f"{part}.{k}.weight"], tensors[f"{part}.{k}.bias"]) for k in range(count)
        )

    return Policy(
        layers=layers("policy"),
        value_layers=layers("value"),
        activation=told["activation"],
        suits=told["suits"],
        rules=told["rules"],
        training=told["training"],
    )


def _read_description(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as problem:
        raise ValueError(f"{path} is no JSON: {problem}") from problem
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise ValueError(f"{path} describes no policy of this package (format={FORMAT!r} expected)")
    _expect(path, told, "format_version", FORMAT_VERSION, "written by another version")
    _expect(path, told, "observation_version", observation_version(), "the observation changed")
    _expect(path, told, "observation_size", OBSERVATION_SIZE, "the observation changed")
    _expect(path, told, "num_actions", NUM_ACTIONS, "the acts changed")
    for key, allowed in (("suits", SUITS), ("activation", ACTIVATIONS)):
        if told.get(key) not in allowed:
            raise ValueError(f"{path}: {key}={told.get(key)!r}, allowed are {', '.join(allowed)}")
    _check_sizes(path, told.get("policy_sizes"), "policy_sizes", NUM_ACTIONS)
    if told.get("value_sizes") != []:
        _check_sizes(path, told.get("value_sizes"), "value_sizes", 1)
    if not isinstance(told.get("rules"), dict) or not isinstance(told.get("training"), dict):
        raise ValueError(f"{path}: rules and training are each an object")
    try:
        told["rules"] = Rules(**told["rules"])
    except (TypeError, ValueError) as problem:
        raise ValueError(f"{path}: rules={told['rules']!r}: {problem}") from problem
    return told


def _expect(path: Path, told: dict[str, Any], key: str, value: Any, why: str) -> None:
    if told.get(key) != value or isinstance(told.get(key), bool):
        raise ValueError(f"{path}: {key}={told.get(key)!r}, this package reads {value!r}: {why}")


def _check_sizes(path: Path, sizes: Any, key: str, outputs: int) -> None:
    is_list = isinstance(sizes, list) and len(sizes) >= 2
    if (
        not is_list
        or not all(type(size) is int and 0 < size <= 65536 for size in sizes)
        or sizes[0] != OBSERVATION_SIZE
        or sizes[-1] != outputs
    ):
        raise ValueError(
            f"{path}: {key}={sizes!r}: a list of layer sizes from {OBSERVATION_SIZE} to {outputs} "
            "is expected"
        )


def _read_tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return dict(load(path.read_bytes()))
    except (SafetensorError, KeyError, ValueError, TypeError, AttributeError) as problem:
        raise ValueError(f"{path} is no safetensors file, or a damaged one: {problem}") from problem


def _expected_shapes(told: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for part in ("policy", "value"):
        sizes = told[f"{part}_sizes"]
        for k, (inputs, outputs) in enumerate(pairwise(sizes)):
            shapes[f"{part}.{k}.weight"] = (outputs, inputs)
            shapes[f"{part}.{k}.bias"] = (outputs,)
    return shapes


# --- the network --------------------------------------------------------------------------------


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
        for i in range(num_inputs):
            number = work[source, i]
            if number != 0:
                row = weights[start + i * num_outputs : start + (i + 1) * num_outputs]
                for j in range(num_outputs):
                    outputs[j] += number * row[j]
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
            ValueError: full states instead of views, other shapes, or a row without a legal act.
        """
        rows, masks = self._at_the_door(views, action_masks)
        keys = np.require(rng, np.uint64, ["C", "W"])
        num = len(rows)
        if keys.shape != (num,):
            raise ValueError(f"{num} views, rng of shape {keys.shape}: ({num},) is expected")
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
            ValueError: full states instead of views, other shapes, or a row without a legal act.
        """
        rows, masks = self._at_the_door(views, action_masks)
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

    def _at_the_door(
        self, views: States, action_masks: npt.NDArray[np.int8]
    ) -> tuple[States, npt.NDArray[np.int8]]:
        """Views and masks as kernels take them.

        Raises:
            ValueError: full states instead of views, other shapes, or a row without a legal act.
        """
        rows = np.require(views, STATE_DTYPE, ["C", "W"])
        masks = np.require(action_masks, np.int8, ["C", "W"])
        num = len(rows)
        if (rows["seat"] == NOBODY).any():
            raise ValueError("these are full states: an agent is shown views (views.blank)")
        if masks.shape != (num, NUM_ACTIONS):
            raise ValueError(
                f"{num} views, masks of shape {masks.shape}: ({num}, {NUM_ACTIONS}) is expected"
            )
        if not masks.any(axis=1).all():
            raise ValueError("a row of the masks has no legal act")
        return rows, masks

    def logits(self, observations: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
        """The network's outputs, masks not applied, suits as the policy names them.

        Args:
            observations: uint8, shape (n, OBSERVATION_SIZE), suits named likewise.

        Returns:
            float32, shape (n, 42).
        """
        outputs = np.empty((len(observations), NUM_ACTIONS), dtype=np.float32)
        _logits_all(
            observations, self._weights, self._sizes, self._activation, self._work(), outputs
        )
        return outputs

    def _work(self) -> npt.NDArray[np.float32]:
        return np.empty((2, int(self._sizes.max())), dtype=np.float32)


def load_agent(text: str) -> LearnedAgent:
    """The agent named ``run:<text>``.

    Args:
        text: a run folder or a checkpoint in it; ``,sample`` behind it draws acts by their
            probability instead of doing the likeliest.

    Raises:
        FileNotFoundError: there is no policy.
        ValueError: no folder is named, or the policy is damaged or of another version.
    """
    folder, option = text, ""
    for sign in (",", "?"):
        if text.endswith(f"{sign}sample"):
            folder, option = text[: -len(f"{sign}sample")], "sample"
    if not folder:
        raise ValueError("run: names no folder; write run:<folder of a training run>")
    return LearnedAgent.load(folder, is_sampled=option == "sample")


def fold_scale(
    layers: Sequence[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]],
    scale: npt.NDArray[np.float32],
) -> tuple[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]], ...]:
    """Layers that read the raw observation, from layers that read a part of it, scaled.

    Args:
        layers: the first reads the places of the observation where ``scale`` is not 0, each
            times its scale.
        scale: float32, shape (observation size,).
    """
    (weight, bias), *rest = layers
    places = np.flatnonzero(scale)
    whole = np.zeros((len(bias), len(scale)), dtype=np.float32)
    whole[:, places] = weight * scale[places]
    return ((whole, bias), *rest)
