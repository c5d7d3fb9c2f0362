"""Agents by name: looked up among what installed packages have registered.

Any installed package may add agents under the entry-point group ``euchre_env.agents``, in its
``pyproject.toml``::

    [project.entry-points."euchre_env.agents"]
    careful = "my_package.agents:careful_agent"

The entry is a factory. It is called with one string: what stands after the colon in
``"careful:3"``, or ``""`` where there is none. So this package never imports ``agents``.
"""

import difflib
import functools
import os
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

GROUP: Final = "euchre_env.agents"
"""The entry-point group."""
RUN: Final = "run"
"""The name under which saved policies are registered; a folder alone means ``run:<folder>``."""


@functools.cache
def _registered() -> dict[str, EntryPoint]:
    """The entry points of the group by name, looked up once a process."""
    found: dict[str, EntryPoint] = {}
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise ValueError(
                f"two packages register the agent {entry.name!r}: {other.value} and {entry.value}"
            )
    return found


def _known(also: Mapping[str, str] | None) -> dict[str, EntryPoint]:
    listed = {name: EntryPoint(name, value, GROUP) for name, value in (also or {}).items()}
    return {**listed, **_registered()}


def agent_names(also: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The names that can be resolved, sorted.

    Args:
        also: names to know beside the registered ones, ``name -> "module:attribute"``.
    """
    return tuple(sorted(_known(also)))


def resolve_agent(agent: Any, also: Mapping[str, str] | None = None) -> Any:
    """The agent of a name; an agent itself passes through unchanged.

    Args:
        agent: ``"novice"``; ``"name:argument"``; a folder (anything that holds a path separator,
            or is a folder and no known name), which means ``run:<folder>``; or any object with
            ``act(views, action_masks, rng)``.
        also: names to know beside the registered ones, ``name -> "module:attribute"``; a
            registered name goes first.

    Returns:
        An object with ``act`` (see ``docs/agents.md``).

    Raises:
        ValueError: no such name (the message lists those there are), or its factory refuses the
            argument.
        TypeError: neither a name nor an agent, or the factory made no agent.
        ImportError: the name is registered, but what stands behind it does not load.
        OSError: what an argument names cannot be read.
    """
    if callable(getattr(agent, "act", None)) and not isinstance(agent, type):
        return agent
    if not isinstance(agent, str):
        raise TypeError(
            f"{agent!r} is no agent: give a name or an object with act(views, action_masks, rng)"
        )
    known = _known(also)
    name, _, argument = agent.partition(":")
    if name.endswith(".py"):
        raise ValueError(_file_of_code(name, argument))
    if name not in known and _is_path(agent):
        name, argument = RUN, agent
    if name not in known:
        raise ValueError(_unknown(agent, name, tuple(sorted(known))))
    return _make(known[name], argument)


def _is_path(text: str) -> bool:
    separators = tuple(filter(None, (os.sep, os.altsep)))
    return any(separator in text for separator in separators) or os.path.isdir(text)


def _file_of_code(name: str, argument: str) -> str:
    if not argument:
        return f"{name!r} is a file: name the agent in it too, as in {name}:Careful"
    return (
        f"environments take an agent of your own as an object: "
        f"opponent=agents.make_agent({f'{name}:{argument}'!r})"
    )


def _unknown(agent: str, name: str, names: tuple[str, ...]) -> str:
    if not names:
        return (
            f"no agent is called {agent!r}: none is registered at all; "
            "install the package (pip install -e .) or give an agent object"
        )
    close = difflib.get_close_matches(name, names, n=1)
    guess = f" (did you mean {close[0]!r}?)" if close else ""
    return (
        f"no agent is called {agent!r}{guess}: there are {', '.join(names)}, "
        "and folders that train.py has written"
    )


def _make(entry: EntryPoint, argument: str) -> Any:
    try:
        factory = entry.load()
    except (ImportError, AttributeError) as problem:
        raise ImportError(
            f"the agent {entry.name!r} is registered as {entry.value}, which does not load: "
            f"{problem}"
        ) from problem
    try:
        made = factory(argument)
    except ValueError as problem:
        raise ValueError(f"agent {entry.name!r} with argument {argument!r}: {problem}") from problem
    if not callable(getattr(made, "act", None)):
        raise TypeError(f"{entry.value} made {made!r}, which has no act(views, action_masks, rng)")
    return made
