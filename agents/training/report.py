"""A run as one page: curves, calls over time, matches, and a deal drawn move by move.

The page loads nothing, from the network or the disk. Its layout is ``templates/run.html.j2``;
names are escaped there.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from agents import make_agent
from agents.evaluation import MatchResult, rules_text
from agents.evaluation.plots import EVEN, INK, LOSS, MUTED, STYLE, WIN, svg_text
from agents.learned import LearnedAgent
from agents.policies import write_atomically
from agents.training.curve import smoothed
from agents.training.run import Run
from euchre_env.actions import NUM_ACTIONS
from euchre_env.dealing import seed_streams
from euchre_env.drawing import Drawing, sheet, show
from euchre_env.engine import action_bits, action_masks, apply_all, start_games
from euchre_env.rules import Rules
from euchre_env.state import new_states
from euchre_env.views import blank

PAGE: Final = "report.html"
_COLOURS: Final = (WIN, LOSS, INK, EVEN, MUTED)
_BELOW: Final = (
    ("entropy", "entropy (nats)"), ("approx_kl", "KL an update"),
    ("explained_variance", "explained variance"),
)  # fmt: skip
_RATES: Final = (
    ("round 1", "accept", "order_up"), ("round 2", "name", "name"), ("maker", "maker", "maker"),
    ("march", "march", "march"), ("euchred", "euchred", "euchred"),
)  # fmt: skip
"""Title, the dealer's rate, the nondealer's."""


def write_report(run: Run, results: Sequence[MatchResult]) -> Path:
    """Write ``report.html`` into the run's folder.

    Args:
        run: that has made an update at least, its policy saved.
        results: of the matches at the end; may be none.

    Raises:
        OSError: the page cannot be written.
    """
    page = run.folder / PAGE
    write_atomically(page, report_html(run, results).encode())
    return page


def report_html(run: Run, results: Sequence[MatchResult]) -> str:
    """The page as text (see `write_report`)."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("agents.training"), autoescape=True, undefined=StrictUndefined
    )
    rival = run.config.rivals[0]
    of_rival = [one for one in run.evaluations if one["rival"] == rival]
    agent = LearnedAgent.load(run.folder)
    # our own drawings, in which matplotlib has escaped the names; all else is escaped on the page
    return environment.get_template("run.html.j2").render(
        name=run.folder.name,
        folder=run.folder,
        config=run.config,
        changed=run.config.changed(),
        rules=rules_text(run.rules.changed()),
        steps=run.model.num_timesteps,
        last=run.curve[-1],
        warnings=list(run.warned.values()),
        results=results,
        headline=_headline(results, run),
        first_rival=rival,
        learning=Markup(svg_text(learning(run))),
        rates=Markup(svg_text(calls(of_rival))) if of_rival else "",
        game=Markup(drawn_deal(agent, make_agent(rival), run.rules).svg),
    )


def _headline(results: Sequence[MatchResult], run: Run) -> str:
    """What came out, in a sentence."""
    if results:
        told = (
            f"{one.mean:+.3f} [{one.low:+.3f}, {one.high:+.3f}] against {one.agents[1]}"
            for one in results
        )
        return f"Points per deal: {'; '.join(told)}."
    points = run.curve[-1]["points"]
    return f"{points:+.3f} points a {run.config.episode} at the end, still trying acts out."


# --- pictures -----------------------------------------------------------------------------------


def _axes(rows: int, columns: int, **options: Any) -> tuple[Any, npt.NDArray[Any]]:
    """A figure in the style of the reports, and its axes."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=options.pop("figsize"), layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False, **options)


def learning(run: Run) -> Any:
    """Points over acts with the evaluations on the way; entropy, divergence, foresight below."""
    figure, axes = _axes(
        4, 1, figsize=(9, 8), sharex=True, gridspec_kw={"height_ratios": (4, 1.2, 1.2, 1.2)}
    )
    curve = run.curve
    steps = np.array([row["steps"] for row in curve]) / 1e6
    points = np.array([row["points"] for row in curve])
    above = axes[0, 0]
    above.axhline(0, color=MUTED, linewidth=0.8)
    above.plot(steps, points, color=EVEN, linewidth=0.7, alpha=0.6)
    above.plot(
        steps, smoothed(points, len(curve) // 20), color=INK, linewidth=1.4, label="while learning"
    )
    for colour, rival in zip(_COLOURS, run.config.rivals, strict=False):
        found = [one for one in run.evaluations if one["rival"] == rival]
        if found:
            means = np.array([one["mean"] for one in found])
            above.errorbar(
                [one["steps"] / 1e6 for one in found],
                means,
                yerr=[
                    means - [one["low"] for one in found],
                    [one["high"] for one in found] - means,
                ],
                color=colour,
                fmt="o-",
                markersize=4,
                linewidth=1,
                label=f"against {rival}, dev deals",
            )
    above.set_ylabel(f"points a {run.config.episode}")
    above.legend(loc="lower right", frameon=False, fontsize=8)
    for place, (key, title) in zip(axes[1:, 0], _BELOW, strict=True):
        place.plot(steps, [row[key] for row in curve], color=WIN, linewidth=1)
        place.set_ylabel(title, fontsize=8)
        place.set_ylim(bottom=min(0, place.get_ylim()[0]))
    axes[-1, 0].set_xlabel("million acts of the learner")
    return figure


def calls(evaluations: Sequence[dict[str, Any]]) -> Any:
    """Rates of calls over acts, as dealer and as nondealer."""
    figure, axes = _axes(1, len(_RATES), figsize=(9, 2.4), sharex=True)
    steps = [one["steps"] / 1e6 for one in evaluations]
    for place, (title, *rates) in zip(axes[0], _RATES, strict=True):
        for role, rate, line in zip(("dealer", "nondealer"), rates, ("-", "--"), strict=True):
            shares = [one["rates"][f"as_{role}"][rate] for one in evaluations]
            shares = [np.nan if share is None else 100 * share for share in shares]
            place.plot(steps, shares, line, color=WIN if role == "dealer" else LOSS, marker=".")
        place.set_title(title)
        place.set_ylim(0, None)
    axes[0, 0].set_ylabel("%")
    axes[0, len(_RATES) // 2].set_xlabel("million acts of the learner")
    return figure


def drawn_deal(agent: Any, rival: Any, rules: Rules, seed: int = 5) -> Drawing:
    """One deal between two agents, the first in seat 0, drawn after every act."""
    states = new_states(1, rules)
    seed_streams(states, np.full(1, seed, dtype=np.uint64))
    start_games(states)
    drawings = [show(states[0])]
    masks = np.empty((1, NUM_ACTIONS), dtype=np.int8)
    while action_bits(states)[0]:
        seat = int(states[0]["to_act"])
        action_masks(states, masks)
        player = (agent, rival)[seat]
        act = player.act(blank(states, seat), masks, np.full(1, seed, dtype=np.uint64))
        apply_all(states, act)
        drawings.append(show(states[0]))
    return sheet(drawings, columns=3, width=1080)
