"""The door for n games at once: a native `gymnasium.vector.VectorEnv`, no Python loop over games.

Row i seeded with s is the single environment seeded with s + i, act for act.
"""

from collections.abc import Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from euchre_env.actions import NUM_ACTIONS
from euchre_env.drawing import show
from euchre_env.env import (
    EuchreEnv,
    check_render_mode,
    checked_options,
    observation_space,
    refusal,
)
from euchre_env.observation import observe
from euchre_env.opponents import Opponents
from euchre_env.rendering import table_text
from euchre_env.rules import Rules
from euchre_env.state import States
from euchre_env.stepping import AUTORESET_MODES
from euchre_env.tables import (
    Episode,
    Illegal,
    Reward,
    Seat,
    Suits,
    Tables,
    set_position,
)

Bools = npt.NDArray[np.bool_]


class EuchreVectorEnv(
    VectorEnv[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.float64]]
):
    """n games of two-handed Euchre, stepped together in compiled code.

    ``gymnasium.make_vec("euchre_env/Euchre-v0", num_envs=n)`` makes one. The options are those
    of `EuchreEnv`, and:

    Args:
        num_envs: how many games.
        autoreset_mode: ``"NextStep"`` (the step after an episode's last resets it; its action is
            not looked at), ``"SameStep"`` (the last step resets; what the episode ended with is
            in ``infos["final_obs"]`` and ``infos["final_info"]``) or ``"Disabled"`` (reset with
            ``options={"reset_mask": ...}``). Declared in ``metadata["autoreset_mode"]``.
        copy: return fresh arrays at every step. With False, the arrays are the environment's
            own and are overwritten by the next step; faster.

    Attributes:
        views: what each learner sees, shape (n,): for agents and drawing.
    """

    metadata: dict[str, Any]

    def __init__(
        self,
        num_envs: int = 1,
        *,
        rules: Rules | str | None = None,
        opponent: Any = "novice",
        episode: Episode = "game",
        reward: Reward = "points",
        seat: Seat = "random",
        suits: Suits = "absolute",
        render_mode: Literal["ansi", "rgb_array"] | None = None,
        max_deals: int | None = None,
        illegal: Illegal = "raise",
        skip_forced: bool = False,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        copy: bool = True,
    ) -> None:
        if isinstance(num_envs, bool) or not isinstance(num_envs, int | np.integer) or num_envs < 1:
            raise ValueError(f"num_envs={num_envs!r}: it is a whole number of games, 1 or more")
        self.metadata = {**EuchreEnv.metadata, "render_modes": ["ansi", "rgb_array"]}
        check_render_mode(render_mode, self.metadata)
        mode = str(getattr(autoreset_mode, "value", autoreset_mode))
        self._tables = Tables(
            num_envs,
            rules=rules,
            opponent=opponent,
            episode=episode,
            reward=reward,
            seat=seat,
            suits=suits,
            max_deals=max_deals,
            illegal=illegal,
            skip_forced=skip_forced,
            autoreset=mode,
        )
        self.num_envs = num_envs
        self.copy = copy
        self.render_mode = render_mode
        self.metadata["autoreset_mode"] = AutoresetMode(mode)
        self._is_same_step = mode == AUTORESET_MODES[1]
        self._is_disabled = mode == AUTORESET_MODES[2]
        self.single_observation_space = observation_space()
        self.single_action_space = spaces.Discrete(NUM_ACTIONS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._everyone = np.ones(num_envs, dtype=np.bool_)

    @property
    def rules(self) -> Rules:
        """The options of the game."""
        return self._tables.rules

    @property
    def views(self) -> States:
        """What the seat of each observation knows: shape (n,), overwritten at every step."""
        return self._tables.views

    @property
    def opponents(self) -> Opponents | None:
        """Whom the learner plays, in the order of ``infos["opponent"]``; None in self-play."""
        return self._tables.opponents

    @property
    def asked_seconds(self) -> npt.NDArray[np.float64]:
        """How long each opponent took to answer since it sits here; 0 for compiled ones.

        float64, shape (opponents,): since the environment was made, or ``set_opponents``.
        """
        return self._tables.asked_seconds.copy()

    @property
    def asked_views(self) -> npt.NDArray[np.int64]:
        """How many views each opponent has answered in that time: int64, shape (opponents,)."""
        return self._tables.asked_views.copy()

    def set_opponents(self, opponent: Any) -> None:
        """Play against others from now on.

        An episode under way keeps its opponent where that agent, the same object, is among the
        new ones, with whatever weight; otherwise one of the new ones, drawn by weight from the
        game's random stream, takes over. Indices in ``infos["opponent"]`` are then new ones.

        Args:
            opponent: as the option of the environment, but for None.

        Raises:
            ValueError: self-play, no such agent, or a weight that is none; nothing has changed.
            TypeError: something is neither a name nor an agent; nothing has changed.
        """
        self._tables.set_opponents(opponent)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[npt.NDArray[np.uint8], dict[str, Any]]:
        """Begin an episode in every game, or in those of a mask.

        Args:
            seed: row i is seeded with ``seed + i``, or with ``seed[i]``; None goes on with the
                random streams (fresh ones at first).
            options: those of `EuchreEnv.reset`, one value for all games or a list with one a
                game; and ``reset_mask``: bool, shape (n,), the games to reset.

        Returns:
            Observations, uint8 of shape (n, OBSERVATION_SIZE), and infos.

        Raises:
            ValueError: an option means nothing, or a seed is none.
        """
        rest = dict(options or {})
        rows = self._rows_to_reset(rest.pop("reset_mask", None))
        given = self._options_by_row(checked_options(rest), rows)
        tables = self._tables
        tables.columns["has_ended"][:] = False
        if given is None:
            self._seed(seed, rows)
            tables.reset(rows)
        else:
            with tables.unchanged_if_refused():
                self._seed(seed, rows)
                for row, one in zip(rows, given, strict=True):
                    tables.reset_to(int(row), set_position(tables.states[row : row + 1], **one))
        return self._own(tables.observations), self._infos()

    def step(  # type: ignore[override]
        self, actions: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float64], Bools, Bools, dict[str, Any]]:
        """Do an act in every game.

        Args:
            actions: whole numbers, shape (n,), each legal by ``infos["action_mask"]``.

        Returns:
            Observations, rewards (float64), terminations, truncations (bool), each of n rows, and
            infos.

        Raises:
            gymnasium.error.InvalidAction: an act is not legal; nothing has changed in any game.
            gymnasium.error.ResetNeeded: before ``reset``, or a game is over and autoreset is off.
            ValueError: ``actions`` has another shape or is not of whole numbers.
        """
        tables = self._tables
        if not tables.is_begun.all():
            raise ResetNeeded("call reset() first: no episode is under way")
        acts = np.asarray(actions)
        if acts.shape != (self.num_envs,) or not np.issubdtype(acts.dtype, np.integer):
            raise ValueError(
                f"actions have shape {acts.shape} and dtype {acts.dtype}: "
                f"whole numbers of shape ({self.num_envs},) are wanted"
            )
        if self._is_disabled and tables.columns["is_pending"].any():
            over = np.flatnonzero(tables.columns["is_pending"])
            raise ResetNeeded(
                f"the episode is over in row {over[0]}: reset it with "
                'options={"reset_mask": ...} (autoreset is disabled)'
            )
        refused = tables.step(np.ascontiguousarray(acts, dtype=np.int64))
        if refused >= 0:
            error = refusal(tables, refused, acts[refused])
            raise type(error)(f"row {refused}: {error}")
        rows = tables.columns
        return (
            self._own(tables.observations),
            self._own(rows["reward"]),
            self._own(rows["terminated"]),
            self._own(rows["truncated"]),
            self._infos(),
        )

    def action_masks(self) -> Bools:
        """The legal acts: bool, shape (n, 42)."""
        if not self._tables.is_begun.all():
            raise ResetNeeded("call reset() first: no episode is under way")
        return self._tables.masks == 1

    def render(self) -> tuple[Any, ...] | None:
        """Every table as its learner's seat sees it.

        Returns:
            For each game text (``"ansi"``) or pixels, uint8 of shape (448, 640, 3)
            (``"rgb_array"``); None without a render mode.
        """
        if not self._tables.is_begun.all():
            raise ResetNeeded("call reset() first: no episode is under way")
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render() draws nothing: make it with render_mode="ansi" or "rgb_array"'
            )
            return None
        views = self._tables.views
        if self.render_mode == "ansi":
            return tuple(table_text(views[row]) for row in range(self.num_envs))
        return tuple(show(views[row]).to_rgb() for row in range(self.num_envs))

    def other_observations(self, out: npt.NDArray[np.uint8] | None = None) -> npt.NDArray[np.uint8]:
        """What the seats that the learner does not sit on know, suits named as in its own.

        For a critic that may see more than the player whose acts it judges, while it learns: with
        both observations no card in play is hidden. No agent is ever shown this.

        Args:
            out: uint8, shape (n, OBSERVATION_SIZE), to write into.

        Returns:
            uint8, shape (n, OBSERVATION_SIZE).
        """
        tables = self._tables
        if not tables.is_begun.all():
            raise ResetNeeded("call reset() first: no episode is under way")
        seats = 1 - tables.columns["seat"].astype(np.int64)
        return observe(tables.states, seats, relative=tables.settings.is_relative, out=out)

    def get_state(self) -> dict[str, Any]:
        """All of the environment that changes, for `set_state`: the games, their random streams."""
        if not self._tables.is_begun.all():
            raise ResetNeeded("call reset() first: no episode is under way")
        return {"states": self._tables.states.copy(), "tables": self._tables.tables.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to what `get_state` gave, of this environment or of one with the same options.

        `action_masks`, `views` and the next `step` are those of that moment.

        Raises:
            ValueError: it is of another number of games, or of games under other rules.
        """
        self._tables.restore(state["states"], state["tables"])

    def _own(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return array.copy() if self.copy else array

    def _rows_to_reset(self, mask: Any) -> npt.NDArray[np.int64]:
        if mask is None:
            return np.arange(self.num_envs)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise ValueError("reset_mask is a bool array, True for each game to reset")
        if mask.shape != (self.num_envs,) or not mask.any():
            raise ValueError(
                f"reset_mask has shape {mask.shape} and {int(mask.sum())} games: shape "
                f"({self.num_envs},) and at least one game are wanted"
            )
        return np.flatnonzero(mask)

    def _options_by_row(
        self, given: dict[str, Any], rows: npt.NDArray[np.int64]
    ) -> list[dict[str, Any]] | None:
        if not given:
            return None
        per_game = {}
        for name, value in given.items():
            is_list = isinstance(value, list) and len(value) == self.num_envs
            if is_list and name in ("deal", "scores"):  # one value, where it holds bare numbers
                is_list = not any(isinstance(part, int | np.integer) for part in value)
            per_game[name] = value if is_list else [value] * self.num_envs
        return [{name: values[row] for name, values in per_game.items()} for row in rows]

    def _seed(self, seed: int | Sequence[int | None] | None, rows: npt.NDArray[np.int64]) -> None:
        tables = self._tables
        if seed is None:
            seeds: list[int | None] = [None] * self.num_envs
        elif isinstance(seed, int | np.integer):
            seeds = [int(seed) + i for i in range(self.num_envs)]
            super().reset(seed=int(seed))
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} games: one a game is wanted")
        for row in rows:
            if seeds[row] is None and not tables.is_seeded[row]:
                seeds[row] = int(self.np_random.integers(2**63))
        chosen = [int(row) for row in rows if seeds[row] is not None]
        if chosen:
            tables.seed(
                np.array(chosen, dtype=np.int64),
                [seed for row in chosen if (seed := seeds[row]) is not None],
            )

    def _infos(self) -> dict[str, Any]:
        """The infos of all games; ``_name`` says in which rows ``name`` means something."""
        tables = self._tables
        rows, seen = tables.columns, tables.seen
        infos: dict[str, Any] = {
            "action_mask": self._own(tables.masks),
            "to_act": self._own(seen["to_act"]),
            "seat": self._own(rows["seat"]),
            "scores": self._own(seen["scores"]),
            "winner": self._own(seen["winner"]),
            "opponent": self._own(rows["opponent"]),
        }
        for name in tuple(infos):
            infos[f"_{name}"] = self._own(self._everyone)
        ended = self._own(rows["has_ended"])
        if ended.any():
            if self._is_same_step:
                infos["final_obs"] = self._own(tables.final_observations)
                infos["_final_obs"] = infos["_final_info"] = ended
                infos["final_info"] = self._final_info(ended)
            else:
                infos["reward"], infos["_reward"] = self._own(rows["final_reward"]), ended
        return infos

    def _final_info(self, ended: Bools) -> dict[str, Any]:
        """What the episodes ended with that a same-step reset has followed."""
        rows = self._tables.columns
        final: dict[str, Any] = {
            "action_mask": np.zeros((self.num_envs, NUM_ACTIONS), dtype=np.int8),
            "to_act": self._own(rows["final_to_act"]),
            "seat": self._own(rows["final_seat"]),
            "scores": self._own(rows["final_scores"]),
            "winner": self._own(rows["final_winner"]),
            "opponent": self._own(rows["final_opponent"]),
            "reward": self._own(rows["final_reward"]),
        }
        return {**final, **{f"_{name}": ended for name in final}}
