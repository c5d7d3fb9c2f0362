"""What a deal is worth once trump is made, to players who do not see all cards.

With all hands open the lead costs nothing, and a finesse always works: bids priced that way let
the nondealer make trump too readily and the dealer pass too rarely. So deals are played out by the
search agent after bids of all kinds, and what makers scored is averaged by what mattered: who made
trump, the tricks that open hands would give, and the trumps of both. `agents.cfr` values its leaves
by these means: a look-up, as cheap as the open hands alone.
"""

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.expert_bids import expert_bid
from agents.open_hands import fold, open_hands_at, own_tricks
from agents.search import Settings, search_card, settings_at
from euchre_env.actions import CARD_ACTIONS, Phase
from euchre_env.cards import HAND_SIZE
from euchre_env.dealing import AGENTS, deal, mix, seed_streams, seed_word, substream
from euchre_env.engine import apply, draw_action, legal_actions
from euchre_env.kernel import int64, kernel, popcount
from euchre_env.rules import MAKER_POINTS, SUIT_CARDS, Rules
from euchre_env.state import NOBODY, STATE_DTYPE, States, new_states
from euchre_env.views import blank_into

_PLAY, _DEAL_OVER = int(Phase.PLAY), int(Phase.DEAL_OVER)
_COUNTS: Final = HAND_SIZE + 1
NUM_CELLS: Final = 2 * _COUNTS**3
MEASURED_DEALS: Final = 1_000_000
_PRIOR: Final = 50.0
"""So many deals' weight has the open-hand value in a cell."""


@kernel
def leaf_cell(state: np.record, table_address: int) -> int:
    """The cell of a deal: who made trump, open-hand tricks, the maker's and the defender's trumps.

    Args:
        state: trump is made, the first lead is not.
        table_address: the open-hand table's.

    Returns:
        0..`NUM_CELLS` - 1.
    """
    leader, maker, trump = state.to_act & 1, state.maker & 1, state.trump & 3
    own, other = fold(state.hands[leader], trump), fold(state.hands[1 - leader], trump)
    tricks = own_tricks(open_hands_at(table_address), own, other, HAND_SIZE, 0)
    cell = int64(maker == state.dealer)
    cell = cell * _COUNTS + (tricks if maker == leader else HAND_SIZE - tricks)
    cell = cell * _COUNTS + popcount(state.hands[maker] & SUIT_CARDS[trump, trump])
    return cell * _COUNTS + popcount(state.hands[1 - maker] & SUIT_CARDS[trump, trump])


@kernel
def _searched(view: np.record, bits: int, stream: np.uint64, settings: np.record) -> int:
    """The search agent's act."""
    if bits & CARD_ACTIONS:
        return search_card(view, bits, stream, settings)
    return expert_bid(view, bits, settings.bids)


@kernel
def _play_deals(
    states: States,
    views: States,
    num_deals: int,
    memory_address: int,
    sums: npt.NDArray[np.float64],
) -> None:
    """Play deals out and add up what makers score, by cell; ``sums[1]`` counts them.

    In every other deal the bids are drawn at random, so that all cells are met.
    """
    settings = settings_at(memory_address)
    state, view = states[0], views[0]
    for number in range(num_deals):
        deal(state)
        word, cell = substream(mix(state.stream), AGENTS, number), int64(-1)
        while state.phase < _DEAL_OVER:
            bits = legal_actions(state)
            stream = substream(word, AGENTS, state.num_actions)
            if state.phase == _PLAY and cell < 0:
                cell = leaf_cell(state, settings.table_address)
            if number & 1 and bits & CARD_ACTIONS == 0:
                apply(state, draw_action(bits, mix(stream)))
            else:
                blank_into(state, state.to_act, view)
                apply(state, _searched(view, bits, stream, settings))
        if state.maker != NOBODY:
            tricks = state.tricks[state.maker & 1]
            sums[0, cell] += MAKER_POINTS[state.super_euchre & 1, tricks & 7]
            sums[1, cell] += 1


def measure_leaves(
    rules: Rules, seed: int, num_deals: int = MEASURED_DEALS, settings: Settings | None = None
) -> npt.NDArray[np.float64]:
    """What makers score when the search agent plays both hands, by `leaf_cell`.

    Args:
        rules: what is played.
        seed: deals and worlds follow from it.
        num_deals: how many are played; 0 gives the open-hand values.
        settings: how they are played; as ``search`` when None.

    Returns:
        Points of the maker less the other's, float64, shape (`NUM_CELLS`,).
    """
    states = new_states(1, rules)
    seed_streams(states, np.array([seed_word(seed)], dtype=np.uint64))
    states["dealer"] = 1
    sums = np.zeros((2, NUM_CELLS))
    memory: npt.NDArray[Any] = (settings or Settings()).to_memory()
    views: States = np.empty(1, dtype=STATE_DTYPE)
    _play_deals(states, views, num_deals, memory.ctypes.data, sums)
    tricks = np.arange(NUM_CELLS) // _COUNTS**2 % _COUNTS
    open_values = MAKER_POINTS[int(rules.super_euchre), tricks].astype(np.float64)
    means: npt.NDArray[np.float64] = (sums[0] + _PRIOR * open_values) / (sums[1] + _PRIOR)
    return means
