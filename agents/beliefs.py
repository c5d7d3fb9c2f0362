"""What the other player holds, given how he acted: exact beliefs by Bayes' rule.

    weight of a world = product over his acts so far of P(he does that | what he then saw)

over every hand and discard that fits the view (`agents.worlds`), normalised. How likely his acts
are is said by a *model* of him: any agent (`agents.models`). No model is always right, so each act
is given a little chance whatever the model says (``floor``): beliefs are then never empty, and a
player who does what the model never does is believed to hold what contradicts it least.

>>> from agents import make_agent
>>> from euchre_env.cards import card_number
>>> from euchre_env.notation import parse_position
>>> view = parse_position("9CTCQCKC9S/??????????/JH d1 0-0 pass,pass seat=0")
>>> belief = posterior(view, make_agent("novice"))
>>> f"{belief.in_hand[card_number('JD')]:.3f}"  # a dealer with two trumps would have accepted
'0.133'
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from agents.base import Agent
from agents.models import Model
from agents.weighing import candidates, weigh, weigh_in_batches
from agents.worlds import one_view
from euchre_env.cards import NUM_CARDS
from euchre_env.state import NO_CARD, STATE_DTYPE, States, UpcardPlace

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

FLOOR: Final = 0.01
"""Share of his acts that are any legal act, whatever the model says."""


@dataclass(frozen=True, eq=False)
class Belief:
    """How likely each hand and discard of the other player is.

    Arrays are parallel, one entry for each world that fits the view.
    """

    view: States
    """The view: shape (1,)."""
    hands: npt.NDArray[np.int64]
    """Masks of the cards in his hand; int64, shape (n,)."""
    discards: npt.NDArray[np.int8]
    """What he laid away, `NO_CARD` where there is none unseen; int8, shape (n,)."""
    weights: npt.NDArray[np.float64]
    """Probabilities; float64, shape (n,), sum 1."""

    def __len__(self) -> int:
        """How many worlds fit the view."""
        return len(self.hands)

    def by_hand(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """His hands, each once, with its probability, his discard integrated out.

        Returns:
            Masks, int64, and probabilities, float64, both of shape (number of hands,).
        """
        hands, places = np.unique(self.hands, return_inverse=True)
        chances = np.zeros(len(hands))
        np.add.at(chances, places, self.weights)
        return hands, chances

    @property
    def in_hand(self) -> npt.NDArray[np.float64]:
        """``[card] -> probability`` that he holds it; float64, shape (33,)."""
        bits = self.hands[:, None] >> np.arange(NUM_CARDS) & 1
        held: npt.NDArray[np.float64] = self.weights @ bits
        return held

    @property
    def laid_away(self) -> npt.NDArray[np.float64]:
        """``[card] -> probability`` that he has laid it away unseen; float64, shape (33,)."""
        is_any = self.discards != NO_CARD
        laid: npt.NDArray[np.float64] = np.bincount(
            self.discards[is_any], weights=self.weights[is_any], minlength=NUM_CARDS
        ).astype(np.float64)
        return laid

    @property
    def in_stock(self) -> npt.NDArray[np.float64]:
        """``[card] -> probability`` that no one was dealt it; float64, shape (33,)."""
        row = self.view[0]
        seen = int(row.hands[row.seat]) | int(row.played[0]) | int(row.played[1])
        seen |= 1 << int(row.upcard) | (1 << int(row.discard) if row.discard != NO_CARD else 0)
        is_open = (int(row.deck) & ~seen) >> np.arange(NUM_CARDS) & 1
        rest = np.where(is_open, 1.0 - self.in_hand - self.laid_away, 0.0)
        return np.clip(rest, 0.0, 1.0)

    @property
    def effective_worlds(self) -> float:
        """How many equally likely worlds would be as uncertain: the exponential of the entropy."""
        likely = self.weights[self.weights > 0]
        return float(np.exp(-(likely * np.log(likely)).sum()))


def posterior(view: States | np.record, model: Agent | Model, floor: float = FLOOR) -> Belief:
    """The exact posterior over the other player's hand and discard.

    Args:
        view: one view (a row, or shape (1,)), at any moment of the deal.
        model: how the other player acts; an agent, or a `Model` of one.
        floor: share of his acts that are any legal act, each as likely, whatever the model says;
            0 to 1.

    Returns:
        Probabilities of all worlds that fit; where the model gives none of them any chance
        (with ``floor=0``) they are all as likely.

    Raises:
        ValueError: no single view, a full state, a dealer who has not seen his hand (R13), or a
            floor that is no share.
    """
    if not 0.0 <= floor <= 1.0:
        raise ValueError(f"floor={floor}: it is a share of the acts, 0 to 1")
    rows = one_view(view)
    asked = model if isinstance(model, Model) else Model(model)
    dealt, firsts, discards = candidates(rows)
    if asked.policy_address:
        weights = np.empty(len(discards))
        policy = (asked.policy_address, asked.memory_address, asked.seed, floor)
        work = np.empty(2, dtype=STATE_DTYPE)
        weigh(rows[0], policy, dealt, firsts, discards, weights, work)
    else:
        weights = weigh_in_batches(rows[0], asked, floor, dealt, firsts, discards)
    total = weights.sum()
    weights = weights / total if total > 0 else np.full(len(weights), 1.0 / len(weights))
    hands = np.repeat(dealt, np.diff(firsts))
    return Belief(rows, _hands_now(rows[0], hands, discards), discards, weights)


def _hands_now(
    view: np.record, dealt: npt.NDArray[np.int64], discards: npt.NDArray[np.int8]
) -> npt.NDArray[np.int64]:
    """What he holds by now of what he was dealt."""
    other = 1 - int(view.seat)
    hands = dealt.copy()
    if view.dealer == other and view.upcard_place == UpcardPlace.TAKEN:
        hands |= np.int64(1 << int(view.upcard))
    laid_away = np.where(discards < 0, 0, np.int64(1) << np.maximum(discards, 0).astype(np.int64))
    hands &= ~laid_away & ~np.int64(view.played[other])
    return hands


# --- to look at ----------------------------------------------------------------------------------


def table(view: States | np.record, model: Agent | Model, floor: float = FLOOR) -> "Table":
    """Card by card, how likely the other player holds it, as a table for the terminal.

    Args:
        view: one view.
        model: how the other player acts.
        floor: see `posterior`.

    Returns:
        A rich table in per cent: suits down, ranks across; where he laid a card away unseen, how
        likely it was that card stands behind.
    """
    from agents import belief_pictures

    return belief_pictures.table_of(posterior(view, model, floor), _name(model))


def heat_map(view: States | np.record, model: Agent | Model, floor: float = FLOOR) -> "Figure":
    """The same as a picture: in his hand, laid away, not dealt.

    Args:
        view: one view.
        model: how the other player acts.
        floor: see `posterior`.

    Returns:
        A matplotlib figure, for a notebook or ``savefig``.

    Raises:
        ImportError: matplotlib is missing (``pip install 'euchre-env[evaluate]'``).
    """
    from agents import belief_pictures

    return belief_pictures.heat_map_of(posterior(view, model, floor), _name(model))


def _name(model: Agent | Model) -> str:
    return model.name if isinstance(model, Model) else Model(model).name
