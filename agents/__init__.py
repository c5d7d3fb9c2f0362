"""Players of two-handed Euchre: what an agent is, the scripted ones, learned ones.

>>> make_agent("novice").name
'novice'
"""

from typing import Final

from agents.base import Agent, CompiledAgent, ProbabilisticAgent, streams
from euchre_env.registry import resolve_agent

__all__ = ["AGENTS", "Agent", "CompiledAgent", "ProbabilisticAgent", "make_agent", "streams"]

AGENTS: Final = {
    "random": "agents.scripted:random_agent",
    "novice": "agents.scripted:novice_agent",
    "expert": "agents.expert:expert_agent",
    "search": "agents.search:search_agent",
    "bidder": "agents.bidder:bidder_agent",
    "belief": "agents.belief_search:belief_agent",
    "best_response": "agents.best_response:best_response_agent",
    "run": "agents.learned:load_agent",
}
"""The one list of names: ``name -> "module:factory"``; the package registers just these."""


def make_agent(name: str | Agent) -> Agent:
    """The agent of a name, like ``"novice"`` or ``"runs/2026-11-30-first"``.

    Args:
        name: a name of `AGENTS` or one that another installed package has registered, with
            ``:argument`` behind it where the agent takes one; a run folder; or an agent, which
            is returned as it is.

    Raises:
        ValueError: no such name, or its argument is refused.
        TypeError: neither a name nor an agent.
        OSError: a run folder cannot be read.
    """
    agent: Agent = resolve_agent(name, also=AGENTS)
    return agent
