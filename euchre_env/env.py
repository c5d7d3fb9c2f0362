"""The door for one game: a `gymnasium.Env` on which one agent learns to play two-handed Euchre."""

import contextlib
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded

from euchre_env.actions import NUM_ACTIONS
from euchre_env.drawing import show
from euchre_env.explain import why_illegal
from euchre_env.notation import format_position
from euchre_env.observation import ABSOLUTE_ACTIONS, OBSERVATION_HIGH, frame_of
from euchre_env.opponents import Opponents
from euchre_env.rendering import table_text
from euchre_env.rules import Rules
from euchre_env.tables import (
    Episode,
    Illegal,
    Reward,
    Seat,
    Suits,
    Tables,
    set_position,
)
from euchre_env.window import WINDOW_WIDTH, Window

_ROW = np.zeros(1, dtype=np.int64)
RESET_OPTIONS = ("deal", "dealer", "scores", "position")


def observation_space(seed: int | None = None) -> spaces.Box:
    """The observation space of one environment: uint8, shape (OBSERVATION_SIZE,)."""
    return spaces.Box(
        low=np.zeros_like(OBSERVATION_HIGH), high=OBSERVATION_HIGH, dtype=np.uint8, seed=seed
    )


class RenderModeError(ValueError, TypeError):
    """A way of drawing that there is not.

    A TypeError too, because ``stable_baselines3.common.env_util.make_vec_env`` asks for
    ``rgb_array`` first and goes on without it only after one.
    """


def check_render_mode(render_mode: str | None, metadata: dict[str, Any]) -> None:
    """Refuse a way of drawing that there is not.

    Raises:
        RenderModeError: it is neither None nor one of ``metadata["render_modes"]``.
    """
    known = metadata["render_modes"]
    if render_mode is not None and render_mode not in known:
        raise RenderModeError(f"render_mode={render_mode!r}: it is None or one of {known}")


def refusal(tables: Tables, row: int, action: Any) -> InvalidAction:
    """The error for an act that is refused, in the game's words, with the position."""
    view = tables.views[row]
    absolute = action
    if isinstance(action, int | np.integer) and 0 <= action < NUM_ACTIONS:
        frame = frame_of(view, bool(tables.settings.is_relative))
        absolute = int(ABSOLUTE_ACTIONS[frame, int(action)])
    return InvalidAction(f"{why_illegal(view, absolute)} (position: {format_position(view)})")


def news_of(before: np.record, now: np.record) -> str:
    """What the deals that ended between two views came to, in a short line; or nothing.

    A step plays on to the next deal at once, so that no view shows the end of a deal but the last.
    """
    if now.deal_number == before.deal_number or now.deal_number <= 1:
        return ""
    gained = [int(now.scores[seat]) - int(before.scores[seat]) for seat in (0, 1)]
    told = [f"{points} to seat {seat}" for seat, points in enumerate(gained) if points]
    return f"the deal before: {' and '.join(told) or 'thrown in'}"


def checked_options(options: dict[str, Any] | None) -> dict[str, Any]:
    """The options of ``reset`` that set up a position.

    Raises:
        ValueError: an option that there is not.
    """
    given = dict(options or {})
    unknown = sorted(set(given) - set(RESET_OPTIONS))
    if unknown:
        raise ValueError(f"reset knows no option {unknown[0]!r}: it takes {RESET_OPTIONS}")
    return {name: value for name, value in given.items() if value is not None}


class EuchreEnv(gymnasium.Env[npt.NDArray[np.uint8], np.int64]):
    """Two-handed Euchre for one agent; the opponent is part of the environment.

    ``gymnasium.make("euchre_env/Euchre-v0")`` makes one. Every act is one of 42
    (``actions.ACTION_NAMES``); which are legal stands in ``info["action_mask"]``. The observation
    is the flat vector of ``observation.OBSERVATION_FIELDS``.

    Args:
        rules: the options of the game, a `Rules` or a text like ``"british,target_score=5"``; the
            24-card game when None.
        opponent: an agent, or the name of one that an installed package registers. Several, as
            ``{"novice": 0.7, "random": 0.3}`` or as a list of agents, names and pairs ``(agent,
            weight)``: one of them is drawn for each episode, from the game's random stream, and
            ``info["opponent"]`` is its index. None for self-play: the caller acts for whoever is
            to act (``info["to_act"]``), observation and reward are those of the seat that acts.
        episode: ``"game"``, to the target score, or ``"deal"``, one deal from 0-0.
        reward: ``"points"``, points won minus points lost as deals are scored, or ``"win"``, +1
            or -1 at the end of the game (of the deal: for who scored in it).
        seat: the learner's seat, drawn for each episode by default; without effect in self-play.
        suits: ``"absolute"``, or ``"relative"``: suits named from the upcard, in observation,
            mask and acts alike.
        render_mode: what ``render()`` gives: ``"ansi"`` text, ``"rgb_array"`` the drawn table as
            pixels; ``"human"`` shows the table in a window at every reset and step.
        max_deals: truncate a game after so many deals.
        illegal: what an illegal act does: ``"raise"`` (and change nothing), ``"penalise"``
            (reward -1, nothing else changes), or ``"end"`` the episode with reward -1.
        skip_forced: do for the learner what it must: it is asked only where two acts or more are
            legal. Fewer steps a deal, each a choice; by default every act is a step.

    Raises:
        ValueError: an option has a value that it does not take.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as Gymnasium declares it
        "render_modes": ["ansi", "rgb_array", "human"],
        "render_fps": 2,
    }

    def __init__(
        self,
        *,
        rules: Rules | str | None = None,
        opponent: Any = "novice",
        episode: Episode = "game",
        reward: Reward = "points",
        seat: Seat = "random",
        suits: Suits = "absolute",
        render_mode: Literal["ansi", "rgb_array", "human"] | None = None,
        max_deals: int | None = None,
        illegal: Illegal = "raise",
        skip_forced: bool = False,
    ) -> None:
        check_render_mode(render_mode, self.metadata)
        self.render_mode = render_mode
        self.observation_space: spaces.Space[Any] = observation_space()
        self.action_space = spaces.Discrete(NUM_ACTIONS)
        self._tables = Tables(
            1,
            rules=rules,
            opponent=opponent,
            episode=episode,
            reward=reward,
            seat=seat,
            suits=suits,
            max_deals=max_deals,
            illegal=illegal,
            skip_forced=skip_forced,
        )
        self._action = np.zeros(1, dtype=np.int64)
        self._window = Window()
        self._note = ""

    @property
    def rules(self) -> Rules:
        """The options of the game."""
        return self._tables.rules

    @property
    def view(self) -> np.record:
        """What the seat to which the observation belongs knows: one row, a copy."""
        self._check_begun()
        row: np.record = self._tables.views[0].copy()
        return row

    @property
    def opponents(self) -> Opponents | None:
        """Whom the learner plays, in the order of ``info["opponent"]``; None in self-play."""
        return self._tables.opponents

    def set_opponents(self, opponent: Any) -> None:
        """Play against others from now on (see `EuchreVectorEnv.set_opponents`)."""
        self._tables.set_opponents(opponent)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[npt.NDArray[np.uint8], dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: a whole number, 0 or above, that fixes all deals to come and the opponent's
                acts. None goes on with the random stream (a fresh one at first).
            options: what is not drawn: ``deal`` (text ``nondealer/dealer/upcard`` or card
                numbers), ``dealer`` (seat), ``scores`` (of seats 0 and 1), or ``position`` (one
                line of text, see ``docs/notation.md``).

        Returns:
            The observation and ``info``.

        Raises:
            ValueError: an option means nothing; nothing has changed then.
        """
        given = checked_options(options)
        super().reset(seed=seed)
        tables = self._tables
        with tables.unchanged_if_refused() if given else contextlib.nullcontext():
            if seed is not None:
                tables.seed(_ROW, [seed])
            elif not tables.is_seeded[0]:
                tables.seed(_ROW, [int(self.np_random.integers(2**63))])
            if given:
                tables.reset_to(0, set_position(tables.states[:1], **given))
            else:
                tables.reset(_ROW)
        self._note = ""
        if self.render_mode == "human":
            self.render()
        return self._tables.observations[0].copy(), self._info(False)

    def step(
        self, action: np.int64 | int
    ) -> tuple[npt.NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Do an act, then what the opponent answers, up to the learner's next act.

        Args:
            action: 0..41, legal by ``info["action_mask"]``.

        Returns:
            Observation, reward (points), terminated, truncated, info.

        Raises:
            gymnasium.error.InvalidAction: the act is not legal; nothing has changed.
            gymnasium.error.ResetNeeded: before ``reset``, or after the end of the episode.
        """
        tables = self._tables
        self._check_begun()
        if tables.columns["is_pending"][0]:
            raise ResetNeeded("the episode is over: call reset() to begin the next")
        before = tables.views[0].copy() if self.render_mode else None
        try:
            self._action[0] = action
        except (TypeError, ValueError, OverflowError):
            raise refusal(tables, 0, action) from None
        if self._action[0] != action or tables.step(self._action) >= 0:
            raise refusal(tables, 0, action)
        columns = tables.columns
        if before is not None:
            self._note = news_of(before, tables.views[0])
            if self.render_mode == "human":
                self.render()
        return (
            tables.observations[0].copy(),
            float(columns["reward"][0]),
            bool(columns["terminated"][0]),
            bool(columns["truncated"][0]),
            self._info(bool(columns["has_ended"][0])),
        )

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """The legal acts: bool, shape (42,). The name is sb3-contrib's."""
        self._check_begun()
        return self._tables.masks[0] == 1

    def render(self) -> Any:
        """The table as the learner's seat sees it.

        Returns:
            Text with ``render_mode="ansi"``; pixels, uint8 of shape (448, 640, 3), with
            ``"rgb_array"``; None with ``"human"``, which shows the window, and without any.

        Raises:
            gymnasium.error.DependencyNotInstalled: ``"human"`` without pygame, which the extra
                ``[window]`` installs.
        """
        self._check_begun()
        if self.render_mode is None:
            gymnasium.logger.warn(
                'render() draws nothing: make the environment with render_mode="ansi", '
                '"rgb_array" or "human"'
            )
            return None
        view = self._tables.views[0]
        if self.render_mode == "ansi":
            return table_text(view, self._note)
        if self.render_mode == "rgb_array":
            return show(view, note=self._note).to_rgb()
        self._window.show(
            show(view, note=self._note).to_rgb(WINDOW_WIDTH), self.metadata["render_fps"]
        )
        return None

    def close(self) -> None:
        """Close the window, where there is one."""
        self._window.close()

    def _repr_svg_(self) -> str | None:
        """How a notebook displays the environment: the table as the learner's seat sees it."""
        if not self._tables.is_begun[0]:
            return None
        return show(self._tables.views[0], note=self._note).svg

    def get_state(self) -> dict[str, Any]:
        """All of the environment that changes, for `set_state`: the game, its random stream."""
        self._check_begun()
        return {"states": self._tables.states.copy(), "tables": self._tables.tables.copy()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go back to what `get_state` gave, of this environment or of one with the same options."""
        self._tables.restore(state["states"], state["tables"])

    def _check_begun(self) -> None:
        if not self._tables.is_begun[0]:
            raise ResetNeeded("call reset() first: no episode is under way")

    def _info(self, has_ended: bool) -> dict[str, Any]:
        tables = self._tables
        seen, columns = tables.seen, tables.columns
        info = {
            "action_mask": tables.masks[0].copy(),
            "to_act": int(seen["to_act"][0]),
            "seat": int(columns["seat"][0]),
            "scores": seen["scores"][0].copy(),
            "winner": int(seen["winner"][0]),
            "opponent": int(columns["opponent"][0]),
        }
        if has_ended:
            info["reward"] = float(columns["episode_reward"][0])
        return info
