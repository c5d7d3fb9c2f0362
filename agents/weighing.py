"""How likely each world is, given how the other player acted: Bayes' rule over one view.

Every hand that he may have been dealt, and every discard that then fits, is a *candidate*; its
weight is the product over his acts of the chance that a model of him would have done that
(`agents.models`). A compiled model is asked inside one kernel, any other in batches. Beliefs
(`agents.beliefs`) and the best response are made from these weights.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

from agents.models import Model, view_key
from agents.replay import MAX_DEALT, act_at, deals_into, lay_out_again, pose
from euchre_env.actions import Phase
from euchre_env.cards import HAND_SIZE
from euchre_env.engine import apply, legal_actions
from euchre_env.kernel import call_policy, int64, kernel, popcount
from euchre_env.state import NO_CARD, STATE_DTYPE, States
from euchre_env.views import blank_into, discard_place

_BLIND: Final = int(Phase.NAME_BLIND)


# --- candidates ----------------------------------------------------------------------------------


def candidates(
    view: States,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """What the other player may have been dealt, and the discards that then fit.

    Args:
        view: one view, shape (1,).

    Returns:
        Hands dealt, shape (n,); where the discards of each begin, (n + 1,); discards, (m,). See
        ``replay.deals_into``.
    """
    dealt = np.empty(MAX_DEALT, dtype=np.int64)
    firsts = np.empty(MAX_DEALT + 1, dtype=np.int64)
    discards = np.empty(MAX_DEALT * (HAND_SIZE + 1), dtype=np.int8)
    num = int(_deals(view[0], dealt, firsts, discards))
    return dealt[:num].copy(), firsts[: num + 1].copy(), discards[: firsts[num]].copy()


@kernel
def _deals(
    view: np.record,
    dealt: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
) -> int:
    return deals_into(view, dealt, firsts, discards)


# --- in one kernel, for compiled agents ----------------------------------------------------------


@kernel
def _chance(is_done: bool, num_legal: int, floor: float) -> float:
    """How likely an act is that the model does, or does not."""
    return floor / num_legal + (1.0 - floor if is_done else 0.0)


@kernel
def _has_laid_away(state: np.record, other: int) -> bool:
    """Whether the other player has laid a card away by now."""
    is_his: bool = state.dealer == other
    return is_his and discard_place(state) >= 0


@kernel
def _ask(asked: States, address: int, memory_address: int, seed: np.uint64, legal_bits: int) -> int:
    key = view_key(asked[0], seed)
    return int64(call_policy(address, asked.ctypes.data, legal_bits, key, memory_address))


@kernel
def _weigh_act(
    state: np.record,
    action: int,
    dealt: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
    weights: npt.NDArray[np.float64],
    asked: States,
    policy: tuple[int, int, np.uint64, float],
) -> None:
    """Multiply every candidate's weight by the chance of one act of the other player."""
    address, memory_address, seed, floor = policy
    other = state.to_act
    view = asked[0]
    has_laid_away = _has_laid_away(state, other)
    for i in range(dealt.shape[0]):
        if has_laid_away:
            for k in range(firsts[i], firsts[i + 1]):
                pose(state, other, dealt[i], discards[k], view)
                bits = legal_actions(view)
                if bits & (bits - 1):
                    done = _ask(asked, address, memory_address, seed, bits)
                    weights[k] *= _chance(done == action, popcount(bits), floor)
            continue
        pose(state, other, dealt[i], NO_CARD, view)
        bits = legal_actions(view)
        if not bits & (bits - 1):
            continue
        done = _ask(asked, address, memory_address, seed, bits)
        for k in range(firsts[i], firsts[i + 1]):
            wanted = discards[k] if action < 0 else action
            weights[k] *= _chance(done == wanted, popcount(bits), floor)


@kernel
def weigh(
    view: np.record,
    policy: tuple[int, int, np.uint64, float],
    dealt: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
    weights: npt.NDArray[np.float64],
    rows: States,
) -> None:
    """Write the weight of every candidate: the product of the chances of what he did.

    Args:
        view: what the seat that thinks knows.
        policy: the model: address of its compiled policy and of its memory, seed of its streams
            (`agents.models.Model`), and the floor.
        dealt: candidates, as ``replay.deals_into`` writes them; shape (n,).
        firsts: where the discards of each begin; shape (n + 1,).
        discards: shape (m,).
        weights: shape (m,), overwritten; not normalised.
        rows: two rows to work in, overwritten.
    """
    for k in range(weights.shape[0]):
        weights[k] = 1.0
    state, asked = rows[0], rows[1:2]
    other = 1 - view.seat
    lay_out_again(view, dealt[0], state)
    for place in range(view.num_actions):
        if state.to_act == other and state.phase != _BLIND:
            blank_into(state, other, asked[0])
            _weigh_act(state, view.history[place], dealt, firsts, discards, weights, asked, policy)
        apply(state, act_at(view, place, discards[0]))


# --- in batches, for any agent -------------------------------------------------------------------


@kernel
def _count_questions(state: np.record, other: int, firsts: npt.NDArray[np.int64], num: int) -> int:
    return int64(firsts[num]) if _has_laid_away(state, other) else num


@kernel
def _questions_into(
    state: np.record,
    dealt: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
    views: States,
    bits: npt.NDArray[np.int64],
) -> None:
    """Write the view of every candidate at an act of the other player, and its legal acts."""
    other = state.to_act
    has_laid_away = _has_laid_away(state, other)
    num = int64(0)
    for i in range(dealt.shape[0]):
        for k in range(firsts[i], firsts[i + 1] if has_laid_away else firsts[i] + 1):
            blank_into(state, other, views[num])
            pose(state, other, dealt[i], discards[k] if has_laid_away else NO_CARD, views[num])
            bits[num] = legal_actions(views[num])
            num += 1


@kernel
def _weigh_answers(
    state: np.record,
    action: int,
    firsts: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
    bits: npt.NDArray[np.int64],
    chances: npt.NDArray[np.float64],
    floor: float,
    weights: npt.NDArray[np.float64],
) -> None:
    has_laid_away = _has_laid_away(state, state.to_act)
    for i in range(firsts.shape[0] - 1):
        for k in range(firsts[i], firsts[i + 1]):
            row = k if has_laid_away else i
            wanted = discards[k] if action < 0 else action
            weights[k] *= floor / popcount(bits[row]) + (1.0 - floor) * chances[row, wanted]


@kernel
def _lay_out(view: np.record, dealt: int, state: np.record) -> None:
    lay_out_again(view, dealt, state)


@kernel
def _go_on(view: np.record, place: int, discard: int, state: np.record) -> None:
    apply(state, act_at(view, place, discard))


def weigh_in_batches(
    view: np.record,
    model: Model,
    floor: float,
    dealt: npt.NDArray[np.int64],
    firsts: npt.NDArray[np.int64],
    discards: npt.NDArray[np.int8],
) -> npt.NDArray[np.float64]:
    """`weigh` for an agent that is asked through its methods.

    Args:
        view: what the seat that thinks knows.
        model: the agent, as a model.
        floor: share of his acts that are any legal act.
        dealt: candidates, as `candidates` gives them; shape (n,).
        firsts: where the discards of each begin; shape (n + 1,).
        discards: shape (m,).

    Returns:
        Weights, float64, shape (m,); not normalised.
    """
    weights = np.ones(len(discards))
    states = np.empty(1, dtype=STATE_DTYPE)
    state = states[0]
    other = 1 - int(view.seat)
    _lay_out(view, dealt[0], state)
    for place in range(int(view.num_actions)):
        if state.to_act == other and state.phase != Phase.NAME_BLIND:
            num = int(_count_questions(state, other, firsts, len(dealt)))
            views, bits = np.empty(num, dtype=STATE_DTYPE), np.empty(num, dtype=np.int64)
            _questions_into(state, dealt, firsts, discards, views, bits)
            chances = model.chances(views, bits)
            action = int(view.history[place])
            _weigh_answers(state, action, firsts, discards, bits, chances, floor, weights)
        _go_on(view, place, discards[0], state)
    return weights
