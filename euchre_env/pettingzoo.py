"""Two-handed Euchre for two agents: a PettingZoo AEC environment, the extra ``[pettingzoo]``.

``from euchre_env import pettingzoo as euchre; env = euchre.env()`` makes one; once this module is
imported, ``pettingzoo.make("aec", "euchre_env/Euchre-v0")`` does too. Agent ``player_0`` is seat 0,
``player_1`` seat 1. The games are those of `EuchreEnv` in self-play, act for act: one
implementation of the rules serves both.
"""

from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from euchre_env.actions import NUM_ACTIONS
from euchre_env.env import RESET_OPTIONS, EuchreEnv, observation_space
from euchre_env.observation import observe
from euchre_env.rules import Rules
from euchre_env.tables import Episode, Illegal, Reward, Suits

try:
    import pettingzoo
    from pettingzoo import AECEnv
    from pettingzoo.utils import wrappers
except ModuleNotFoundError:
    raise ModuleNotFoundError(
        "euchre_env.pettingzoo needs PettingZoo: pip install 'euchre-env[pettingzoo]'"
    ) from None

AGENTS = ("player_0", "player_1")
"""``[seat] -> agent``, named as PettingZoo names its players."""
Observation = dict[str, npt.NDArray[Any]]


def env(**options: Any) -> AECEnv:
    """The environment with PettingZoo's usual wrappers: acts in bounds, calls in order.

    Args:
        options: those of `raw_env`.
    """
    wrapped: AECEnv = wrappers.OrderEnforcingWrapper(
        wrappers.AssertOutOfBoundsWrapper(raw_env(**options))
    )
    return wrapped


class raw_env(AECEnv):  # noqa: N801 - PettingZoo's name for it
    """Two agents take turns at one table; the environment itself, without wrappers.

    An agent's observation is ``{"observation": uint8 (OBSERVATION_SIZE,), "action_mask": int8
    (42,)}``: what its seat knows, and its legal acts, all 0 while the other is to act. The mask is
    in ``infos[agent]["action_mask"]`` too. Rewards come to both as each deal is scored; they sum
    to 0.

    Args:
        rules: the options of the game, a `Rules` or a text like ``"british,target_score=5"``; the
            24-card game when None.
        episode: ``"game"``, to the target score, or ``"deal"``.
        reward: ``"points"`` or ``"win"``, as in `EuchreEnv`.
        suits: ``"absolute"`` or ``"relative"``, as in `EuchreEnv`.
        render_mode: None, ``"ansi"``, ``"rgb_array"`` or ``"human"``: the table as the seat to act
            sees it.
        max_deals: truncate a game after so many deals.
        illegal: ``"raise"``, ``"penalise"`` or ``"end"``, as in `EuchreEnv`; who did it pays alone.

    Raises:
        ValueError: an option has a value that it does not take.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - as PettingZoo declares it
        "name": "euchre_v0",
        "is_parallelizable": False,
        **EuchreEnv.metadata,
    }

    def __init__(
        self,
        *,
        rules: Rules | str | None = None,
        episode: Episode = "game",
        reward: Reward = "points",
        suits: Suits = "absolute",
        render_mode: Literal["ansi", "rgb_array", "human"] | None = None,
        max_deals: int | None = None,
        illegal: Illegal = "raise",
    ) -> None:
        super().__init__()
        self._game = EuchreEnv(
            rules=rules,
            opponent=None,
            episode=episode,
            reward=reward,
            suits=suits,
            render_mode=render_mode,
            max_deals=max_deals,
            illegal=illegal,
        )
        self.render_mode = render_mode
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": observation_space(),
                    "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
                }
            )
            for agent in AGENTS
        }
        self.action_spaces = {agent: spaces.Discrete(NUM_ACTIONS) for agent in AGENTS}

    @property
    def rules(self) -> Rules:
        """The options of the game."""
        return self._game.rules

    @property
    def view(self) -> np.record:
        """What the seat to act knows: one row, a copy."""
        return self._game.view

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """An agent's observation space."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """An agent's action space: the 42 acts."""
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode.

        Args:
            seed: fixes all deals to come; None goes on with the random stream.
            options: ``deal``, ``dealer``, ``scores`` or ``position``, as in `EuchreEnv.reset`;
                others are warned of and left out, since PettingZoo's programs share them.

        Raises:
            ValueError: an option means nothing.
        """
        given = dict(options or {})
        for name in sorted(set(given) - set(RESET_OPTIONS)):
            gymnasium.logger.warn(f"reset knows no option {name!r}: it takes {RESET_OPTIONS}")
            del given[name]
        _, info = self._game.reset(seed=seed, options=given)
        self.agents = list(AGENTS)
        self.rewards = dict.fromkeys(AGENTS, 0.0)
        self._cumulative_rewards = dict.fromkeys(AGENTS, 0.0)
        self.terminations = dict.fromkeys(AGENTS, False)
        self.truncations = dict.fromkeys(AGENTS, False)
        self._turn_to(info)

    def step(self, action: int | np.integer[Any] | None) -> None:
        """Do the act of the agent to act.

        Args:
            action: 0..41, legal by the mask; None for an agent that is done.

        Raises:
            gymnasium.error.InvalidAction: the act is not legal; nothing has changed.
            ValueError: an act of an agent that is done, or none of one that is not.
        """
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise ValueError(f"{agent} is not done: it is to act, by its action_mask")
        is_legal = bool(self._game.action_masks()[int(action) % NUM_ACTIONS])
        _, reward, terminated, truncated, info = self._game.step(int(action))
        other = AGENTS[1 - AGENTS.index(agent)]
        self._cumulative_rewards[agent] = 0.0
        self.rewards = {agent: reward, other: -reward if is_legal else 0.0}
        self.terminations = dict.fromkeys(AGENTS, terminated)
        self.truncations = dict.fromkeys(AGENTS, truncated)
        self._accumulate_rewards()
        self._turn_to(info)

    def observe(self, agent: str) -> Observation:
        """What an agent's seat knows now, and its legal acts."""
        seat = AGENTS.index(agent)
        tables = self._game._tables
        is_relative = bool(tables.settings.is_relative)
        return {
            "observation": observe(tables.states, seat, is_relative)[0],
            "action_mask": self.infos[agent]["action_mask"].copy(),
        }

    def render(self) -> Any:
        """The table as the seat to act sees it: text, pixels, or a window. See `EuchreEnv`."""
        return self._game.render()

    def close(self) -> None:
        """Close the window, where there is one."""
        self._game.close()

    def _turn_to(self, info: dict[str, Any]) -> None:
        """Take up whose turn it is, and what both may be told beside their observations."""
        to_act = int(info["to_act"])
        nothing = np.zeros(NUM_ACTIONS, dtype=np.int8)
        self.agent_selection = AGENTS[max(to_act, 0)]
        self.infos = {
            agent: {
                "action_mask": info["action_mask"] if seat == to_act else nothing,
                "scores": info["scores"],
                "winner": info["winner"],
            }
            for seat, agent in enumerate(AGENTS)
        }


if hasattr(pettingzoo, "register"):  # from PettingZoo 1.27 on
    pettingzoo.register("aec", "euchre_env/Euchre-v0", "euchre_env.pettingzoo:env")
