"""Train an agent with PPO against scripts, agents trained before or itself; say how strong it is.

    python train.py                       some five minutes, against the novice
    python train.py --preset strong       against the expert
    python train.py --preset selfplay     against itself, its past selves, and the expert
    python train.py --opponent expert=2 runs/x     two deals of three against the expert
    python train.py --resume runs/x       go on with a run that was stopped or killed

Everything a run makes goes into one folder, ``runs/<time>-<name>``: its configuration, the
learning curve (``curve.csv``, ``curve.png``), TensorBoard logs, checkpoints, a report
(``report.html``), and the policy that ``evaluate.py runs/<time>-<name> novice`` and
``make_agent("runs/…")`` play. Ctrl-C ends a run early, with everything saved. What the knobs do is
told in ``docs/training.md``; how a run goes, in ``agents/training/run.py``.
"""

import json
import os
import signal
import sys
from pathlib import Path

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # Ctrl-C while libraries load is no error of theirs, which they would tell with a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)

# torch's threads wait for each other all the time; where another program has the core, waiting
# busily costs nearly all speed (to be said before torch is loaded)
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from rich.console import Console

from agents.base import AgentError
from agents.evaluation import MatchResult, match, result_table
from agents.learned import LearnedAgent
from agents.policies import write_atomically
from agents.training.config import Config, check, read_config, read_run
from agents.training.folder import locked, make_folder, write_config
from agents.training.report import write_report
from agents.training.run import BrokenRunError, Run
from agents.training.screen import Screen
from euchre_env.rules import Rules


def begin(config: Config, folder: Path, rules: Rules, console: Console) -> Run:
    """A new run in a new folder."""
    write_config(config, rules, folder)
    changed = ", ".join(f"{name}={value}" for name, value in config.changed().items())
    screen = Screen(console, config.episode)
    screen.say(
        f"preset {config.preset}" + (f", but for: {changed}" if changed else "")
        + f"\ntraining against {config.opponents_told}; everything goes to {folder}"
    )  # fmt: skip
    return Run(config, rules, folder, screen)


def go_on(config: Config, folder: Path, rules: Rules, console: Console) -> Run:
    """A run that was stopped or killed, where its newest checkpoint has it."""
    screen = Screen(console, config.episode)
    screen.say(f"training against {config.opponents_told}; everything goes to {folder}")
    run = Run(config, rules, folder, screen)
    run.resume()
    return run


def play_matches(run: Run, console: Console) -> list[MatchResult]:
    """Matches of the saved policy on mirrored deals, as tables and as ``evaluation.json``."""
    agent, pairs = LearnedAgent.load(run.folder), run.config.pairs
    results = []
    for rival in dict.fromkeys(("random", *run.config.rivals)):
        result = match(agent, rival, pairs=pairs, games=pairs // 10, rules=run.rules)
        console.print(result_table(result))
        results.append(result)
    numbers = json.dumps([result.to_json() for result in results], indent=2, allow_nan=False)
    write_atomically(run.folder / "evaluation.json", f"{numbers}\n".encode())
    return results


def finish(run: Run, console: Console) -> None:
    """Say how strong the result is, and leave the report."""
    results: list[MatchResult] = []
    if run.config.pairs:
        try:
            results = play_matches(run, console)
        except KeyboardInterrupt:
            run.screen.say(f"no matches; play them with: python evaluate.py {run.folder} novice")
    run.note_result({result.agents[1]: result.mean for result in results})
    if run.curve:
        run.screen.say(f"report: {write_report(run, results)}")


def main(config: Config) -> Path:
    """Train, save, and say how strong the result is; returns the run folder.

    Raises:
        ValueError: a knob means nothing (see `agents.training.config.check`; nothing is written
            then), or there is no run to go on with.
        FileNotFoundError: an opponent is a folder that holds no policy.
        ImportError: a library that a knob asks for is not installed.
        BrokenRunError: the learner's numbers became infinite, or an opponent's answer is no legal
            act; what was learnt before is saved.
        AgentError: an opponent's answer is no legal act, before anything was learnt.
        BlockingIOError: another process trains in the folder.
        OSError: the result cannot be written.
    """
    console = Console()
    if config.resume is not None:
        folder, config = config.resume, read_run(config.resume)
        rules, start = check(config), go_on
    else:
        rules, start = check(config), begin
        folder = make_folder(config)
    with locked(folder):
        train(start(config, folder, rules, console), console)
    return folder


def train(run: Run, console: Console) -> None:
    """From where a run is to its end, and what came out."""
    run.go()
    run.screen.say(f"saved: {run.folder}")
    if run.budget.is_stopped:
        run.screen.say(f"to go on: python train.py --resume {run.folder}")
    with run.telling_what_stands():
        finish(run, console)
    run.games.close()


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main(read_config(sys.argv[1:], __doc__))
    except KeyboardInterrupt:
        print("train.py: stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # whoever read the output has gone, as with "| head": nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except (ValueError, OSError, ImportError, AgentError, BrokenRunError) as problem:
        print(f"train.py: {problem}", file=sys.stderr)
        sys.exit(2 if isinstance(problem, ValueError | ImportError) else 1)
