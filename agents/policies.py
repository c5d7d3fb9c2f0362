"""A policy folder: a network's numbers in a safetensors file, described by a JSON file.

Both files are plain data; nothing in them is ever executed:

``policy.json``
    what the numbers are: format version, network, observation it reads, rules it was trained
    under, and facts about the training for people.
``policy.safetensors``
    the weights: ``policy.<k>.weight`` (float32, outputs x inputs) and ``policy.<k>.bias`` of each
    layer; ``value.<k>.…`` likewise, of the network that estimates points (for training only).

`agents.learned` plays what lies in one.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NUM_ACTIONS
from euchre_env.observation import OBSERVATION_FIELDS, OBSERVATION_HIGH, OBSERVATION_SIZE
from euchre_env.rules import Rules

FORMAT: Final = "euchre_env policy"
FORMAT_VERSION: Final = 1
DESCRIPTION_FILE, WEIGHTS_FILE = "policy.json", "policy.safetensors"
RUNS: Final = Path("runs")
"""Where ``train.py`` puts runs unless it is told otherwise."""

LARGEST_OUTPUT: Final = 1e30
"""Bound on what a network may be able to put out; those that learned stay a long way below."""
ACTIVATIONS: Final = ("relu", "tanh")
"""Activations between layers; the kernel knows them by their place here."""
SUITS: Final = ("absolute", "relative")


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


def policy_folder(given: str | Path) -> Path:
    """The folder that is meant, with a policy in it.

    Args:
        given: the folder; or, where there is none of that name here, its name in ``runs/``: what
            tables print as ``run:NAME`` can be typed again.

    Raises:
        FileNotFoundError: there is no policy; the message says what is there instead.
    """
    folder = Path(given)
    if str(given) == folder.name and not folder.exists() and (RUNS / folder).is_dir():
        folder = RUNS / folder
    for name in (DESCRIPTION_FILE, WEIGHTS_FILE):
        if not (folder / name).is_file():
            raise FileNotFoundError(_why_no_policy(folder, name))
    return folder


def _why_no_policy(folder: Path, missing: str) -> str:
    """What is wrong with a folder that lacks a policy's file, and what to do."""
    if folder.is_file():
        return f"{folder} is a file: name the folder that it lies in, {folder.parent}"
    if not folder.exists():
        nor = f", nor {RUNS / folder}" if str(folder) == folder.name else ""
        return f"there is no folder {folder}{nor}"
    if (folder / "config.json").is_file():  # what train.py writes first
        played = _newest_policies(folder / "checkpoints", 1)
        return (
            f"{folder} is a run that is not finished: it holds no {missing} yet; go on with it, "
            f"python train.py --resume {folder}"
            + "".join(f", or play its last checkpoint, {path}" for path in played)
        )
    inside = _newest_policies(folder, 2)
    if inside:
        return (
            f"{folder} holds policies in folders of their own: name one, like {' or '.join(inside)}"
        )
    return (
        f"{folder} holds no {missing}: a policy is a folder written by train.py, with "
        f"{DESCRIPTION_FILE} and {WEIGHTS_FILE}"
    )


def _newest_policies(folder: Path, num: int) -> list[str]:
    """The policy folders that lie in a folder, the newest first, ``num`` of them at most."""
    found = [(path.stat().st_mtime, str(path.parent)) for path in folder.glob("*/policy.json")]
    return [path for _, path in sorted(found, reverse=True)[:num]]


def load_policy(folder: str | Path) -> Policy:
    """Read a policy folder, checking all that the kernel will trust.

    Args:
        folder: holds ``policy.json`` and ``policy.safetensors``; a run folder does. See
            `policy_folder` for a name alone.

    Raises:
        FileNotFoundError: there is no policy; the message says what is there instead.
        ValueError: a file is damaged, or made for another version of this package.
    """
    folder = policy_folder(folder)
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

    for part in ("policy", "value"):
        if not _largest_output(layers(part)) < LARGEST_OUTPUT:
            raise ValueError(
                f"{folder / WEIGHTS_FILE}: the numbers of {part} are so large that its outputs may "
                f"exceed {LARGEST_OUTPUT:g}: no training ends so"
            )
    return Policy(
        layers=layers("policy"),
        value_layers=layers("value"),
        activation=told["activation"],
        suits=told["suits"],
        rules=told["rules"],
        training=told["training"],
    )


def _largest_output(layers: Sequence[tuple[npt.NDArray[np.float32], ...]]) -> float:
    """What no number in the network can exceed, whatever it is shown: float32 sums stay finite."""
    largest = OBSERVATION_HIGH.astype(np.float64)
    with np.errstate(over="ignore"):
        for weight, bias in layers:  # relu and tanh make no number larger
            largest = np.abs(weight) @ largest + np.abs(bias)
    return float(largest.max(initial=0)) if layers else 0.0


def _read_description(path: Path) -> dict[str, Any]:
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as problem:  # of text, of huge integers, of deep nesting
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
