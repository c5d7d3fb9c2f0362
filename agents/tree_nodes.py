"""Nodes of the public tree of a deal (`agents.game_tree`): what they hold, and what ends there.

A *node* is what is public, and the own cards; with it goes the list of *worlds* (what the other
player was dealt, what he laid away) that lead there, each with its weight: the chance of the world
times the chances of what he did. A card laid away by the own player is not public: all of them are
carried through one tree as *alternatives*, and each has a value of its own at every node.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.replay import cards_left
from euchre_env.actions import HIDDEN_DISCARD, Phase
from euchre_env.cards import HAND_SIZE, NUM_SUITS
from euchre_env.engine import apply, legal_actions
from euchre_env.kernel import copy_row, int64, kernel, lowest, popcount
from euchre_env.rules import BEATS, SUIT_CARDS
from euchre_env.scoring import settle
from euchre_env.state import NO_CARD, NOBODY, STATE_DTYPE, States, UpcardPlace
from euchre_env.tricks import is_decided, playable
from euchre_env.views import blank_into, discard_place

STAGES: Final = (
    "round one",
    "round two",
    "take and discard",
    *(f"trick {number}" for number in range(1, HAND_SIZE + 1)),
)
"""Where a player may lose points: kinds of decisions, in the order of the deal."""

MAX_ALTERNATIVES: Final = HAND_SIZE + 1
"""Cards that the own player may have laid away, at most."""
COMPILED_BLOCK: Final = 32_768
"""Worlds of a block where the model answers in compiled code: its views fit a core's cache."""

NUM_VALUES: Final = 1 + len(STAGES)
OWN, OTHER, _OVER = 0, 1, 2
_LAST_TRICK: Final = HAND_SIZE - 1
_ORDER, _ACCEPT = int(Phase.ORDER), int(Phase.ACCEPT)
_TAKE, _DISCARD, _PLAY = int(Phase.TAKE), int(Phase.DISCARD), int(Phase.PLAY)
_BLIND, _DEAL_OVER = int(Phase.NAME_BLIND), int(Phase.DEAL_OVER)
_TAKEN = int(UpcardPlace.TAKEN)
_ONE = np.int64(1)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Worlds(NamedTuple):
    """Worlds with their weights, of many nodes one after the other; arrays of shape (m,)."""

    dealt: Ints
    """What the other player was dealt, masks."""
    discards: npt.NDArray[np.int8]
    """What he laid away, `NO_CARD` before that."""
    weights: Floats
    """The chance of the world times the chances of his acts so far."""


class Nodes(NamedTuple):
    """Nodes; arrays of shape (n,) but for ``reach``."""

    rows: States
    """The view of the own player, as a row that the rules can act on; where he has laid a card
    away, his hand still holds it, whichever it was."""
    alternatives: Ints
    """The cards that he may have laid away, a mask; 0 where he laid away none."""
    reach: Floats
    """(n, 6): how likely the own player comes there if he acts as the model does, by alternative
    (their order is that of the cards; place 0 where there are none); (n, 0): he never does."""
    starts: Ints
    """Where the node's worlds begin."""
    stops: Ints
    """And end."""

    def part(self, start: int, stop: int) -> "Nodes":
        """Some of them."""
        return Nodes(
            self.rows[start:stop],
            self.alternatives[start:stop],
            self.reach[start:stop],
            self.starts[start:stop],
            self.stops[start:stop],
        )


@dataclass
class Leaks:
    """Own decisions at which the model would lose most; kept small, the largest losses stay."""

    keep: int = 50
    """How many are kept."""
    found: list[tuple[float, int, int, States]] = field(default_factory=list)
    """Loss in points a deal (weighted by how likely the decision is), the act of the model, a
    better one, and the view of shape (1,)."""

    def add(self, loss: float, action: int, better: int, view: States) -> None:
        """Note a loss."""
        self.found.append((loss, action, better, view))
        if len(self.found) > 4 * self.keep:
            self.trim()

    def trim(self) -> None:
        """Keep the largest."""
        self.found.sort(key=lambda leak: -leak[0])
        del self.found[self.keep :]


@kernel
def _kind(row: np.record, own: int) -> int:
    if row.phase >= _DEAL_OVER or (
        row.led_card < 0 and row.tricks[0] + row.tricks[1] == _LAST_TRICK
    ):
        return _OVER  # or as good as over: the last cards are forced
    return OWN if row.to_act == own else OTHER


@kernel
def stage_of(row: np.record) -> int:
    """The place in `STAGES` of the decision to make."""
    phase = row.phase
    if phase == _PLAY:
        return int64(3) + row.tricks[0] + row.tricks[1]
    if phase == _ORDER or phase == _ACCEPT:
        return int64(0)
    if phase == _TAKE or phase == _DISCARD:
        return int64(2)
    return int64(1)


@kernel
def go_on(row: np.record, action: int, own: int) -> None:
    """Do an act, of either player; the deal is over as soon as its points are known. R18."""
    other, is_discard, mover = 1 - own, row.phase == _DISCARD, row.to_act
    place = row.num_actions
    apply(row, action)
    if mover == own and is_discard:
        row.hands[own] |= int64(1) << action  # which card it was stays open
    if mover == other and is_discard:
        row.discard = NO_CARD
        row.history[place] = HIDDEN_DISCARD
    # of the other's hand a row holds what a view does: the upcard, while it must be there (R22)
    known = int64(0)
    if (
        row.dealer == other
        and row.upcard_place == _TAKEN
        and (row.phase == _DISCARD or not row.discard_upcard)
    ):
        known = (int64(1) << row.upcard) & ~row.played[other]
    row.hands[other] = known
    if row.phase == _PLAY and row.led_card < 0 and is_decided(row):
        row.phase = _DEAL_OVER
        settle(row)


@kernel
def still_possible(row: np.record, alternatives: int, own: int) -> int:
    """The cards that may still be the one laid away: not played, and then no suit was revoked."""
    hand, away = row.hands[own], int64(0)
    for suit in range(NUM_SUITS):
        if row.voids[own] >> suit & 1:
            away |= hand & SUIT_CARDS[row.trump & 3, suit]
    alive = alternatives & hand
    if away == 0:
        return alive
    return alive & away if away & (away - 1) == 0 else int64(0)


@kernel
def rank_of(cards: int, card: int) -> int:
    """How many cards of a set are lower."""
    return popcount(cards & ((int64(1) << card) - 1))


@kernel
def own_bits_with(row: np.record, laid_away: int, own: int) -> int:
    """The own player's legal acts; ``laid_away`` is a card's bit, or 0."""
    if laid_away == 0:
        return legal_actions(row)
    return playable(row.hands[own] & ~laid_away, row.led_card, row.trump)


@kernel
def own_bits(row: np.record, alternatives: int, own: int) -> int:
    """The acts that are legal with one alternative or another."""
    if alternatives == 0:
        return legal_actions(row)
    bits, left = int64(0), still_possible(row, alternatives, own)
    while left:
        bits |= own_bits_with(row, left & -left, own)
        left &= left - 1
    return bits


@kernel
def own_view_into(row: np.record, laid_away: int, own: int, view: np.record) -> None:
    """What the own player sees at a node, with one of the alternatives; ``-1``: none."""
    blank_into(row, own, view)
    if laid_away >= 0:
        view.hands[own] = row.hands[own] & ~(int64(1) << laid_away)
        view.discard = laid_away
        view.history[discard_place(row)] = laid_away


@kernel
def _points(row: np.record, own: int) -> int:
    return int64(row.points[own]) - row.points[1 - own]


@kernel
def _points_after(row: np.record, winner: int, own: int, work: np.record) -> int:
    """The points of a deal whose last trick a seat wins."""
    copy_row(work, row)
    work.tricks[winner] += 1
    settle(work)
    return _points(work, own)


@kernel
def _wins_last_trick(row: np.record, own: int, own_card: int, other_card: int) -> bool:
    """Whether the own player's last card wins against the other's."""
    if row.to_act == own:
        return not BEATS[row.trump & 3, own_card & 63] >> other_card & 1
    return bool(BEATS[row.trump & 3, other_card & 63] >> own_card & 1)


@kernel
def _last(row: np.record, own: int, left: int, alternatives: int) -> int:
    """The own player's last card, a mask, when the lowest alternative left is laid away."""
    return row.hands[own] & ~(left & -left) if alternatives else row.hands[own]


@kernel
def settle_nodes(nodes: Nodes, worlds: Worlds, own: int, kinds: Ints, totals: Floats) -> None:
    """Deals that are over, but perhaps for the last trick: points times weight. R16, R17."""
    other = 1 - own
    work = np.empty(1, dtype=STATE_DTYPE)
    for i in range(nodes.rows.shape[0]):
        if kinds[i] != _OVER:
            continue
        row = nodes.rows[i]
        if row.phase >= _DEAL_OVER:
            weight = 0.0
            for k in range(nodes.starts[i], nodes.stops[i]):
                weight += worlds.weights[k]
            for d in range(totals.shape[1]):
                totals[i, d, 0] = weight * _points(row, own)
            continue
        won = _points_after(row, own, own, work[0])
        lost = _points_after(row, other, own, work[0])
        alternatives = nodes.alternatives[i]
        left = still_possible(row, alternatives, own) if alternatives else int64(1)
        while left:
            d = rank_of(alternatives, lowest(left)) if alternatives else int64(0)
            card = lowest(_last(row, own, left, alternatives))
            value = 0.0
            for k in range(nodes.starts[i], nodes.stops[i]):
                his = lowest(cards_left(row, other, worlds.dealt[k], worlds.discards[k]))
                value += worlds.weights[k] * (
                    won if _wins_last_trick(row, own, card, his) else lost
                )
            totals[i, d, 0] = value
            left &= left - 1


@kernel
def kinds_into(rows: States, own: int, kinds: Ints) -> tuple[int, int]:
    """Write whose nodes they are; returns how many are own, how many the other's."""
    num_own, num_other = int64(0), int64(0)
    for i in range(rows.shape[0]):
        kinds[i] = _kind(rows[i], own)
        num_own += kinds[i] == OWN
        num_other += kinds[i] == OTHER
    return num_own, num_other


@kernel
def select_nodes(nodes: Nodes, chosen: npt.NDArray[np.bool_], places: Ints, part: Nodes) -> None:
    """Copy some nodes, and write which they were."""
    num = 0
    for i in range(chosen.shape[0]):
        if not chosen[i]:
            continue
        copy_row(part.rows[num], nodes.rows[i])
        part.alternatives[num] = nodes.alternatives[i]
        part.starts[num], part.stops[num] = nodes.starts[i], nodes.stops[i]
        for d in range(part.reach.shape[1]):
            part.reach[num, d] = nodes.reach[i, d]
        places[num] = i
        num += 1


@kernel
def put_back(places: Ints, values: Floats, totals: Floats) -> None:
    """Write the values of some nodes where `select_nodes` has taken them from."""
    for i in range(places.shape[0]):
        for d in range(values.shape[1]):
            for v in range(values.shape[2]):
                totals[places[i], d, v] = values[i, d, v]


def new_nodes(num: int, num_reach: int = MAX_ALTERNATIVES) -> Nodes:
    """Room for nodes, nothing written; ``num_reach`` 0 where the model never comes."""
    return Nodes(
        np.empty(num, dtype=STATE_DTYPE),
        np.empty(num, dtype=np.int64),
        np.empty((num, num_reach)),
        np.empty(num, dtype=np.int64),
        np.empty(num, dtype=np.int64),
    )


def new_worlds(num: int) -> Worlds:
    """Room for worlds, nothing written."""
    return Worlds(np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int8), np.empty(num))


def root(view: States) -> Nodes:
    """A node from a view of the own player, with `NOBODY`'s cards hidden in it.

    Args:
        view: shape (1,), of a seat that knows its own hand or names blind.
    """
    nodes = new_nodes(1)
    nodes.rows[0] = view[0]
    nodes.rows["seat"] = NOBODY
    nodes.alternatives[:] = 0
    nodes.reach[:] = 0.0
    nodes.reach[0, 0] = 1.0
    nodes.starts[0] = 0
    return nodes
