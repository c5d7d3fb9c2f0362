"""Players of two-handed Euchre: what an agent is, the scripted ones, learned ones.

>>> make_agent("novice").name
'novice'
"""

import importlib.machinery
import importlib.util
import os
from typing import Final

from agents.base import Agent, CompiledAgent, ProbabilisticAgent, streams
from agents.guest_process import PLACE
from agents.guests import TIME_LIMIT, Guest
from euchre_env.registry import agent_names, resolve_agent

__all__ = ["AGENTS", "Agent", "CompiledAgent", "ProbabilisticAgent", "make_agent", "streams"]

AGENTS: Final = {
    "random": "agents.scripted:random_agent",
    "novice": "agents.scripted:novice_agent",
    "expert": "agents.expert:expert_agent",
    "search": "agents.search:search_agent",
    "bidder": "agents.bidder:bidder_agent",
    "belief": "agents.belief_search:belief_agent",
    "best_response": "agents.best_response:best_response_agent",
    "ppo-strong": "agents.pretrained:ppo_strong",
    "ppo-selfplay": "agents.pretrained:ppo_selfplay",
    "run": "agents.learned:load_agent",
}
"""The one list of names: ``name -> "module:factory"``; the package registers just these."""


def make_agent(name: str | Agent, *, time_limit: float = TIME_LIMIT) -> Agent:
    """The agent of a name, like ``"novice"`` or ``"runs/2026-11-30-first"``.

    Args:
        name: a name of `AGENTS`, with ``:argument`` behind it where the agent takes one; a run
            folder; an agent from outside, ``"my_package.agents:Careful"``,
            ``"my_agent.py:Careful"`` or a name that another installed package has registered,
            which gets a process of its own (`agents.guests`); or an agent, which is returned as
            it is.
        time_limit: seconds that an agent from outside may take for a batch.

    Raises:
        ValueError: no such name, or its argument is refused; or it stands in ``__main__``.
        TypeError: neither a name nor an agent.
        ImportError: an agent from outside cannot be made; the message says why.
        OSError: a run folder cannot be read.
    """
    if isinstance(name, str) and name.startswith("__main__:"):
        raise ValueError(
            f"{name!r}: an agent that is named gets a process of its own, which cannot import the "
            f"program that runs: name its file, as in my_agent.py:{name.partition(':')[2]}, or "
            "give the agent itself"
        )
    if isinstance(name, str) and _is_from_outside(name):
        return Guest(name, time_limit)
    agent: Agent = resolve_agent(name, also=AGENTS)
    return agent


def _is_from_outside(name: str) -> bool:
    """Whether a name means an agent that is not this package's own."""
    first = name.partition(":")[0]
    if first in agent_names(AGENTS):
        return first not in AGENTS
    found = PLACE.fullmatch(name)
    # a name misspelt, "novise:3", is told as such, and not as a module that is missing
    return found is not None and (found["where"] != first or "." in first or _is_module(first))


def _is_module(name: str) -> bool:
    in_this_folder = importlib.machinery.PathFinder.find_spec(name, [os.getcwd()])
    return in_this_folder is not None or importlib.util.find_spec(name) is not None
