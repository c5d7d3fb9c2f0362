"""Other processes, local or of a cluster: the same numbers, and no piece of work is lost."""

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.evaluation import backends, cli, match
from agents.evaluation.backends import Crew, LostWorkersError, in_order, run
from agents.evaluation.parts import Plan
from agents.scripted import NoviceAgent
from euchre_env.rules import Rules

ROOT = Path(__file__).parents[1]
EAGER = partial(Crew, workers=2, start_up=0.0)
"""Two workers that are asked at once, however little there is to do."""
TIMES = ("seconds", "deals_per_second", "decisions_per_second")


def untimed(result: Any) -> str:
    return json.dumps({k: v for k, v in result.to_json().items() if k not in TIMES})


def squares(first: int, num: int) -> list[int]:
    return [unit**2 for unit in range(first, first + num)]


def told(results: Any) -> list[int]:
    return [square for part in in_order(results, len) for square in part]


def dies(first: int, num: int) -> int:
    if first:
        os.kill(os.getpid(), signal.SIGKILL)
    return num


def fails(first: int, num: int) -> int:
    if first > 50:
        raise ValueError(f"unit {first} is bad")
    return num


# --- pieces -------------------------------------------------------------------------------------


@pytest.mark.parametrize("total", [0, 1, 7, 8, 9, 1_000])
@pytest.mark.parametrize("batch", [1, 30, 4_096])
@pytest.mark.parametrize("first", [0, 5])
def test_every_unit_is_done_once(total: int, batch: int, first: int) -> None:
    sizes = []

    def noted(start: int, num: int) -> list[int]:
        sizes.append(num)
        return squares(start, num)

    done = told(run(noted, total, batch=batch, first=first))
    assert done == [unit**2 for unit in range(first, total)]
    assert all(1 <= size <= batch for size in sizes)


def test_results_come_in_order_whatever_order_they_are_done_in() -> None:
    pieces = [(0, [0, 1]), (5, [5]), (3, [3, 4]), (2, [2]), (6, [6, 7])]
    assert [x for part in in_order(iter(pieces), len) for x in part] == list(range(8))


def test_little_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "_hand_out", None)  # whoever hands out fails
    assert told(run(squares, 500, batch=100, crew=Crew("loky", 2))) == squares(0, 500)
    assert told(run(squares, 500, batch=100, crew=Crew("serial", start_up=0.0))) == squares(0, 500)
    assert told(run(squares, 500, batch=100, crew=Crew("loky", 1, start_up=0.0))) == squares(0, 500)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backend": "threads"}, "backend='threads': it is one of serial, loky, ray, dask"),
        ({"backend": "loky", "workers": 0}, "workers=0"),
        ({"backend": "loky", "workers": True}, "workers=True"),
        ({"backend": "loky", "address": "here"}, "address='here': the backend loky has none"),
    ],
)
def test_a_crew_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Crew(**options)


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, backend in (("ray", "ray"), ("distributed", "dask")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ImportError, match=rf"pip install 'euchre-env\[{backend}\]'"):
            told(run(squares, 500, batch=10, crew=EAGER(backend)))


# --- local processes ----------------------------------------------------------------------------


def test_local_processes_find_the_same() -> None:
    crew = EAGER("loky")
    for options in (
        {"pairs": 600, "games": 20},
        {"pairs": 500, "rules": Rules.railroad_pack(), "seed": 3, "deals": "heldout"},
        {"pairs": 3_000, "sequential": (0.0, 0.1)},
    ):
        here = match("novice", "random", **options)
        there = match("novice", "random", crew=crew, **options)
        assert untimed(there) == untimed(here)
        np.testing.assert_array_equal(there.pair_scores, here.pair_scores)


def test_recorded_deals_come_back_in_order() -> None:
    found: dict[str, list[Any]] = {"serial": [], "loky": []}
    for backend, kept in found.items():
        match(
            "novice",
            NoviceAgent(),
            pairs=300,
            batch=50,
            crew=EAGER(backend),
            record=lambda first, states, kept=kept: kept.append((first, states)),
        )
        assert [first for first, _ in kept] == np.cumsum(
            [0, *(states.shape[1] for _, states in kept[:-1])]
        ).tolist()
    joined = [np.concatenate([s for _, s in kept], axis=1) for kept in found.values()]
    assert joined[0].tobytes() == joined[1].tobytes()


def test_an_error_in_a_worker_is_the_error_here() -> None:
    with pytest.raises(ValueError, match=r"unit \d+ is bad"):
        list(run(fails, 500, batch=10, crew=EAGER("loky")))


def worker_of(first: int, num: int) -> int:
    return os.getpid()


def test_an_early_stop_leaves_the_workers_and_joblibs_threads_alone() -> None:
    seen: set[int] = set()
    for asked in range(1, 9):
        results = run(worker_of, 10**6, batch=10, crew=EAGER("loky"))
        seen |= {pid for _, (_, pid) in zip(range(20 * asked), results, strict=False)}
        results.close()
        with pytest.raises(ValueError, match="unit"):
            list(run(fails, 500, batch=1, crew=EAGER("loky")))
    assert len(seen - {os.getpid()}) <= 2


def test_an_error_in_a_worker_tells_where_it_was() -> None:
    with pytest.raises(ValueError, match="unit") as caught:
        list(run(fails, 500, batch=10, crew=EAGER("loky")))
    notes = "\n".join(caught.value.__notes__)
    assert "In a worker, units " in notes
    assert "in fails" in notes


def test_when_every_worker_dies_it_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "MAX_LOSSES", 2)
    with pytest.raises(LostWorkersError, match="2 workers were lost one after the other"):
        list(run(dies, 100, batch=10, crew=EAGER("loky")))


def test_an_agent_that_cannot_travel_is_told() -> None:
    agent = NoviceAgent()
    agent.memory = np.zeros(1, dtype=[("table_address", np.int64)])
    plan = Plan((agent, "random"), 0, "dev", Rules())
    with pytest.raises(ValueError, match="its memory holds addresses: give it by name"):
        plan.__getstate__()


# --- Ctrl-C -------------------------------------------------------------------------------------


class CtrlC:
    """Pressed, for real, once so many pairs are played."""

    def __init__(self, after: int) -> None:
        self.left = after

    def __call__(self, num: int) -> None:
        self.left -= num
        if self.left <= 0:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("backend", ["serial", "loky"])
def test_a_match_that_is_stopped_is_that_of_the_pairs_it_tells(backend: Any) -> None:
    crew = EAGER(backend)
    stopped = match("novice", "random", pairs=10**7, batch=100, crew=crew, progress=CtrlC(700))
    assert stopped.partial
    assert 0 < stopped.pairs < 10**6
    assert stopped.games == 0
    whole = match("novice", "random", pairs=stopped.pairs)
    np.testing.assert_array_equal(stopped.pair_scores, whole.pair_scores)
    assert untimed(stopped) == untimed(whole).replace('"partial": false', '"partial": true')


def test_stopped_in_its_games_it_keeps_them() -> None:
    stopped = match("novice", "random", pairs=100, games=10**6, batch=50, progress=CtrlC(300))
    assert stopped.partial
    assert stopped.pairs == 100
    assert 0 < stopped.games < 10**6
    whole = match("novice", "random", pairs=100, games=stopped.games)
    assert stopped.game_share == whole.game_share


def test_stopped_before_anything_was_played_there_is_no_result() -> None:
    class Impatient:
        name = "impatient"

        def act(self, views: Any, action_masks: Any, rng: Any) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        match("novice", Impatient())


def test_the_command_line_writes_what_was_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.json"
    pressed = CtrlC(1_500)
    monkeypatch.setattr(
        cli, "match", lambda *agents, **options: match(*agents, **options | {"progress": pressed})
    )
    arguments = ["novice", "random", "expert", "--pairs", "1000", "--games", "0", "--batch", "100"]
    assert cli.main([*arguments, "--json", str(path)]) == 130
    results = json.loads(path.read_text(encoding="utf-8"))
    assert [result["partial"] for result in results] == [False, True]
    assert results[1]["agents"] == ["novice", "expert"]
    assert results[1]["pairs"] < 1_000
    assert "stopped early" in capsys.readouterr().out


# --- clusters, each with two local workers, one killed in the middle ------------------------------

CLUSTER = """
import json, os, pathlib, signal, sys
from functools import partial
from agents.evaluation import match
from agents.evaluation.backends import Crew, in_order, run

TIMES = ("seconds", "deals_per_second", "decisions_per_second")


def piece(marker, first, num):
    if first >= 60 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return list(range(first, first + num))


def main():
    backend, marker = sys.argv[1], pathlib.Path(sys.argv[2])
    crew = Crew(backend, workers=2, start_up=0.0)
    parts = in_order(run(partial(piece, marker), 200, batch=10, crew=crew), len)
    units = [unit for part in parts for unit in part]
    result = match("novice", "random", pairs=400, games=10, batch=40, crew=crew).to_json()
    told = [units, {k: v for k, v in result.items() if k not in TIMES}]
    pathlib.Path(sys.argv[3]).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("backend", ["loky", "ray", "dask"])
def test_a_lost_workers_pieces_are_done_again(backend: str, tmp_path: Path) -> None:
    if backend != "loky":
        pytest.importorskip({"ray": "ray", "dask": "distributed"}[backend])
    script, marker, told = (tmp_path / name for name in ("run.py", "one_was_killed", "told.json"))
    script.write_text(CLUSTER, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), backend, str(marker), str(told)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert marker.exists(), done.stderr
    assert told.exists(), done.stderr
    units, numbers = json.loads(told.read_text(encoding="utf-8"))
    assert units == list(range(200))
    assert json.dumps(numbers) == untimed(match("novice", "random", pairs=400, games=10))
