"""The whole game on one row of the state: start, legal acts, apply, next deal; and in batches.

Everything that plays calls these: both environments, agents that look ahead, tests. One row at a
time inside kernels; arrays of rows through the functions whose names are plural.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import NUM_ACTIONS, Phase
from euchre_env.bidding import bid, lay_away, legal_bids, legal_discards
from euchre_env.cards import HAND_SIZE
from euchre_env.dealing import AGENTS, below, deal, first_dealer, mix, next_dealer, substream
from euchre_env.kernel import kernel, lowest, popcount, spread
from euchre_env.scoring import settle
from euchre_env.state import States
from euchre_env.tricks import play, playable

MAX_LEGAL: Final = HAND_SIZE + 1
"""No position has more legal acts: the six cards of a discard."""
_WHOLE_BYTES = NUM_ACTIONS // 8 * 8
_DISCARD, _PLAY = int(Phase.DISCARD), int(Phase.PLAY)
_DEAL_OVER, _GAME_OVER = int(Phase.DEAL_OVER), int(Phase.GAME_OVER)


@kernel
def legal_actions(state: np.record) -> int:
    """The legal acts, a mask of acts; 0 when the deal is over."""
    phase = state.phase
    if phase == _PLAY:
        return playable(state.hands[state.to_act & 1], state.led_card, state.trump)
    if phase == _DISCARD:
        return legal_discards(state)
    return legal_bids(state)


@kernel
def apply(state: np.record, action: int) -> None:
    """Do a legal act (unchecked) and, when it ends the deal, score it.

    The next deal is not dealt: ``state.phase`` is then ``DEAL_OVER`` or ``GAME_OVER``.
    """
    state.history[state.num_actions & 15] = action
    state.num_actions += 1
    phase = state.phase
    if phase == _PLAY:
        play(state, action)
    elif phase == _DISCARD:
        lay_away(state, action)
    else:
        bid(state, action)
    if state.phase == _DEAL_OVER:
        settle(state)


@kernel
def start_game(state: np.record) -> None:
    """Begin a game at 0-0: draw the first dealer, deal. R5, R19."""
    state.scores[0] = 0
    state.scores[1] = 0
    state.deal_number = 0
    state.dealer = first_dealer(state)
    deal(state)


@kernel
def next_deal(state: np.record) -> None:
    """Deal again after a deal that is over (unchecked). R11, R20."""
    state.dealer = next_dealer(state)
    deal(state)


@kernel
def write_mask(bits: int, row: npt.NDArray[np.int8]) -> None:
    """A mask of acts as 0 and 1 in an array of shape (42,)."""
    for start in range(0, _WHOLE_BYTES, 8):
        spread(bits >> start & 255, row, start)
    for action in range(_WHOLE_BYTES, NUM_ACTIONS):
        row[action] = bits >> action & 1


# --- many games at once -------------------------------------------------------------------------


@kernel
def start_games(states: States) -> None:
    """`start_game` for every row, in place."""
    for i in range(states.shape[0]):
        start_game(states[i])


@kernel
def action_bits(states: States) -> npt.NDArray[np.int64]:
    """`legal_actions` of every row: int64, shape (n,)."""
    bits = np.empty(states.shape[0], dtype=np.int64)
    for i in range(states.shape[0]):
        bits[i] = legal_actions(states[i])
    return bits


@kernel
def action_masks(states: States, masks: npt.NDArray[np.int8]) -> None:
    """The legal acts of every row as 0 and 1, written into int8 of shape (n, 42)."""
    for i in range(states.shape[0]):
        write_mask(legal_actions(states[i]), masks[i])


@kernel
def find_illegal(states: States, actions: npt.NDArray[np.int64]) -> int:
    """The first row whose act is not legal, or -1."""
    for i in range(states.shape[0]):
        action = actions[i]
        if not 0 <= action < NUM_ACTIONS or not legal_actions(states[i]) >> action & 1:
            return i
    return -1


@kernel
def apply_all(states: States, actions: npt.NDArray[np.int64]) -> None:
    """`apply` each row's act (legal, unchecked), in place."""
    for i in range(states.shape[0]):
        apply(states[i], actions[i])


@kernel
def apply_and_deal(states: States, actions: npt.NDArray[np.int64]) -> None:
    """`apply` each row's act (legal, unchecked), then deal where it ended a deal or a game.

    Every row always has an act to do.
    """
    for i in range(states.shape[0]):
        state = states[i]
        apply(state, actions[i])
        if state.phase == _DEAL_OVER:
            next_deal(state)
        elif state.phase == _GAME_OVER:
            start_game(state)


@kernel
def next_deals(states: States) -> None:
    """`next_deal` for every row whose deal is over and game is not, in place."""
    for i in range(states.shape[0]):
        if states[i].phase == _DEAL_OVER:
            next_deal(states[i])


@kernel
def draw_action(bits: int, word: np.uint64) -> int:
    """One of the acts of a mask of at most `MAX_LEGAL`, each as likely, by a random word."""
    skipped = below(word, popcount(bits))
    for k in range(MAX_LEGAL - 1):  # always so often: a guess at the end of a loop would fail
        bits = bits & (bits - 1) if k < skipped else bits
    return lowest(bits)


@kernel
def draw_actions(states: States, actions: npt.NDArray[np.int64], count: int) -> None:
    """A random legal act for every row, from the row's own stream.

    Args:
        states: shape (n,), every row with an act to do.
        actions: int64 of shape (n,), written.
        count: which draw this is; the same count draws the same acts again.
    """
    for i in range(states.shape[0]):
        state = states[i]
        actions[i] = draw_action(legal_actions(state), substream(state.stream, AGENTS, count))


@kernel
def play_random(states: States, num_actions: int) -> int:
    """Play random legal acts, deal after deal and game after game, all inside one kernel.

    Args:
        states: shape (n,), changed in place; every row with an act to do.
        num_actions: acts to do in every row.

    Returns:
        Deals that ended.
    """
    num_deals = 0
    for i in range(states.shape[0]):
        state = states[i]
        word = substream(state.stream, AGENTS, state.num_draws)
        for _ in range(num_actions):
            word += np.uint64(0x9E3779B97F4A7C15)
            apply(state, draw_action(legal_actions(state), mix(word)))
            if state.phase >= _DEAL_OVER:
                num_deals += 1
                if state.phase == _GAME_OVER:
                    start_game(state)
                else:
                    next_deal(state)
    return num_deals
