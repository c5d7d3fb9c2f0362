"""The leaderboard: every shipped agent against every other, on the held-out deals, as a page.

    python benchmarks/leaderboard.py

writes ``results/leaderboard.json`` (every number) and ``docs/leaderboard.md`` (the table, made from
that file alone). Exploitability comes from ``results/exploitability-NAME.json`` where there.
"""

import json
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import tyro

from agents import AGENTS, make_agent
from agents.evaluation import match
from agents.evaluation.backends import Crew
from agents.evaluation.controls import load_ceilings
from agents.evaluation.files import write_json, write_text
from agents.evaluation.play import agent_name
from agents.evaluation.standings import summarise
from euchre_env.rules import Rules

ROOT: Final = Path(__file__).parents[1]
NUMBERS, PAGE = ROOT / "results/leaderboard.json", ROOT / "docs/leaderboard.md"
NOT_RANKED: Final = ("run", "best_response", "belief")
"""Names of `AGENTS` that are left out: the first two are no agents by themselves (a folder, an
opponent must be told), the third is too slow for so many pairs."""


@dataclass(frozen=True)
class Args:
    """Play the tournament of all shipped agents and write the leaderboard."""

    pairs: int = 10_000
    """mirrored pairs of held-out deals for every two agents"""
    games: int = 1_000
    """mirrored pairs of whole games"""


def shipped_agents() -> list[str]:
    """Names of the agents that are ranked."""
    return [name for name in AGENTS if name not in NOT_RANKED]


def play(names: list[str], pairs: int, games: int) -> dict[str, Any]:
    """The tournament as JSON values, with each agent's exploitability and speed."""
    crew = Crew("loky")
    playing = partial(match, pairs=pairs, games=games, deals="heldout", crew=crew)
    results = [playing(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
    command = f"python benchmarks/leaderboard.py --pairs {pairs} --games {games}"
    titles = [agent_name(make_agent(name)) for name in names]
    ceilings = load_ceilings(ROOT / "results", Rules())
    speeds = {
        title: match(name, name, pairs=min(pairs, 1_000)).decisions_per_second
        for title, name in zip(titles, names, strict=True)
    }
    found = summarise(titles, results, command=command).to_json()
    for standing in found["standings"]:
        ceiling = ceilings.get(standing["agent"])
        standing["exploitability"] = ceiling and vars(ceiling)
        standing["decisions_per_second"] = speeds[standing["agent"]]
    return found


def page(found: dict[str, Any]) -> str:
    """The page, from the numbers alone."""
    protocol = found["protocol"]
    lines = [
        "# Leaderboard",
        "",
        f"{found['headline']} Held-out deals, seed {protocol['seed']}, hash "
        f"`{protocol['deals_hash']}`.",
        "",
        "| rank | agent | rating | points per deal | worst | games won | exploitability "
        "| decisions a second |",
        "|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    for rank, standing in enumerate(found["standings"], 1):
        cells = [
            str(rank),
            f"`{standing['agent']}`",
            _with_error(standing["rating"], "+.0f"),
            _with_error(standing["field"], "+.3f"),
            f"{standing['worst']['mean']:+.3f} (`{standing['worst_against']}`)",
            "–" if standing["game_share"] is None else f"{standing['game_share']:.1%}",
            _with_error(standing["exploitability"], ".3f") if standing["exploitability"] else "–",
            f"{float(format(standing['decisions_per_second'], '.2g')):,.0f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "*Rating*: Bradley and Terry's, on Elo's scale, mean 0. *Points per deal*: against all "
        "others, each counting alike. *Worst*: against whom it does worst. *Exploitability*: "
        "points per deal that the exact best response wins from it. ± is half of the 95% "
        "interval. *Decisions a second*: on one core of the machine that made this page. "
        "`belief` is not ranked: it is too slow for so many pairs.",
        "",
        f"Made by `{protocol['command']}`; all numbers are in `results/leaderboard.json`. "
        "How to play against these with an agent of your own: "
        "[evaluation](evaluation.md#an-agent-of-your-own).",
        "",
    ]
    return "\n".join(lines)


def _with_error(estimate: dict[str, float], form: str) -> str:
    error = (estimate["high"] - estimate["low"]) / 2
    return f"{estimate['mean']:{form}} ± {error:{form.lstrip('+')}}"


def main(args: Args) -> None:
    """Play, and write both files."""
    found = play(shipped_agents(), args.pairs, args.games)
    write_json(NUMBERS, found)
    write_text(PAGE, page(found))
    print(f"written: {PAGE}, {NUMBERS}")


def read() -> dict[str, Any]:
    """The numbers that the page was made from."""
    found: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    main(tyro.cli(Args))
