"""The public tree of a deal for one player who knows how the other acts.

One own hand and upcard; every hand that the other player may hold. At his nodes
(`agents.tree_his`) the worlds are shared out by what he does in each; at own nodes
(`agents.tree_own`) each act is followed with all of them. So the best an own act can earn is exact,
not sampled (Johanson et al. 2011, "Accelerating best response calculation in large extensive
games", for one hand at a time). What nodes and worlds are stands in `agents.tree_nodes`.

The tree is gone through in blocks of nodes: each is expanded with one question to the other
player's model for all its worlds, and its children are done in blocks again, depth first.
"""

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from agents.models import MAX_BATCH, Model
from agents.tree_his import acts_into, add_up, count_shares, questions_into, share_out
from agents.tree_nodes import (
    COMPILED_BLOCK,
    MAX_ALTERNATIVES,
    NUM_VALUES,
    OTHER,
    OWN,
    Floats,
    Ints,
    Leaks,
    Nodes,
    Worlds,
    kinds_into,
    new_nodes,
    new_worlds,
    put_back,
    select_nodes,
    settle_nodes,
)
from agents.tree_own import choose_acts, count_own, own_children_into, own_questions_into
from euchre_env.actions import NUM_ACTIONS
from euchre_env.state import STATE_DTYPE, States


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
        self._scratch = np.empty(1, dtype=STATE_DTYPE)
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
            return self._values(nodes, worlds, MAX_ALTERNATIVES, NUM_VALUES)
        if not is_reached.any():
            unreached = nodes._replace(reach=nodes.reach[:, :0])
            return self._values(unreached, worlds, num_alternatives, 1)
        totals = np.zeros((len(nodes.rows), MAX_ALTERNATIVES, NUM_VALUES))
        for chosen in (is_reached, ~is_reached):
            places, part = self._part(nodes, chosen, nodes.reach.shape[1])
            put_back(places, self.values(part, worlds), totals)
        return totals

    def _values(self, nodes: Nodes, worlds: Worlds, alternatives: int, values: int) -> Floats:
        totals = np.zeros((len(nodes.rows), alternatives, values))
        for start, stop in pairwise(self._cuts(nodes)):
            self._block(nodes.part(start, stop), worlds, totals[start:stop])
        return totals

    @staticmethod
    def _part(nodes: Nodes, chosen: npt.NDArray[np.bool_], num_reach: int) -> tuple[Ints, Nodes]:
        num = int(np.count_nonzero(chosen))
        places, part = np.empty(num, dtype=np.int64), new_nodes(num, num_reach)
        select_nodes(nodes, chosen, places, part)
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
        num_own, num_other = kinds_into(nodes.rows, self.own, kinds)
        if num_own + num_other < len(kinds):
            settle_nodes(nodes, worlds, self.own, kinds, totals)
        for kind, num, work in ((OTHER, num_other, self._his), (OWN, num_own, self._own)):
            if num == len(kinds):
                work(nodes, worlds, totals)
            elif num:
                places, part = self._part(nodes, kinds == kind, nodes.reach.shape[1])
                values = np.zeros((num, *totals.shape[1:]))
                work(part, worlds, values)
                put_back(places, values, totals)

    def _his(self, nodes: Nodes, worlds: Worlds, totals: Floats) -> None:
        num = int((nodes.stops - nodes.starts).sum())
        actions = np.empty(num, dtype=np.int64)
        mixed = self._his_acts(nodes, worlds, actions)
        counts = np.zeros((len(nodes.rows), NUM_ACTIONS), dtype=np.int64)
        num_children, num_worlds = count_shares(nodes, actions, mixed, counts)
        children = new_nodes(num_children, nodes.reach.shape[1])
        shared = new_worlds(num_worlds)
        parents = np.empty(num_children, dtype=np.int64)
        share_out(nodes, worlds, actions, mixed, counts, self.own, children, parents, shared)
        add_up(parents, self.values(children, shared), totals)

    def _his_acts(self, nodes: Nodes, worlds: Worlds, actions: Ints) -> Floats:
        """Write what he does in every world; returns chances where he mixes: see `share_out`."""
        model = self.model
        if model.policy_address:
            asked = acts_into(
                nodes, worlds, self.own, model.policy_address, model.memory_address, model.seed,
                self._scratch, actions,
            )  # fmt: skip
            if asked >= 0:
                self.num_questions += asked
                return np.empty((0, NUM_ACTIONS))
            # an act was not legal: asked the other way, the model says in which position
        num = len(actions)
        views = np.empty(num + 1, dtype=STATE_DTYPE)
        bits, places = np.empty(num, dtype=np.int64), np.empty(num, dtype=np.int64)
        asked = questions_into(nodes, worlds, self.own, views, bits, places, actions)
        self.num_questions += asked
        if asked and model.is_mixed:
            mixed = model.chances(views[:asked], bits[:asked])
            actions[places[:asked]] = -1 - np.arange(asked)
            return mixed
        if asked:
            actions[places[:asked]] = model.actions(views[:asked], bits[:asked])
        return np.empty((0, NUM_ACTIONS))

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
        num, _ = count_own(nodes, self.own)
        children = new_nodes(num, nodes.reach.shape[1])
        parents, acts = (np.empty(num, dtype=np.int64) for _ in range(2))
        own_children_into(nodes, self.own, owners, chances, children, parents, acts)
        return children, parents, acts

    def _own(self, nodes: Nodes, worlds: Worlds, totals: Floats) -> None:
        _, asked = count_own(nodes, self.own)
        views = np.empty(asked, dtype=STATE_DTYPE)
        bits, owners = np.empty(asked, dtype=np.int64), np.empty(asked, dtype=np.int64)
        own_questions_into(nodes, self.own, views, bits, owners)
        chances = self.model.chances(views, bits) if asked else np.empty((0, NUM_ACTIONS))
        children, parents, acts = self._children(nodes, owners, chances)
        best = np.empty((len(nodes.rows), totals.shape[1]), dtype=np.int64)
        losses = np.empty(asked)
        choose_acts(
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
