"""The public tree of a deal for one player who knows how the other acts.

One own hand and upcard; every hand that the other player may hold. A *node* is what is public, and
the own cards; with it goes the list of *worlds* (what he was dealt, what he laid away) that lead
there, each with its weight: the chance of the world times the chances of what he did. At his nodes
the worlds are shared out by what he does in each; at own nodes each act is followed with all of
them. So the best an own act can earn is exact, not sampled (Johanson et al. 2011, "Accelerating
best response calculation in large extensive games", for one hand at a time).

A card laid away by the own player is not public: all of them are carried through one tree as
*alternatives*, and each has a value of its own at every node.

The tree is gone through in blocks of nodes: each is expanded with one question to the other
player's model for all its worlds, and its children are done in blocks again, depth first.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from agents.models import MAX_BATCH, Model
from agents.replay import cards_left, pose
from euchre_env.actions import HIDDEN_DISCARD, NUM_ACTIONS, Phase
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

_VALUES: Final = 1 + len(STAGES)
_OWN, _OTHER, _OVER = 0, 1, 2
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


# --- rows ----------------------------------------------------------------------------------------


@kernel
def _kind(row: np.record, own: int) -> int:
    if row.phase >= _DEAL_OVER or (
        row.led_card < 0 and row.tricks[0] + row.tricks[1] == _LAST_TRICK
    ):
        return _OVER  # or as good as over: the last cards are forced
    return _OWN if row.to_act == own else _OTHER


@kernel
def _stage(row: np.record) -> int:
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
def _go_on(row: np.record, action: int, own: int) -> None:
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
def _alive(row: np.record, alternatives: int, own: int) -> int:
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
def _rank(cards: int, card: int) -> int:
    """How many cards of a set are lower."""
    return popcount(cards & ((int64(1) << card) - 1))


@kernel
def _own_bits(row: np.record, laid_away: int, own: int) -> int:
    """The own player's legal acts; ``laid_away`` is a card's bit, or 0."""
    if laid_away == 0:
        return legal_actions(row)
    return playable(row.hands[own] & ~laid_away, row.led_card, row.trump)


@kernel
def _all_own_bits(row: np.record, alternatives: int, own: int) -> int:
    """The acts that are legal with one alternative or another."""
    if alternatives == 0:
        return legal_actions(row)
    bits, left = int64(0), _alive(row, alternatives, own)
    while left:
        bits |= _own_bits(row, left & -left, own)
        left &= left - 1
    return bits


@kernel
def _own_view_into(row: np.record, laid_away: int, own: int, view: np.record) -> None:
    """What the own player sees at a node, with one of the alternatives; ``-1``: none."""
    blank_into(row, own, view)
    if laid_away >= 0:
        view.hands[own] = row.hands[own] & ~(int64(1) << laid_away)
        view.discard = laid_away
        view.history[discard_place(row)] = laid_away


# --- his nodes -----------------------------------------------------------------------------------


@kernel
def _questions_into(
    nodes: Nodes,
    worlds: Worlds,
    own: int,
    views: States,
    bits: Ints,
    places: Ints,
    actions: Ints,
) -> int:
    """Write the other player's views where he has a choice; his act where he has none.

    Args:
        nodes: his.
        worlds: theirs.
        own: the own player's seat.
        views: written; as many as there are worlds are enough.
        bits: his legal acts in each view, written.
        places: the place in ``actions`` of each view, written.
        actions: for every world of every node, one node after the other; written where there is
            no choice.

    Returns:
        How many views.
    """
    other = 1 - own
    num, place = int64(0), int64(0)
    blanked = np.empty(1, dtype=STATE_DTYPE)
    for i in range(nodes.rows.shape[0]):
        row = nodes.rows[i]
        blank_into(row, other, blanked[0])
        for k in range(nodes.starts[i], nodes.stops[i]):
            view = views[num]
            copy_row(view, blanked[0])
            pose(row, other, worlds.dealt[k], worlds.discards[k], view)
            legal = legal_actions(view)
            if legal & (legal - 1):
                bits[num] = legal
                places[num] = place
                num += 1
            else:
                actions[place] = lowest(legal)
            place += 1
    return num


@kernel
def _sharing_counts(nodes: Nodes, actions: Ints, mixed: Floats, counts: Ints) -> tuple[int, int]:
    """How many worlds go which way from each node; returns how many children, how many worlds.

    Args:
        nodes: his.
        actions: of every world, one node after the other; -1 - q where row q of ``mixed`` tells
            the chances.
        mixed: chances, shape (q, 42).
        counts: shape (n, 42), zeros; written. A discard is no way of its own: act 0 counts it.
    """
    num_children, num_worlds, place = int64(0), int64(0), int64(0)
    for i in range(nodes.rows.shape[0]):
        is_hidden = nodes.rows[i].phase == _DISCARD
        for _ in range(nodes.stops[i] - nodes.starts[i]):
            action = actions[place]
            place += 1
            if action >= 0:
                counts[i, 0 if is_hidden else action] += 1
                continue
            for act in range(NUM_ACTIONS):
                if mixed[-1 - action, act] > 0.0:
                    counts[i, 0 if is_hidden else act] += 1
        for act in range(NUM_ACTIONS):
            num_children += counts[i, act] > 0
            num_worlds += counts[i, act]
    return num_children, num_worlds


@kernel
def _share_out(
    nodes: Nodes,
    worlds: Worlds,
    actions: Ints,
    mixed: Floats,
    counts: Ints,
    own: int,
    children: Nodes,
    parents: Ints,
    shared: Worlds,
) -> None:
    """Write the children of his nodes and the worlds that go there. See `_sharing_counts`.

    Args:
        nodes: his.
        worlds: theirs.
        actions: as for the counting.
        mixed: as for the counting.
        counts: as counted; overwritten.
        own: the own player's seat.
        children: written.
        parents: the node of each child, written.
        shared: the children's worlds, written.
    """
    child, top, place = int64(0), int64(0), int64(0)
    for i in range(nodes.rows.shape[0]):
        row = nodes.rows[i]
        is_hidden = row.phase == _DISCARD
        for act in range(NUM_ACTIONS):
            num = counts[i, act]
            counts[i, act] = top
            if num == 0:
                continue
            copy_row(children.rows[child], row)
            _go_on(children.rows[child], act, own)
            children.alternatives[child] = nodes.alternatives[i]
            for d in range(nodes.reach.shape[1]):
                children.reach[child, d] = nodes.reach[i, d]
            children.starts[child] = top
            top += num
            children.stops[child] = top
            parents[child] = i
            child += 1
        for k in range(nodes.starts[i], nodes.stops[i]):
            action = actions[place]
            place += 1
            first = max(action, 0)
            last = action if action >= 0 else NUM_ACTIONS - 1
            for act in range(first, last + 1):
                chance = 1.0 if action >= 0 else mixed[-1 - action, act]
                if chance <= 0.0:
                    continue
                way = 0 if is_hidden else act
                at = counts[i, way]
                counts[i, way] += 1
                shared.dealt[at] = worlds.dealt[k]
                shared.discards[at] = act if is_hidden else worlds.discards[k]
                shared.weights[at] = worlds.weights[k] * chance


@kernel
def _add_up(parents: Ints, values: Floats, totals: Floats) -> None:
    """At his nodes the children's values add up: each has the weight of its worlds."""
    for child in range(parents.shape[0]):
        for d in range(values.shape[1]):
            for v in range(values.shape[2]):
                totals[parents[child], d, v] += values[child, d, v]


# --- own nodes -----------------------------------------------------------------------------------


@kernel
def _count_own(nodes: Nodes, own: int) -> tuple[int, int]:
    """How many children own nodes have, and how often the model is to be asked what it would do."""
    num_children, num_views = int64(0), int64(0)
    for i in range(nodes.rows.shape[0]):
        row = nodes.rows[i]
        num = popcount(_all_own_bits(row, nodes.alternatives[i], own))
        num_children += 1 if row.phase == _DISCARD else num
        for d in range(nodes.reach.shape[1]):
            num_views += nodes.reach[i, d] > 0.0
    return num_children, num_views


@kernel
def _own_questions_into(nodes: Nodes, own: int, views: States, bits: Ints, owners: Ints) -> None:
    """Write the own player's views, where he comes there by acting as the model does.

    Args:
        nodes: own ones.
        own: his seat.
        views: written, `_count_own` says how many.
        bits: legal acts of each, written.
        owners: ``6 * node + alternative`` of each, written.
    """
    num = int64(0)
    for i in range(nodes.rows.shape[0]):
        row = nodes.rows[i]
        alternatives = nodes.alternatives[i]
        for d in range(nodes.reach.shape[1]):
            if nodes.reach[i, d] <= 0.0:
                continue
            card, left = int64(-1), alternatives
            for _ in range(d):
                left &= left - 1
            if alternatives:
                card = lowest(left)
            _own_view_into(row, card, own, views[num])
            bits[num] = legal_actions(views[num])
            owners[num] = MAX_ALTERNATIVES * i + d
            num += 1


@kernel
def _own_children_into(
    nodes: Nodes,
    own: int,
    owners: Ints,
    chances: Floats,
    children: Nodes,
    parents: Ints,
    acts: Ints,
) -> None:
    """Write a child for each act of own nodes; one for all discards.

    Args:
        nodes: own ones.
        own: the seat.
        owners: as `_own_questions_into` has written them.
        chances: what the model would do there, shape (q, 42).
        children: written; they share the worlds of their parents.
        parents: the node of each, written.
        acts: the act that leads there (any discard), written.
    """
    child, question = int64(0), int64(0)
    for i in range(nodes.rows.shape[0]):
        row, alternatives = nodes.rows[i], nodes.alternatives[i]
        first_question = question
        while question < owners.shape[0] and owners[question] // MAX_ALTERNATIVES == i:
            question += 1
        left = _all_own_bits(row, alternatives, own)
        is_discard = row.phase == _DISCARD
        legal = left
        while left:
            act = lowest(left)
            left = int64(0) if is_discard else left & (left - 1)
            copy_row(children.rows[child], row)
            _go_on(children.rows[child], act, own)
            children.alternatives[child] = legal if is_discard else alternatives
            children.starts[child] = nodes.starts[i]
            children.stops[child] = nodes.stops[i]
            parents[child] = i
            acts[child] = act
            for d in range(children.reach.shape[1]):
                children.reach[child, d] = 0.0
            for q in range(first_question, question):
                d = owners[q] % MAX_ALTERNATIVES
                if not is_discard:
                    children.reach[child, d] = nodes.reach[i, d] * chances[q, act]
                    continue
                cards, rank = legal, 0
                while cards:
                    children.reach[child, rank] = nodes.reach[i, d] * chances[q, lowest(cards)]
                    cards &= cards - 1
                    rank += 1
            child += 1


@kernel
def _best_of_acts(
    node: int,
    nodes: Nodes,
    own: int,
    first: int,
    last: int,
    acts: Ints,
    values: Floats,
    totals: Floats,
    best: Ints,
) -> None:
    """The best act of an own node for each alternative: its value, and which it is."""
    row, alternatives = nodes.rows[node], nodes.alternatives[node]
    alive = _alive(row, alternatives, own)
    for d in range(best.shape[1]):
        best[node, d] = -1
    left = alive if alternatives else int64(1)
    while left:
        laid_away = left & -left if alternatives else int64(0)
        d = _rank(alternatives, lowest(left)) if alternatives else int64(0)
        left &= left - 1
        legal = _own_bits(row, laid_away, own)
        for child in range(first, last):
            if legal >> acts[child] & 1 and (
                best[node, d] < 0 or values[child, d, 0] > totals[node, d, 0]
            ):
                totals[node, d, 0] = values[child, d, 0]
                best[node, d] = acts[child]


@kernel
def _best_of_discards(
    node: int, child: int, legal: int, values: Floats, totals: Floats, best: Ints
) -> None:
    """The best discard."""
    rank = int64(0)
    for d in range(best.shape[1]):
        best[node, d] = -1
    while legal:
        if best[node, 0] < 0 or values[child, rank, 0] > totals[node, 0, 0]:
            totals[node, 0, 0] = values[child, rank, 0]
            best[node, 0] = lowest(legal)
        legal &= legal - 1
        rank += 1


@kernel
def _choose(
    nodes: Nodes,
    own: int,
    owners: Ints,
    chances: Floats,
    parents: Ints,
    acts: Ints,
    values: Floats,
    totals: Floats,
    best: Ints,
    losses: Floats,
) -> None:
    """At own nodes: the value of the best act, and what the model's acts lose, stage by stage.

    value(node) - value of acting as the model does, from there on
        = sum over its acts of chance x (best value - value of the act + what is lost after it)

    Args:
        nodes: own ones.
        own: the seat.
        owners: as `_own_questions_into` has written them.
        chances: what the model does there.
        parents: the node of each child, rising.
        acts: the act that leads to each child.
        values: of the children, shape (c, 6, 9): the best value, then losses by stage.
        totals: zeros, shape (n, 6, 9); written.
        best: the best act, shape (n, 6), written; -1: none.
        losses: what the model's act loses at each question, shape (q,), written.
    """
    child, question = int64(0), int64(0)
    for i in range(nodes.rows.shape[0]):
        row = nodes.rows[i]
        first = child
        while child < parents.shape[0] and parents[child] == i:
            child += 1
        is_discard = row.phase == _DISCARD
        legal = legal_actions(row) if is_discard else int64(0)
        if is_discard:
            _best_of_discards(i, first, legal, values, totals, best)
        else:
            _best_of_acts(i, nodes, own, first, child, acts, values, totals, best)
        stage = 1 + _stage(row)
        while question < owners.shape[0] and owners[question] // MAX_ALTERNATIVES == i:
            d = owners[question] % MAX_ALTERNATIVES
            if row.phase == _BLIND:  # nothing is seen: no act can be chosen by the hand
                totals[i, d, 0] = 0.0
                for c in range(first, child):
                    totals[i, d, 0] += chances[question, acts[c]] * values[c, d, 0]
            lost, rank = 0.0, int64(0)
            for c in range(first, first + popcount(legal) if is_discard else child):
                place = first if is_discard else c
                branch = rank if is_discard else d
                act = lowest(legal) if is_discard else acts[c]
                legal &= legal - 1
                rank += 1
                chance = chances[question, act]
                if chance <= 0.0:
                    continue
                if row.phase != _BLIND:
                    lost += chance * (totals[i, d, 0] - values[place, branch, 0])
                for v in range(1, totals.shape[2]):
                    totals[i, d, v] += chance * values[place, branch, v]
            totals[i, d, stage] += lost
            losses[question] = lost * nodes.reach[i, d]
            question += 1


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
def _settle(nodes: Nodes, worlds: Worlds, own: int, kinds: Ints, totals: Floats) -> None:
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
        left = _alive(row, alternatives, own) if alternatives else int64(1)
        while left:
            d = _rank(alternatives, lowest(left)) if alternatives else int64(0)
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
def _kinds(rows: States, own: int, kinds: Ints) -> tuple[int, int]:
    """Write whose nodes they are; returns how many are own, how many the other's."""
    num_own, num_other = int64(0), int64(0)
    for i in range(rows.shape[0]):
        kinds[i] = _kind(rows[i], own)
        num_own += kinds[i] == _OWN
        num_other += kinds[i] == _OTHER
    return num_own, num_other


@kernel
def _select(nodes: Nodes, chosen: npt.NDArray[np.bool_], places: Ints, part: Nodes) -> None:
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
def _put_back(places: Ints, values: Floats, totals: Floats) -> None:
    for i in range(places.shape[0]):
        for d in range(values.shape[1]):
            for v in range(values.shape[2]):
                totals[places[i], d, v] = values[i, d, v]


# --- the tree ------------------------------------------------------------------------------------


def _new_nodes(num: int, num_reach: int = MAX_ALTERNATIVES) -> Nodes:
    return Nodes(
        np.empty(num, dtype=STATE_DTYPE),
        np.empty(num, dtype=np.int64),
        np.empty((num, num_reach)),
        np.empty(num, dtype=np.int64),
        np.empty(num, dtype=np.int64),
    )


def _new_worlds(num: int) -> Worlds:
    return Worlds(np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int8), np.empty(num))


class Tree:
    """Values of nodes against one model.

    Attributes:
        model: how the other player acts, and what the own player's losses are measured on.
        own: the own player's seat.
        leaks: where the model's acts lose most, as far as they were met; None: not kept.
        num_questions: acts of the model worked out so far.
    """

    def __init__(self, model: Model, own: int, leaks: Leaks | None = None) -> None:
        """Nothing is worked out yet."""
        self.model, self.own, self.leaks = model, own, leaks
        self.num_questions = 0
        self.block = COMPILED_BLOCK if model.policy_address else MAX_BATCH

    def values(self, nodes: Nodes, worlds: Worlds) -> Floats:
        """What nodes are worth to the own player, in points times the weight of the worlds.

        Args:
            nodes: at any moment of the deal.
            worlds: theirs.

        Returns:
            float64, shape (n, 6, 9): by alternative, the value of the best response; then for each
            of `STAGES` what the model, in the own player's place, loses against it from there on.
            Shape (n, 1 or 6, 1) where it comes to none of them.
        """
        is_reached: npt.NDArray[np.bool_] = np.asarray(nodes.reach.any(axis=1))
        num_alternatives = MAX_ALTERNATIVES if nodes.alternatives.any() else 1
        if is_reached.all() and len(is_reached):
            return self._values(nodes, worlds, MAX_ALTERNATIVES, _VALUES)
        if not is_reached.any():
            unreached = nodes._replace(reach=nodes.reach[:, :0])
            return self._values(unreached, worlds, num_alternatives, 1)
        totals = np.zeros((len(nodes.rows), MAX_ALTERNATIVES, _VALUES))
        for chosen in (is_reached, ~is_reached):
            places, part = self._part(nodes, chosen, nodes.reach.shape[1])
            _put_back(places, self.values(part, worlds), totals)
        return totals

    def _values(self, nodes: Nodes, worlds: Worlds, alternatives: int, values: int) -> Floats:
        totals = np.zeros((len(nodes.rows), alternatives, values))
        for start, stop in pairwise(self._cuts(nodes)):
            self._block(nodes.part(start, stop), worlds, totals[start:stop])
        return totals

    @staticmethod
    def _part(nodes: Nodes, chosen: npt.NDArray[np.bool_], num_reach: int) -> tuple[Ints, Nodes]:
        num = int(np.count_nonzero(chosen))
        places, part = np.empty(num, dtype=np.int64), _new_nodes(num, num_reach)
        _select(nodes, chosen, places, part)
        return places, part

    def _cuts(self, nodes: Nodes) -> list[int]:
        """Where nodes are cut into blocks, each of few enough worlds."""
        ends = np.cumsum(nodes.stops - nodes.starts)
        cuts = [0]
        while cuts[-1] < len(ends):
            done = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
            stop = int(np.searchsorted(ends, done + self.block, side="right"))
            cuts.append(max(stop, cuts[-1] + 1))
        return cuts

    def _block(self, nodes: Nodes, worlds: Worlds, totals: Floats) -> None:
        kinds = np.empty(len(nodes.rows), dtype=np.int64)
        num_own, num_other = _kinds(nodes.rows, self.own, kinds)
        if num_own + num_other < len(kinds):
            _settle(nodes, worlds, self.own, kinds, totals)
        for kind, num, work in ((_OTHER, num_other, self._his), (_OWN, num_own, self._own)):
            if num == len(kinds):
                work(nodes, worlds, totals)
            elif num:
                places, part = self._part(nodes, kinds == kind, nodes.reach.shape[1])
                values = np.zeros((num, *totals.shape[1:]))
                work(part, worlds, values)
                _put_back(places, values, totals)

    def _his(self, nodes: Nodes, worlds: Worlds, totals: Floats) -> None:
        num = int((nodes.stops - nodes.starts).sum())
        views = np.empty(num + 1, dtype=STATE_DTYPE)
        bits, places, actions = (np.empty(num, dtype=np.int64) for _ in range(3))
        asked = _questions_into(nodes, worlds, self.own, views, bits, places, actions)
        self.num_questions += asked
        mixed = np.empty((0, NUM_ACTIONS))
        if asked and self.model.is_mixed:
            mixed = self.model.chances(views[:asked], bits[:asked])
            actions[places[:asked]] = -1 - np.arange(asked)
        elif asked:
            actions[places[:asked]] = self.model.actions(views[:asked], bits[:asked])
        counts = np.zeros((len(nodes.rows), NUM_ACTIONS), dtype=np.int64)
        num_children, num_worlds = _sharing_counts(nodes, actions, mixed, counts)
        children = _new_nodes(num_children, nodes.reach.shape[1])
        shared = _new_worlds(num_worlds)
        parents = np.empty(num_children, dtype=np.int64)
        _share_out(nodes, worlds, actions, mixed, counts, self.own, children, parents, shared)
        _add_up(parents, self.values(children, shared), totals)

    def own_children(self, nodes: Nodes) -> tuple[Nodes, Ints]:
        """The children of own nodes that the model in the own player's place never comes to.

        Returns:
            The children, which share the worlds of their parents, and the act that leads to each
            (to the one child of a discard, any of them).
        """
        nothing = np.empty(0, dtype=np.int64)
        children, _, acts = self._children(nodes, nothing, np.empty((0, NUM_ACTIONS)))
        return children, acts

    def _children(self, nodes: Nodes, owners: Ints, chances: Floats) -> tuple[Nodes, Ints, Ints]:
        num, _ = _count_own(nodes, self.own)
        children = _new_nodes(num, nodes.reach.shape[1])
        parents, acts = (np.empty(num, dtype=np.int64) for _ in range(2))
        _own_children_into(nodes, self.own, owners, chances, children, parents, acts)
        return children, parents, acts

    def _own(self, nodes: Nodes, worlds: Worlds, totals: Floats) -> None:
        _, asked = _count_own(nodes, self.own)
        views = np.empty(asked, dtype=STATE_DTYPE)
        bits, owners = np.empty(asked, dtype=np.int64), np.empty(asked, dtype=np.int64)
        _own_questions_into(nodes, self.own, views, bits, owners)
        chances = self.model.chances(views, bits) if asked else np.empty((0, NUM_ACTIONS))
        children, parents, acts = self._children(nodes, owners, chances)
        best = np.empty((len(nodes.rows), totals.shape[1]), dtype=np.int64)
        losses = np.empty(asked)
        _choose(
            nodes, self.own, owners, chances, parents, acts,
            self.values(children, worlds), totals, best, losses,
        )  # fmt: skip
        if self.leaks is not None:
            self._note_leaks(views, owners, chances, best, losses)

    def _note_leaks(
        self, views: States, owners: Ints, chances: Floats, best: Ints, losses: Floats
    ) -> None:
        assert self.leaks is not None
        for q in np.flatnonzero(losses > 1e-9):
            better = int(best[divmod(int(owners[q]), MAX_ALTERNATIVES)])
            others = chances[q].copy()
            others[better] = 0.0
            self.leaks.add(float(losses[q]), int(others.argmax()), better, views[q : q + 1].copy())


def root(view: States) -> Nodes:
    """A node from a view of the own player, with `NOBODY`'s cards hidden in it.

    Args:
        view: shape (1,), of a seat that knows its own hand or names blind.
    """
    nodes = _new_nodes(1)
    nodes.rows[0] = view[0]
    nodes.rows["seat"] = NOBODY
    nodes.alternatives[:] = 0
    nodes.reach[:] = 0.0
    nodes.reach[0, 0] = 1.0
    nodes.starts[0] = 0
    return nodes
