"""Own nodes of the public tree: what may be done, what the model would do, what is best.

See `agents.game_tree`.
"""

from agents.tree_nodes import (
    MAX_ALTERNATIVES,
    Floats,
    Ints,
    Nodes,
    go_on,
    own_bits,
    own_bits_with,
    own_view_into,
    rank_of,
    stage_of,
    still_possible,
)
from euchre_env.actions import Phase
from euchre_env.engine import legal_actions
from euchre_env.kernel import copy_row, int64, kernel, lowest, popcount
from euchre_env.state import States

_DISCARD, _BLIND = int(Phase.DISCARD), int(Phase.NAME_BLIND)


@kernel
def count_own(nodes: Nodes, own: int) -> tuple[int, int]:
    """How many children own nodes have, and how often the model is to be asked what it would do."""
    num_children, num_views = int64(0), int64(0)
    for i in range(nodes.rows.shape[0]):
        row = nodes.rows[i]
        num = popcount(own_bits(row, nodes.alternatives[i], own))
        num_children += 1 if row.phase == _DISCARD else num
        for d in range(nodes.reach.shape[1]):
            num_views += nodes.reach[i, d] > 0.0
    return num_children, num_views


@kernel
def own_questions_into(nodes: Nodes, own: int, views: States, bits: Ints, owners: Ints) -> None:
    """Write the own player's views, where he comes there by acting as the model does.

    Args:
        nodes: own ones.
        own: his seat.
        views: written, `count_own` says how many.
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
            own_view_into(row, card, own, views[num])
            bits[num] = legal_actions(views[num])
            owners[num] = MAX_ALTERNATIVES * i + d
            num += 1


@kernel
def own_children_into(
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
        owners: as `own_questions_into` has written them.
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
        left = own_bits(row, alternatives, own)
        is_discard = row.phase == _DISCARD
        legal = left
        while left:
            act = lowest(left)
            left = int64(0) if is_discard else left & (left - 1)
            copy_row(children.rows[child], row)
            go_on(children.rows[child], act, own)
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
    alive = still_possible(row, alternatives, own)
    for d in range(best.shape[1]):
        best[node, d] = -1
    left = alive if alternatives else int64(1)
    while left:
        laid_away = left & -left if alternatives else int64(0)
        d = rank_of(alternatives, lowest(left)) if alternatives else int64(0)
        left &= left - 1
        legal = own_bits_with(row, laid_away, own)
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
def choose_acts(
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
        owners: as `own_questions_into` has written them.
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
        stage = 1 + stage_of(row)
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
