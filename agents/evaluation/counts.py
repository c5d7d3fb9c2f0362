"""Bids and makes: what each agent did as dealer and as nondealer, as shares."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from euchre_env.actions import ACCEPT, NAME, ORDER_UP, PASS
from euchre_env.state import States


@dataclass(frozen=True)
class RoleRates:
    """What an agent did in one role, dealer or nondealer; each rate is a share, 0 to 1.

    A rate that nothing could be counted for is NaN (null in JSON).
    """

    deals: int
    """Deals in this role."""
    order_up: float
    """Nondealer: ordered up, of the times it could."""
    accept: float
    """Dealer: accepted, of the times it could."""
    name: float
    """Named a suit in round two, of the times it could."""
    name_blind: float
    """Dealer: the joker made it name a suit, of all deals. R13."""
    maker: float
    """Was maker, of all deals."""
    made: float
    """Took three tricks or more, of the deals it was maker."""
    march: float
    """Took all five, of the deals it was maker."""
    euchred: float
    """Took fewer than three, of the deals it was maker."""


@dataclass(frozen=True)
class AgentRates:
    """What an agent did, by role."""

    as_dealer: RoleRates
    as_nondealer: RoleRates


_ORDERED, _ACCEPTED, _NAMED_FIRST, _NAMED_SECOND, _NAMED_BLIND, THROWN_IN, FORFEITED = range(7)
_NUM_CALLS: Final = 7
COUNT, _MADE, _MARCH, _EUCHRED = range(4)


def calls_of(states: States) -> npt.NDArray[np.int8]:
    """How trump was made in each deal that is over: shape (n,), `_ORDERED` and so on."""
    history = states["history"]
    first, second, third, fourth = (history[:, place] for place in range(4))
    is_name = [(NAME <= acts) & (acts < PASS) for acts in (first, third, fourth)]
    calls = np.select(
        [
            first == ORDER_UP,
            is_name[0],
            second == ACCEPT,
            is_name[1],
            is_name[2],
        ],
        [_ORDERED, _NAMED_BLIND, _ACCEPTED, _NAMED_FIRST, _NAMED_SECOND],
        default=THROWN_IN,
    )
    return calls.astype(np.int8)


_BY_DEALER: Final = np.isin(np.arange(_NUM_CALLS), (_ACCEPTED, _NAMED_SECOND, _NAMED_BLIND))
"""``[call] -> whether the dealer is maker``; where nobody is, it does not matter."""


def count_calls(
    calls: npt.NDArray[np.int8],
    is_dealer: npt.NDArray[np.bool_],
    differences: npt.NDArray[np.int8],
) -> npt.NDArray[np.int64]:
    """Count how trump was made in deals, and what came of it.

    Args:
        calls: from `calls_of`, or `FORFEITED`, any shape.
        is_dealer: whether the first agent dealt.
        differences: the first agent's points minus the second's.

    Returns:
        ``[is the first agent dealer, call, count | made | march | euchred]``, shape (2, 7, 4).
    """
    is_maker = is_dealer == _BY_DEALER[calls]
    points = np.where(is_maker, differences, -differences)
    counts = np.zeros((2, _NUM_CALLS, 4), dtype=np.int64)
    where = (is_dealer.astype(np.int64), calls)
    np.add.at(counts[:, :, COUNT], where, 1)
    np.add.at(counts[:, :, _MADE], where, points > 0)
    np.add.at(counts[:, :, _MARCH], where, points > 1)
    np.add.at(counts[:, :, _EUCHRED], where, points < 0)
    return counts


def share(part: float, whole: float) -> float:
    """``part / whole``; NaN of nothing."""
    return float(part / whole) if whole else math.nan


def dealer_rates(counts: npt.NDArray[np.int64]) -> RoleRates:
    """Rates of the dealer, from counts of shape (7, 4), in the deals that were played out."""
    num = counts[:FORFEITED, COUNT]
    made = counts[[_ACCEPTED, _NAMED_SECOND, _NAMED_BLIND]].sum(axis=0)
    could_accept = num.sum() - num[_NAMED_BLIND] - num[_ORDERED]
    could_name = num[_NAMED_SECOND] + num[THROWN_IN]
    return RoleRates(
        deals=int(num.sum()),
        order_up=math.nan,
        accept=share(num[_ACCEPTED], could_accept),
        name=share(num[_NAMED_SECOND], could_name),
        name_blind=share(num[_NAMED_BLIND], num.sum()),
        **_maker_rates(made, int(num.sum())),
    )


def nondealer_rates(counts: npt.NDArray[np.int64]) -> RoleRates:
    """Rates of the nondealer, from counts of shape (7, 4), in the deals that were played out."""
    num = counts[:FORFEITED, COUNT]
    made = counts[[_ORDERED, _NAMED_FIRST]].sum(axis=0)
    could_name = num[_NAMED_FIRST] + num[_NAMED_SECOND] + num[THROWN_IN]
    return RoleRates(
        deals=int(num.sum()),
        order_up=share(num[_ORDERED], num.sum() - num[_NAMED_BLIND]),
        accept=math.nan,
        name=share(num[_NAMED_FIRST], could_name),
        name_blind=math.nan,
        **_maker_rates(made, int(num.sum())),
    )


def _maker_rates(made: npt.NDArray[np.int64], deals: int) -> dict[str, float]:
    return {
        "maker": share(made[COUNT], deals),
        "made": share(made[_MADE], made[COUNT]),
        "march": share(made[_MARCH], made[COUNT]),
        "euchred": share(made[_EUCHRED], made[COUNT]),
    }
