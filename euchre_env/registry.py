"""Names of agents: any installed package can register some; the environment imports none itself.

A package registers agents under the entry-point group ``euchre_env.agents``: a name and a factory
that takes one string, the text after the colon of ``name:text`` (empty when there is none).
"""

import difflib
import functools
import os
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

GROUP: Final = "euchre_env.agents"
RUN: Final = "run"
"""The name under which trained agents load from a folder; a path alone means ``run:path``."""


@functools.cache
def _registered() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}


def agent_names() -> list[str]:
    """The names that installed packages have registered, sorted."""
    return sorted(_registered())


def split_name(name: str) -> tuple[str, str]:
    """An agent's name and what follows its colon; a path is split as ``run`` and the path."""
    head, _, rest = name.partition(":")
    if head not in _registered() and (os.path.sep in name or os.path.isdir(name)):
        return RUN, name
    return head, rest


def resolve_agent(agent: Any) -> Any:
    """The agent of a name; an object that can act is handed back as it is.

    Args:
        agent: a registered name like ``"novice"`` or ``"search:40"``, the folder of a training
            run, or an object with ``act(views, action_masks, rng)``.

    Raises:
        ValueError: nobody registered the name, or the factory refuses what follows the colon.
    """
    if callable(getattr(agent, "act", None)):
        return agent
    if not isinstance(agent, str):
        raise ValueError(
            f"{agent!r} is no agent: it has no method act(views, action_masks, rng)"
        )
    head, rest = split_name(agent)
    entry = _registered().get(head)
    if entry is None:
        near = difflib.get_close_matches(head, agent_names(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"no agent is called {agent!r}{hint} "
            f"(known: {', '.join(agent_names()) or 'none: no package with agents is installed'})"
        )
    return entry.load()(rest)
