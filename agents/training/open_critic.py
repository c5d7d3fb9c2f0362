"""The games as a critic sees them: beside the learner's observation, the cards it cannot see.

How good an act was is told by how much better the deal went than expected. Most of what a deal
brings beyond a player's expectation is the cards that he did not see, so a critic that knows them
expects far better, and the noise in what the learner is taught shrinks. (An asymmetric critic:
Pinto et al., arXiv 1710.06542; for card games PerfectDou, arXiv 2203.16406.) The critic is used
while learning only. The policy reads the learner's own observation, a run saves the policy alone,
and a test holds that no hidden card reaches it.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from stable_baselines3.common.vec_env.base_vec_env import VecEnvStepReturn

from agents.sb3 import EuchreVecEnv
from euchre_env.observation import OBSERVATION_FIELDS, OBSERVATION_HIGH, OBSERVATION_SIZE, STARTS

HIDDEN_FIELDS: Final = ("hand", "discard")
"""Of the other seat's observation, what the learner's own does not tell already."""
HIDDEN_PLACES: Final = np.concatenate(
    [
        np.arange(STARTS[field.name], STARTS[field.name] + field.width)
        for field in OBSERVATION_FIELDS
        if field.name in HIDDEN_FIELDS
    ]
)
"""Places of these fields in an observation: int64, shape (66,)."""
OPEN_SIZE: Final = OBSERVATION_SIZE + len(HIDDEN_PLACES)
"""Numbers in a critic's row: the learner's observation, then the other's hidden fields."""


class OpenVecEnv(EuchreVecEnv):
    """`EuchreVecEnv` with the other seat's hand and discard behind each observation.

    Observations are uint8 of shape (n, `OPEN_SIZE`). Only a network that keeps the last
    places from its policy may learn from it: `agents.training.network.ActorCritic` does.
    """

    def __init__(self, games: int, **options: Any) -> None:
        """Make the games (see `EuchreVecEnv`)."""
        super().__init__(games, **options)
        high = np.concatenate([OBSERVATION_HIGH, OBSERVATION_HIGH[HIDDEN_PLACES]])
        self.observation_space = spaces.Box(np.zeros_like(high), high, dtype=np.uint8)
        self._others = np.empty((self.num_envs, OBSERVATION_SIZE), dtype=np.uint8)

    def reset(self) -> npt.NDArray[np.uint8]:
        """Start all games anew: uint8, shape (n, `OPEN_SIZE`)."""
        return self._opened(super().reset())

    def step_wait(self) -> VecEnvStepReturn:
        """Step all games (see `EuchreVecEnv`); a finished episode's last observation is its own.

        There the hidden places are 0: an episode that is over has no card left to judge.
        """
        observations, rewards, ends, infos = super().step_wait()
        assert isinstance(observations, np.ndarray)
        ended = np.flatnonzero(ends)
        lasts = np.zeros((len(ended), OPEN_SIZE), dtype=np.uint8)
        for last, row in zip(lasts, ended.tolist(), strict=True):
            last[:OBSERVATION_SIZE] = infos[row]["terminal_observation"]
            infos[row]["terminal_observation"] = last
        return self._opened(observations), rewards, ends, infos

    def _opened(self, observations: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
        others = self.env.other_observations(out=self._others)
        return np.concatenate([observations, others[:, HIDDEN_PLACES]], axis=1)
