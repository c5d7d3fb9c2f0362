"""A learner and its games as arrays and JSON values, and back, so that a run goes on bit by bit."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.sb3 import EuchreVecEnv
from agents.training.ppo import EuchrePPO

Arrays = dict[str, npt.NDArray[Any]]


def part(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Arrays:
    """The arrays whose names begin with ``prefix.``, without it."""
    start = f"{prefix}."
    return {
        name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)
    }


def named(prefix: str, arrays: Mapping[str, npt.NDArray[Any]]) -> Arrays:
    """The arrays with ``prefix.`` before their names."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


# --- the learner --------------------------------------------------------------------------------


def save_model(model: EuchrePPO) -> tuple[Arrays, dict[str, Any]]:
    """The learner between two updates: weights, optimiser, magnet, counters, where its games are.

    Returns:
        Arrays by name, and counters as JSON values.
    """
    arrays = named("network", _numbers(model.policy))
    for place, state in model.policy.optimizer.state_dict()["state"].items():
        arrays |= named(f"optimizer.{place}", {k: _array(v) for k, v in state.items()})
    if model.magnet is not None:
        arrays |= named("magnet", _numbers(model.magnet.actor))
    # what Stable-Baselines3 carries from one update to the next
    arrays["last_observations"] = np.asarray(model._last_obs)
    arrays["episode_starts"] = np.asarray(model._last_episode_starts)
    told = {
        "num_timesteps": model.num_timesteps,
        "n_updates": model._n_updates,
        "num_trained": model.num_trained,
        "seconds": dict(model.seconds),
    }
    return arrays, told


def restore_model(
    model: EuchrePPO, arrays: Mapping[str, npt.NDArray[Any]], told: Mapping[str, Any]
) -> None:
    """Be the learner that `save_model` saw; made with the same knobs.

    Raises:
        ValueError: it is of another network, or some of it is missing.
    """
    _fill(model.policy, part(arrays, "network"), "the network")
    if model.magnet is not None:
        _fill(model.magnet.actor, part(arrays, "magnet"), "the magnet")
    optimizer = model.policy.optimizer
    moments = {
        place: {k: torch.as_tensor(v) for k, v in part(arrays, f"optimizer.{place}").items()}
        for place in range(len(list(model.policy.parameters())))
    }
    moments = {place: state for place, state in moments.items() if state}
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
    try:
        model._last_obs = arrays["last_observations"].copy()
        model._last_episode_starts = arrays["episode_starts"].copy()
        model.num_timesteps = int(told["num_timesteps"])
        model._n_updates = int(told["n_updates"])
        model.num_trained = int(told["num_trained"])
        model.seconds = {name: float(told["seconds"][name]) for name in model.seconds}
    except (KeyError, TypeError) as problem:
        raise ValueError(f"the learner lacks {problem}") from problem


def _numbers(module: nn.Module) -> Arrays:
    return {name: _array(tensor) for name, tensor in module.state_dict().items()}


def _array(tensor: torch.Tensor) -> npt.NDArray[Any]:
    array: npt.NDArray[Any] = tensor.detach().cpu().numpy()
    return array


def _fill(module: nn.Module, arrays: Arrays, what: str) -> None:
    try:
        module.load_state_dict({name: torch.as_tensor(array) for name, array in arrays.items()})
    except RuntimeError as problem:
        raise ValueError(f"{what} is another one: {problem}") from problem


# --- the games ----------------------------------------------------------------------------------


def save_sums(games: EuchreVecEnv) -> Arrays:
    """What the games count beside the states of play, which have a file of their own."""
    state = games.get_state()
    return {name: state[name] for name in ("sums", "returns", "lengths")}


def restore_sums(games: EuchreVecEnv, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Count on from what `save_sums` gave, in games whose states of play are restored already.

    Raises:
        ValueError: it is of other games, or some of it is missing.
    """
    try:
        counted = {name: arrays[name] for name in ("sums", "returns", "lengths")}
        games.set_state({**games.env.get_state(), **counted})
    except KeyError as problem:
        raise ValueError(f"the games lack {problem}") from problem


def save_moment(model: EuchrePPO, games: EuchreVecEnv) -> dict[str, Any]:
    """All that playing changes, between two updates; `restore_moment` goes back there."""
    return {
        "last_observations": np.array(model._last_obs),
        "episode_starts": np.array(model._last_episode_starts),
        "num_timesteps": model.num_timesteps,
        "games": games.get_state(),
        "streams": save_streams(str(model.device)),
    }


def restore_moment(model: EuchrePPO, games: EuchreVecEnv, kept: Mapping[str, Any]) -> None:
    """Undo what was played since; what was learnt is as it was, since nobody learns meanwhile."""
    model._last_obs = kept["last_observations"]
    model._last_episode_starts = kept["episode_starts"]
    model.num_timesteps = kept["num_timesteps"]
    games.set_state(kept["games"])
    restore_streams(str(model.device), *kept["streams"])


# --- random streams -----------------------------------------------------------------------------


def save_streams(device: str) -> tuple[Arrays, dict[str, Any]]:
    """Torch's and NumPy's global random streams, which Stable-Baselines3 draws from."""
    name, keys, place, has_gauss, gauss = np.random.get_state(legacy=True)  # noqa: NPY002
    arrays = {"torch": _array(torch.get_rng_state()), "numpy": np.asarray(keys)}
    if torch.device(device).type == "cuda":
        arrays["cuda"] = _array(torch.cuda.get_rng_state(device))
    return arrays, {"name": name, "place": place, "has_gauss": has_gauss, "gauss": gauss}


def restore_streams(
    device: str, arrays: Mapping[str, npt.NDArray[Any]], told: Mapping[str, Any]
) -> None:
    """Draw on from what `save_streams` gave.

    Raises:
        ValueError: some of it is missing, or it is no random stream.
    """
    try:
        torch.set_rng_state(torch.as_tensor(arrays["torch"]))
        if torch.device(device).type == "cuda" and "cuda" in arrays:
            torch.cuda.set_rng_state(torch.as_tensor(arrays["cuda"]), device)
        np.random.set_state(  # noqa: NPY002
            (told["name"], arrays["numpy"], told["place"], told["has_gauss"], told["gauss"])
        )
    except (KeyError, TypeError, RuntimeError) as problem:
        raise ValueError(f"the random streams are damaged: {problem}") from problem
