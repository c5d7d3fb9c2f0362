"""The vector environment as Stable-Baselines3 wants it, with the masks sb3-contrib asks for.

Stable-Baselines3 has vector environments of its own and takes no ``gymnasium.vector.VectorEnv``.
`EuchreVecEnv` stands between: one compiled call steps all games, and the little that
Stable-Baselines3 wants for each single game (a list of dictionaries, filled where an episode
ended) is all the Python there is.

    from agents.sb3 import EuchreVecEnv
    from sb3_contrib import MaskablePPO

    games = EuchreVecEnv(1024, opponent="novice", episode="deal", suits="relative")
    MaskablePPO("MlpPolicy", games).learn(1_000_000)

No ``Monitor`` or ``VecMonitor`` is needed: each episode's end carries their ``info["episode"]``.
"""

import inspect
import time
from collections.abc import Sequence
from typing import Any, Final, get_args

import gymnasium
import numpy as np
import numpy.typing as npt
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from euchre_env import EuchreVectorEnv
from euchre_env.actions import NUM_ACTIONS
from euchre_env.observation import ABSOLUTE_ACTIONS, encode, frame_of
from euchre_env.state import States
from euchre_env.tables import Suits, choice

_HOW = (
    "make one with agents.sb3.EuchreVecEnv(num_envs, opponent='novice', ...), which takes "
    "EuchreVectorEnv's options"
)


SUMS_DTYPE: Final = np.dtype(
    [("episodes", np.float64), ("reward", np.float64), ("squares", np.float64), ("won", np.float64)]
)
"""Episodes, sum of their rewards, of the rewards' squares, and how many had a reward above 0."""


class EuchreVecEnv(VecEnv):
    """Many games as one Stable-Baselines3 ``VecEnv``.

    Attributes:
        env: the `EuchreVectorEnv` underneath; it starts the next episode in the same step.
        by_opponent: what the episodes that have ended sum to, a record for each opponent (one in
            self-play), dtype `SUMS_DTYPE`: since this object was made, or ``set_opponents``.
    """

    def __init__(self, games: int | EuchreVectorEnv, **options: Any) -> None:
        """Make the games, or take games already made.

        Args:
            games: how many, or an `EuchreVectorEnv` with ``autoreset_mode="SameStep"``.
            **options: for games made here, `EuchreVectorEnv`'s: ``rules``, ``opponent``,
                ``episode``, ``reward``, ``seat``, ``suits``, ``illegal``, ...

        Raises:
            TypeError: ``games`` is something else, or options come with games already made.
            ValueError: the games start their next episode at another time.
        """
        if isinstance(games, int | np.integer):
            options = {"copy": False, **options, "autoreset_mode": "SameStep"}
            games = EuchreVectorEnv(int(games), **options)
        elif not isinstance(games, EuchreVectorEnv):
            raise TypeError(f"{_kind(games)} does not fit Stable-Baselines3 here: {_HOW}")
        elif options:
            raise TypeError(f"options {sorted(options)} belong to the EuchreVectorEnv given")
        mode = games.metadata.get("autoreset_mode")
        if mode is not gymnasium.vector.AutoresetMode.SAME_STEP:
            raise ValueError(
                f"autoreset_mode={getattr(mode, 'value', mode)!r}: Stable-Baselines3 expects the "
                f"next episode to start in the same step; {_HOW}"
            )
        self.env = games
        self._count_anew()
        num = games.num_envs
        self._masks = np.zeros((num, NUM_ACTIONS), dtype=np.bool_)
        self._actions = np.zeros(num, dtype=np.int64)
        self._returns = np.zeros(num)
        self._lengths = np.zeros(num, dtype=np.int64)
        self._blank_infos: list[dict[str, Any]] = [{} for _ in range(num)]
        self._start = time.monotonic()
        super().__init__(num, games.single_observation_space, games.single_action_space)
        # VecVideoRecorder asks for it
        self.metadata = {**self.metadata, "render_fps": games.metadata["render_fps"]}

    def _count_anew(self) -> None:
        opponents = self.env.opponents
        self.by_opponent = np.zeros(1 if opponents is None else len(opponents), dtype=SUMS_DTYPE)

    @property
    def num_episodes(self) -> int:
        """Episodes that have ended, against whomever."""
        return int(self.by_opponent["episodes"].sum())

    @property
    def total_reward(self) -> float:
        """What the learner's rewards of these episodes sum to."""
        return float(self.by_opponent["reward"].sum())

    @property
    def total_squares(self) -> float:
        """What the squares of the episodes' rewards sum to."""
        return float(self.by_opponent["squares"].sum())

    def set_opponents(self, opponent: Any) -> None:
        """Play against others from now on (see `EuchreVectorEnv.set_opponents`)."""
        self.env.set_opponents(opponent)
        self._count_anew()

    def reset(self) -> npt.NDArray[np.uint8]:
        """Start all games anew, seeded when ``seed`` was called since the last reset.

        Returns:
            Observations: uint8, shape (n, observation size).
        """
        observations, infos = self.env.reset(seed=self._seeds[0])  # game i then has seed + i
        self._reset_seeds()
        self._reset_options()
        self._returns[:] = 0
        self._lengths[:] = 0
        self._masks[:] = infos["action_mask"]
        return np.array(observations)

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Keep the acts (shape (n,)) for `step_wait`."""
        self._actions = np.asarray(actions, dtype=np.int64).reshape(self.num_envs)

    def step_wait(self) -> VecEnvStepReturn:
        """Step all games.

        Returns:
            Observations (uint8, shape (n, observation size)), rewards (float32, shape (n,)), ends
            (bool, shape (n,)) and n dictionaries, empty but where an episode ended: those hold
            ``terminal_observation``, ``TimeLimit.truncated``, ``opponent`` (index) and
            ``episode`` with ``r`` (reward), ``l`` (steps) and ``t`` (seconds). The observation of
            an ended episode's row is the next one's first.
        """
        observations, rewards, terminations, truncations, infos = self.env.step(self._actions)
        ends = np.logical_or(terminations, truncations)
        self._masks[:] = infos["action_mask"]
        self._returns += rewards
        self._lengths += 1
        sb3_infos = self._blank_infos.copy()
        ended = np.flatnonzero(ends)
        if len(ended):
            self._describe_ends(ended, truncations & ~terminations, infos, sb3_infos)
        # copies: Stable-Baselines3 looks at the last observations after the next step
        return np.array(observations), np.array(rewards, dtype=np.float32), ends, sb3_infos

    def _describe_ends(
        self,
        ended: npt.NDArray[np.intp],
        is_cut_short: npt.NDArray[np.bool_],
        infos: dict[str, Any],
        sb3_infos: list[dict[str, Any]],
    ) -> None:
        """Fill the dictionaries of the games that ended and start their sums anew."""
        last_observations = infos["final_obs"][ended]  # a copy, rows in the order of `ended`
        opponents = infos["final_info"]["opponent"][ended]
        seconds = round(time.monotonic() - self._start, 6)
        ends = zip(
            ended.tolist(),
            last_observations,
            self._returns[ended].tolist(),
            self._lengths[ended].tolist(),
            is_cut_short[ended].tolist(),
            opponents.tolist(),
            strict=True,
        )
        for i, observation, points, length, is_cut, opponent in ends:
            sb3_infos[i] = {
                "terminal_observation": observation,
                "TimeLimit.truncated": is_cut,
                "opponent": opponent,
                "episode": {"r": points, "l": length, "t": seconds},
            }
        self._add_up(np.maximum(opponents, 0), self._returns[ended])
        self._returns[ended] = 0
        self._lengths[ended] = 0

    def _add_up(self, opponents: npt.NDArray[np.int16], rewards: npt.NDArray[np.float64]) -> None:
        """Count episodes that ended, by opponent."""
        num = len(self.by_opponent)
        for name, weights in (
            ("episodes", np.ones(len(rewards))),
            ("reward", rewards),
            ("squares", np.square(rewards)),
            ("won", rewards > 0),
        ):
            self.by_opponent[name] += np.bincount(opponents, weights, minlength=num)

    def get_state(self) -> dict[str, Any]:
        """All that changes, for `set_state`: that of ``env``, and the sums of episodes."""
        sums = np.stack([self.by_opponent[name] for name in SUMS_DTYPE.names or ()], axis=1)
        return {
            **self.env.get_state(),
            "sums": sums,
            "returns": self._returns.copy(),
            "lengths": self._lengths.copy(),
        }

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to what `get_state` gave, of games with the same options and opponents.

        Raises:
            ValueError: it is of another number of games or opponents, or of other rules.
        """
        of_games, of_sums = (self.num_envs,), (len(self.by_opponent), len(SUMS_DTYPE.names or ()))
        for name, shape in (("returns", of_games), ("lengths", of_games), ("sums", of_sums)):
            if state[name].shape != shape:
                raise ValueError(f"{name} has the shape {state[name].shape}, not {shape}")
        self.env.set_state({name: state[name] for name in ("states", "tables")})
        for k, name in enumerate(SUMS_DTYPE.names or ()):
            self.by_opponent[name] = state["sums"][:, k]
        self._returns[:] = state["returns"]
        self._lengths[:] = state["lengths"]
        self._masks[:] = self.env.action_masks()

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal acts of all games: bool, shape (n, 42), valid until the next step."""
        return self._masks

    def close(self) -> None:
        """Close the games."""
        self.env.close()

    def has_attr(self, attr_name: str) -> bool:
        """Whether the games have an attribute; they have ``action_masks``."""
        return attr_name == "action_masks" or hasattr(self.env, attr_name)

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute, which all games share, once for every game asked for."""
        return [getattr(self.env, attr_name)] * self._count(indices)

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of all games: ``copy``, the one that can be set while they are played.

        Raises:
            AttributeError: it is another one; the message says how it is changed.
            ValueError: only some games are meant.
        """
        if attr_name in ("opponent", "opponents"):
            raise AttributeError(
                f"{attr_name} cannot be set: change whom the games play against with "
                "set_opponents(...) of the EuchreVecEnv, between two steps"
            )
        if attr_name != "copy":
            raise AttributeError(
                f"{attr_name} cannot be set on games that there are: make new ones, as in "
                f"EuchreVecEnv(num_envs, {attr_name}=...), if it is an option"
            )
        if self._count(indices) != self.num_envs:
            raise ValueError(f"{attr_name} belongs to all games: set it without indices")
        self.env.copy = value

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> Any:
        """``action_masks``, the one method that single games have here.

        Returns:
            bool, shape (n, 42), or the rows asked for: a sequence of one mask a game.

        Raises:
            AttributeError: another method is asked for.
        """
        if method_name != "action_masks":
            raise AttributeError(
                f"the games have no method {method_name!r} of their own: they are rows of one "
                "EuchreVectorEnv, reached as .env"
            )
        return self._masks if indices is None else self._masks[self._rows(indices)]

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: VecEnvIndices = None,
    ) -> list[bool]:
        """Whether the games act as if wrapped: as by ``Monitor``, whose statistics they give."""
        return [issubclass(Monitor, wrapper_class)] * self._count(indices)

    def _rows(self, indices: VecEnvIndices) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        return [indices] if isinstance(indices, int) else list(indices)

    def _count(self, indices: VecEnvIndices) -> int:
        return len(self._rows(indices))

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """Every table as its learner's seat sees it.

        Returns:
            n pictures, uint8 of shape (448, 640, 3); n times None where the games were not made
            with ``render_mode="rgb_array"``.
        """
        if self.render_mode != "rgb_array":
            return [None] * self.num_envs
        return list(self.env.render() or ())

    def render(self, mode: str | None = None) -> Any:
        """All tables at once.

        Args:
            mode: None for the games' own ``render_mode``; ``"human"`` shows the pictures of
                ``"rgb_array"`` in a window of OpenCV's, as in Stable-Baselines3.

        Returns:
            One picture with all tables, uint8 of shape (height, width, 3) (``"rgb_array"``), or a
            text for each game, a tuple (``"ansi"``); None otherwise.

        Raises:
            ImportError: ``mode="human"`` without OpenCV.
        """
        if self.render_mode == "ansi" and mode in (None, "ansi"):
            return self.env.render()
        try:
            return super().render(mode)
        except ModuleNotFoundError as problem:
            if problem.name != "cv2":
                raise
            raise ImportError(
                'render("human") shows pictures with OpenCV: pip install opencv-python'
            ) from problem


class ModelAgent:
    """A model of sb3-contrib or Stable-Baselines3 as an agent: opponent, or player of a match.

    A model that looks at masks (``MaskablePPO``) is given them; another one's act is taken where it
    is legal, and else the first legal act is done.
    """

    def __init__(self, model: Any, suits: Suits, name: str = "model") -> None:
        """Take a model that learned from `EuchreVecEnv`.

        Args:
            model: has ``predict(observations, deterministic=True)``.
            suits: as in the games that it learned from. There is no default: a model that is
                shown suits otherwise than it learned them plays badly without a word.
            name: what tables call it.

        Raises:
            ValueError: ``suits`` is neither ``"absolute"`` nor ``"relative"``.
        """
        choice("suits", suits, get_args(Suits))
        self.model = model
        self.suits = suits
        self.name = name
        parameters = inspect.signature(model.predict).parameters
        self._takes_masks = "action_masks" in parameters

    def act(
        self,
        views: States,
        action_masks: npt.NDArray[np.int8],
        rng: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.int64]:
        """The model's likeliest legal acts (see ``agents.Agent.act``)."""
        is_relative = self.suits == "relative"
        frames = [frame_of(views[i], is_relative) for i in range(len(views))]
        absolute = ABSOLUTE_ACTIONS[frames]
        masks = np.take_along_axis(action_masks, absolute, axis=1)
        given = {"action_masks": masks} if self._takes_masks else {}
        seen = encode(views, relative=is_relative)
        chosen, _ = self.model.predict(seen, deterministic=True, **given)
        rows = np.arange(len(views))
        legal = np.where(masks[rows, chosen] == 1, chosen, masks.argmax(axis=1))
        actions: npt.NDArray[np.int64] = absolute[rows, legal]
        return actions


def _kind(games: object) -> str:
    """What a user handed over, in words."""
    name = type(games).__name__
    if isinstance(games, gymnasium.vector.VectorEnv):
        return f"a gymnasium.vector.VectorEnv ({name})"
    if isinstance(games, gymnasium.Env):
        return f"a single gymnasium.Env ({name})"
    return f"a {name}"
