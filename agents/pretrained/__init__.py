"""Agents that training has made and the package brings along, under names of their own.

Each lies in a folder beside this file as ``train.py`` saved it (`agents.policies`), with a model
card, ``README.md``. ``benchmarks/ship_pretrained.py`` puts them here: the seed with the median
result of a preset, not the best.

>>> ppo_selfplay().name
'ppo-selfplay'
"""

from pathlib import Path
from typing import Final

from agents.learned import LearnedAgent
from agents.policies import load_policy

FOLDER: Final = Path(__file__).parent
SAMPLE: Final = "sample"


def pretrained(name: str, argument: str = "") -> LearnedAgent:
    """A shipped agent.

    Args:
        name: of its folder here.
        argument: ``""`` for the likeliest act in every position, ``"sample"`` to draw acts by
            their probability.

    Raises:
        ValueError: another argument, or a damaged file.
    """
    if argument not in ("", SAMPLE):
        raise ValueError(f"it takes nothing, or {SAMPLE!r} to draw acts by their probability")
    title = f"{name}:{argument}" if argument else name
    return LearnedAgent(load_policy(FOLDER / name), title, is_sampled=argument == SAMPLE)


def ppo_strong(argument: str = "") -> LearnedAgent:
    """Trained against ``expert`` alone, which it beats by far; its own leaks are large.

    Args:
        argument: see `pretrained`.
    """
    return pretrained("ppo-strong", argument)


def ppo_selfplay(argument: str = "") -> LearnedAgent:
    """Trained against itself, its past selves and ``expert``: hard to exploit.

    Args:
        argument: see `pretrained`.
    """
    return pretrained("ppo-selfplay", argument)
