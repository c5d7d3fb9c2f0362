"""The exact best response: the most that anybody can win from an agent, and how.

For one own hand and upcard every hand that the other player may hold is followed through the
public tree (`agents.game_tree`), and the best act is taken at each own decision. Over sampled
deals the mean gain is the agent's *exploitability*, without bias. An agent that draws its acts and
tells no probabilities is taken for the player that it is with one fixed seed (`agents.models`).
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents.base import Agent, at_the_door
from agents.beliefs import posterior
from agents.game_tree import Tree
from agents.models import Model
from agents.tree_nodes import MAX_ALTERNATIVES, STAGES, Leaks, Nodes, Worlds, root
from agents.weighing import candidates
from euchre_env.actions import NUM_ACTIONS, Phase
from euchre_env.state import NO_CARD, NOBODY, States

_BLIND: Final = int(Phase.NAME_BLIND)


@dataclass(frozen=True, eq=False)
class Response:
    """What can be won from an agent with one hand."""

    best: float
    """Points a deal of the best response."""
    own: float
    """Points a deal of the agent itself, in the same seat with the same hand."""
    losses: npt.NDArray[np.float64]
    """What the agent loses there, by `tree_nodes.STAGES`: shape (8,), sum ``best - own``."""
    questions: int
    """Acts of the agent that were worked out."""


def _start(view: States, model: Model, is_weighed: bool) -> tuple[Nodes, Worlds]:
    """The node of a view and the worlds that lead there, weights summing to 1."""
    nodes = root(view)
    if is_weighed:
        belief = posterior(view, model, floor=0.0)
        dealt, firsts, discards = candidates(view)
        kept = belief.weights > 0
        worlds = Worlds(
            np.repeat(dealt, np.diff(firsts))[kept], discards[kept], belief.weights[kept]
        )
    else:
        dealt, _, _ = candidates(view)
        num = len(dealt)
        worlds = Worlds(dealt, np.full(num, NO_CARD, dtype=np.int8), np.full(num, 1.0 / num))
    nodes.stops[0] = len(worlds.dealt)
    return nodes, worlds


def respond(view: States, model: Model, leaks: Leaks | None = None) -> Response:
    """The best response to an agent from the beginning of a deal, with one own hand.

    Args:
        view: of the own player, shape (1,), before the first act.
        model: the agent.
        leaks: where to note the agent's losses; None: nowhere.

    Returns:
        Points a deal, exact but for rounding. Where trump is named before the hand is seen (R13)
        no act can follow from it, and the agent's own is kept: a lower bound under that rule.

    Raises:
        ValueError: no view of the beginning of a deal, or an answer of the agent that is not legal.
    """
    if view.shape != (1,) or view[0].seat == NOBODY or view[0].num_actions != 0:
        raise ValueError("the best response is worked out from one view before the first act")
    nodes, worlds = _start(_with_hand(view), model, is_weighed=False)
    tree = Tree(model, int(view[0].seat), leaks)
    values = tree.values(nodes, worlds)[0, 0]
    best, losses = float(values[0]), values[1:].copy()
    return Response(best, best - float(losses.sum()), losses, tree.num_questions)


def _with_hand(view: States) -> States:
    """The view, for a check that the own hand is in it."""
    row = view[0]
    if row.hands[row.seat] == 0:
        raise ValueError("the own hand is missing: give the view of before the suit is named blind")
    return view


class BestResponseAgent:
    """Plays the best response to an agent, worked out anew at each decision.

    It knows how the agent acts and what that tells of its cards, and plays what wins most against
    just this agent; against others it may be weak. In a position that the agent would never let
    come about, it holds every hand that fits for as likely.
    """

    def __init__(self, agent: Agent | Model) -> None:
        """Take the agent to beat."""
        self.model = agent if isinstance(agent, Model) else Model(agent)
        self.name = f"best_response:{self.model.name}"
        self._known: dict[bytes, int] = {}

    def act(
        self,
        views: States,
        action_masks: npt.NDArray[np.int8],
        rng: npt.NDArray[np.uint64],
    ) -> npt.NDArray[np.int64]:
        """Choose an act for every view (see `agents.base.Agent.act`); nothing is drawn.

        Raises:
            ValueError: an answer of the agent that is not legal, or what
                `agents.base.at_the_door` refuses.
        """
        rows, _, bits = at_the_door(views, action_masks)
        return np.array(
            [self._choose(rows[i : i + 1], int(bits[i])) for i in range(len(rows))], dtype=np.int64
        )

    def _choose(self, view: States, bits: int) -> int:
        if bits & (bits - 1) == 0:
            return bits.bit_length() - 1
        if view[0].phase == _BLIND:
            return int(self.model.actions(view, np.array([bits]))[0])
        key = view.tobytes()
        if key not in self._known:
            if len(self._known) > 100_000:
                self._known.clear()
            self._known[key] = self._best(view, bits)
        return self._known[key]

    def _best(self, view: States, bits: int) -> int:
        nodes, worlds = _start(view, self.model, is_weighed=True)
        nodes = nodes._replace(reach=nodes.reach[:, :0])
        values = act_values(Tree(self.model, int(view[0].seat)), nodes, worlds)
        legal = [action for action in range(NUM_ACTIONS) if bits >> action & 1]
        return max(legal, key=lambda action: values[action])

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies begin without what was worked out."""
        return type(self), (self.model.agent,)


def act_values(tree: Tree, nodes: Nodes, worlds: Worlds) -> npt.NDArray[np.float64]:
    """What each act is worth at one own node, if all after it is the best response.

    Args:
        tree: against the model.
        nodes: one, own.
        worlds: theirs.

    Returns:
        float64, shape (42,), points times the weight of the worlds; -inf where not legal.
    """
    children, acts = tree.own_children(nodes)
    values = tree.values(children, worlds)[:, :, 0]
    result = np.full(NUM_ACTIONS, -np.inf)
    if nodes.rows[0].phase == Phase.DISCARD:
        cards = int(children.alternatives[0])
        discards = [card for card in range(NUM_ACTIONS) if cards >> card & 1]
        result[discards] = values[0, : len(discards)]
        return result
    result[acts] = values[:, 0]
    return result


def best_response_agent(argument: str = "") -> BestResponseAgent:
    """The agent named ``best_response:AGENT``.

    Args:
        argument: the name of the agent to beat.

    Raises:
        ValueError: no name, or one that is none.
    """
    from agents import make_agent

    if not argument:
        raise ValueError("it takes the agent to beat, like best_response:novice")
    return BestResponseAgent(make_agent(argument))


__all__ = [
    "MAX_ALTERNATIVES",
    "STAGES",
    "BestResponseAgent",
    "Response",
    "act_values",
    "best_response_agent",
    "respond",
]
