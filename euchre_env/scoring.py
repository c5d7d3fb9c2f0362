"""The points of a deal and the end of a game. Rules: R11, R17, R19."""

import numpy as np

from euchre_env.actions import Phase
from euchre_env.kernel import kernel
from euchre_env.rules import MAKER_POINTS
from euchre_env.state import NOBODY

_GAME_OVER = int(Phase.GAME_OVER)


@kernel
def settle(state: np.record) -> None:
    """Score the deal that is over; a deal thrown in scores nothing. R11, R17, R19."""
    maker = state.maker
    if maker == NOBODY:
        return
    points = MAKER_POINTS[state.super_euchre & 1, state.tricks[maker & 1] & 7]
    scorer = (maker if points > 0 else 1 - maker) & 1
    state.points[scorer] = abs(points)
    state.scores[scorer] += abs(points)
    if state.scores[scorer] >= state.target_score:
        state.winner = scorer
        state.phase = _GAME_OVER
