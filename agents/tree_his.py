"""The other player's nodes of the public tree: what he does in each world, the worlds shared out.

See `agents.game_tree`.
"""

from typing import Final

import numpy as np

from agents.models import view_key
from agents.replay import pose
from agents.tree_nodes import Floats, Ints, Nodes, Worlds, go_on
from euchre_env.actions import NUM_ACTIONS, Phase
from euchre_env.engine import legal_actions
from euchre_env.kernel import call_policy, copy_row, int64, kernel, lowest
from euchre_env.state import STATE_DTYPE, States
from euchre_env.views import blank_into

_DISCARD: Final = int(Phase.DISCARD)


@kernel
def questions_into(
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
def acts_into(
    nodes: Nodes,
    worlds: Worlds,
    own: int,
    policy: int,
    memory: int,
    seed: np.uint64,
    scratch: States,
    actions: Ints,
) -> int:
    """The other player's acts, where he is a compiled policy: no view outlives its answer.

    Args:
        nodes: his.
        worlds: theirs.
        own: the own player's seat.
        policy: address of the compiled policy.
        memory: address of its memory.
        seed: of its random streams.
        scratch: one row for the view that it reads.
        actions: for every world of every node, one node after the other; written.

    Returns:
        How often there was a choice; -1 when an act was not legal.
    """
    other = 1 - own
    num, place = int64(0), int64(0)
    blanked, view, address = np.empty(1, dtype=STATE_DTYPE), scratch[0], scratch.ctypes.data
    for i in range(nodes.rows.shape[0]):
        row = nodes.rows[i]
        blank_into(row, other, blanked[0])
        for k in range(nodes.starts[i], nodes.stops[i]):
            copy_row(view, blanked[0])
            pose(row, other, worlds.dealt[k], worlds.discards[k], view)
            legal = legal_actions(view)
            if legal & (legal - 1):
                action = call_policy(policy, address, legal, view_key(view, seed), memory)
                if not (0 <= action < NUM_ACTIONS and legal >> action & 1):
                    return -1
                actions[place] = action
                num += 1
            else:
                actions[place] = lowest(legal)
            place += 1
    return num


@kernel
def count_shares(nodes: Nodes, actions: Ints, mixed: Floats, counts: Ints) -> tuple[int, int]:
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
def share_out(
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
    """Write the children of his nodes and the worlds that go there. See `count_shares`.

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
            go_on(children.rows[child], act, own)
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
def add_up(parents: Ints, values: Floats, totals: Floats) -> None:
    """At his nodes the children's values add up: each has the weight of its worlds."""
    for child in range(parents.shape[0]):
        for d in range(values.shape[1]):
            for v in range(values.shape[2]):
                totals[parents[child], d, v] += values[child, d, v]
