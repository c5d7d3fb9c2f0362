"""How fast it is: player decisions a second in one process, side by side with peers.

Every line is measured in turns with its peer, several times over, in this same call, and is given
as a median; its ratio is the median of the turns' ratios, so that a machine which is busy for a
while slows both sides. A decision is one act of one player, drawn at random among the legal ones.
Chance (shuffling, dealing) takes time and counts as no decision, here and for the peers.

    python benchmarks/throughput.py            # some four minutes
    python benchmarks/throughput.py --smoke    # some seconds, figures that mean little
"""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
import tyro
from rich.console import Console
from rich.progress import track
from rich.table import Table

from euchre_env import Rules
from euchre_env.actions import NUM_ACTIONS
from euchre_env.dealing import AGENTS, seed_streams, substream
from euchre_env.engine import (
    action_masks,
    apply_and_deal,
    draw_action,
    draw_actions,
    play_random,
    start_games,
)
from euchre_env.kernel import kernel
from euchre_env.observation import OBSERVATION_SIZE, observe
from euchre_env.state import States, new_states

ENV_ID: Final = "euchre_env/Euchre-v0"
SEED: Final = 1
Contender = Callable[[float], float]
"""``seconds to play for -> decisions a second``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Measure player decisions a second against peers."""

    repeats: int = 7
    """Turns of each pair, 1 or more; the median counts."""
    seconds: float = 1.0
    """Length of one turn."""
    num_games: int = 4096
    """Games in a batch, for the lines that play in batches."""
    most_games: int = 65536
    """The largest batch of the growth table (0: no such table)."""
    smoke: bool = False
    """Very short turns and small batches: shows that everything runs."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="PATH")] = None
    """Write every number to this file."""


# --- what is measured: each contender plays for a while and returns its rate ---------------------


def _rate(play: Callable[[], int], seconds: float) -> float:
    """Call ``play``, which returns its decisions, until the time is over: decisions a second."""
    num_decisions, start = 0, time.perf_counter()
    while (now := time.perf_counter()) - start < seconds or not num_decisions:
        num_decisions += play()
    return num_decisions / (now - start)


def _started_games(num_games: int) -> States:
    states = new_states(num_games, Rules())
    seed_streams(states, np.arange(num_games, dtype=np.uint64))
    start_games(states)
    return states


def fused_random_play(num_games: int) -> Contender:
    """Whole games inside one compiled call, no mask and no observation written out."""
    states = _started_games(num_games)
    num_actions = max(1, 100_000 // num_games)

    def play() -> int:
        play_random(states, num_actions)
        return num_games * num_actions

    return lambda seconds: _rate(play, seconds)


def batched_random_play(num_games: int) -> Contender:
    """Four batched calls a step: draw an act, apply it, action mask, observation of who acts."""
    states = _started_games(num_games)
    actions = np.empty(num_games, dtype=np.int64)
    masks = np.empty((num_games, NUM_ACTIONS), dtype=np.int8)
    observations = np.empty((num_games, OBSERVATION_SIZE), dtype=np.uint8)
    count = 0

    def play() -> int:
        nonlocal count
        count += 1
        draw_actions(states, actions, count)
        apply_and_deal(states, actions)
        action_masks(states, masks)
        observe(states, states["to_act"], out=observations)
        return num_games

    return lambda seconds: _rate(play, seconds)


@kernel
def draw_from_masks(
    masks: npt.NDArray[np.int8], count: int, actions: npt.NDArray[np.int64]
) -> None:
    """A random legal act for every row of action masks, written into ``actions``."""
    for i in range(masks.shape[0]):
        bits: Any = np.int64(0)
        for action in range(NUM_ACTIONS):
            bits |= np.int64(masks[i, action]) << action
        word = substream(np.uint64(count), AGENTS, i)
        actions[i] = draw_action(bits, word) if bits else 0  # 0: ended, the act is not looked at


def learner_steps(num_games: int, *, copy: bool) -> Contender:
    """Steps of the vector environment against the novice, observation, mask and reward included."""
    envs = gymnasium.make_vec(
        ENV_ID,
        num_envs=num_games,
        vectorization_mode="vector_entry_point",
        copy=copy,
        opponent="novice",
    )
    _, infos = envs.reset(seed=SEED)
    masks = infos["action_mask"]
    actions = np.empty(num_games, dtype=np.int64)
    count = 0

    def play() -> int:
        nonlocal count, masks
        count += 1
        draw_from_masks(masks, count, actions)
        masks = envs.step(actions)[4]["action_mask"]
        return num_games

    return lambda seconds: _rate(play, seconds)


def single_environment() -> Contender:
    """Steps of one environment from ``gymnasium.make``, with its wrappers, resets included."""
    env = gymnasium.make(ENV_ID)
    random = Random(SEED).random
    mask = env.reset(seed=SEED)[1]["action_mask"]

    def play() -> int:
        nonlocal mask
        legal = mask.nonzero()[0]
        _, _, terminated, truncated, info = env.step(int(legal[int(random() * len(legal))]))
        mask = (env.reset()[1] if terminated or truncated else info)["action_mask"]
        return 1

    return lambda seconds: _rate(play, seconds)


def blackjack() -> Contender:
    """Gymnasium's Blackjack from ``gymnasium.make``, resets included."""
    env = gymnasium.make("Blackjack-v1")
    random = Random(SEED).random
    env.reset(seed=SEED)

    def play() -> int:
        _, _, terminated, truncated, _ = env.step(int(random() * 2))
        if terminated or truncated:
            env.reset()
        return 1

    return lambda seconds: _rate(play, seconds)


def cartpole(num_games: int) -> Contender:
    """Gymnasium's NumPy CartPole: a vector environment without a Python loop, as ours."""
    envs = gymnasium.make_vec(
        "CartPole-v1", num_envs=num_games, vectorization_mode="vector_entry_point"
    )
    envs.reset(seed=SEED)
    rng = np.random.default_rng(SEED)

    def play() -> int:
        envs.step(rng.integers(0, 2, num_games))
        return num_games

    return lambda seconds: _rate(play, seconds)


def open_spiel(*, observed: bool) -> Contender | None:
    """OpenSpiel's four-handed Euchre from Python; None where it is not installed."""
    try:
        import pyspiel
    except ImportError:
        return None
    game = pyspiel.load_game("euchre")
    random = Random(SEED).random

    def play() -> int:
        state, num_decisions = game.new_initial_state(), 0
        while not state.is_terminal():
            if not state.is_chance_node():
                num_decisions += 1
                if observed:
                    state.information_state_tensor()
            legal = state.legal_actions()
            state.apply_action(legal[int(random() * len(legal))])  # chance: all cards alike
        return num_decisions

    return lambda seconds: _rate(play, seconds)


# --- measuring in turns ---------------------------------------------------------------------------


class Pair(NamedTuple):
    """A line of the result before it is measured."""

    what: str
    ours: Contender
    peer_name: str
    peer: Contender | None
    bar: float | None
    """The ratio that it should reach."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the result; rates are medians, in decisions a second."""

    what: str
    rate: float
    slowest: float
    fastest: float
    peer: str
    peer_rate: float | None
    ratio: float | None
    bar: float | None


def measured(pair: Pair, repeats: int, seconds: float) -> Line:
    """Ours and the peer's rate, in turns; the first turn of each, unmeasured, warms up."""
    contenders = [pair.ours] if pair.peer is None else [pair.ours, pair.peer]
    for contender in contenders:
        contender(seconds / 4)
    turns = [[contender(seconds) for contender in contenders] for _ in range(repeats)]
    rates = [turn[0] for turn in turns]
    peer_rate = ratio = None
    if pair.peer is not None:
        peer_rate = statistics.median(turn[1] for turn in turns)
        ratio = statistics.median(ours / peer for ours, peer in turns)
    return Line(
        pair.what,
        statistics.median(rates),
        min(rates),
        max(rates),
        pair.peer_name,
        peer_rate,
        ratio,
        pair.bar,
    )


def pairs_to_measure(num_games: int) -> list[Pair]:
    """The lines of the main table."""
    plain, observed = open_spiel(observed=False), open_spiel(observed=True)
    batched, vector = batched_random_play(num_games), cartpole(num_games)
    steps = learner_steps(num_games, copy=False)
    size = f"{num_games:,} games"
    return [
        Pair("fused random play", fused_random_play(num_games), "OpenSpiel Euchre", plain, 100),
        Pair(f"batched calls, {size}", batched, "OpenSpiel Euchre, observed", observed, 100),
        Pair(f"batched calls, {size}", batched, "CartPole vector", vector, 0.7),
        Pair(f"learner steps, {size}", steps, "CartPole vector", vector, None),
        Pair(
            f"learner steps, {size}, copied",
            learner_steps(num_games, copy=True),
            "CartPole vector",
            vector,
            None,
        ),
        Pair("gymnasium.make", single_environment(), "Blackjack", blackjack(), 3),
    ]


def growth_pairs(most_games: int) -> list[tuple[int, list[Pair]]]:
    """``(games, its lines)`` from one game to the most, four times as many each time."""
    sizes = []
    size = 1
    while size <= most_games:
        sizes.append(size)
        size *= 4
    return [
        (
            size,
            [
                Pair("batched calls", batched_random_play(size), "CartPole", cartpole(size), None),
                Pair("learner steps", learner_steps(size, copy=False), "", None, None),
            ],
        )
        for size in sizes
    ]


# --- showing ------------------------------------------------------------------------------------


def _figure(value: float | None) -> str:
    """A rate with three digits that mean something."""
    if value is None:
        return ""
    for unit, word in ((1e6, " M"), (1e3, " k")):
        if value >= unit:
            return f"{value / unit:.3g}{word}"
    return f"{value:.3g}"


def main_table(lines: list[Line]) -> Table:
    """Ours beside the peers."""
    table = Table(title="Player decisions a second, one process (medians)")
    for head in ("what", "ours", "peer", "peer's", "ratio", "bar"):
        table.add_column(head, justify="left" if head in ("what", "peer") else "right")
    for line in lines:
        table.add_row(
            line.what,
            _figure(line.rate),
            line.peer,
            "not installed" if line.peer_rate is None else _figure(line.peer_rate),
            "skipped" if line.ratio is None else f"{line.ratio:.3g}",
            "" if line.bar is None else f"{line.bar:g}",
        )
    return table


def growth_table(growth: list[tuple[int, list[Line]]]) -> Table:
    """How the rates grow with the number of games."""
    table = Table(title="Growth: player decisions a second")
    for head in (
        "games",
        "batched calls",
        "learner steps",
        "CartPole vector",
        "batched / CartPole",
    ):
        table.add_column(head, justify="right")
    for size, (batched, steps) in growth:
        table.add_row(
            f"{size:,}",
            _figure(batched.rate),
            _figure(steps.rate),
            _figure(batched.peer_rate),
            "" if batched.ratio is None else f"{batched.ratio:.3g}",
        )
    return table


def main(args: Args) -> dict[str, Any]:
    """Measure and print; returns what was measured."""
    repeats, seconds, num_games, most_games = (
        (1, 0.02, 64, 64)
        if args.smoke
        else (args.repeats, args.seconds, args.num_games, args.most_games)
    )
    errors = Console(stderr=True)
    if open_spiel(observed=False) is None:
        missing = "OpenSpiel is not installed (pip install -e '.[bench]'): its lines are skipped"
        errors.print(missing, markup=False)
    lines = [
        measured(pair, repeats, seconds)
        for pair in track(pairs_to_measure(num_games), "against peers", console=errors)
    ]
    growth = [
        (size, [measured(pair, repeats, seconds / 4) for pair in pairs])
        for size, pairs in track(growth_pairs(most_games), "growth", console=errors)
    ]
    result = {
        "lines": [asdict(line) for line in lines],
        "growth": [{"games": size, "lines": [asdict(x) for x in found]} for size, found in growth],
    }
    console = Console()
    console.print(main_table(lines))
    if growth:
        console.print(growth_table(growth))
    if args.json is not None:
        args.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return result


if __name__ == "__main__":
    main(tyro.cli(Args))
