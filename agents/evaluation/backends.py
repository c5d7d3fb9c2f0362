"""Where work is done: in this process, on all local cores, or on a cluster.

Work is a range of numbered units (deals of a list, sampled hands). `run` cuts the range into
pieces, has a function called for each, and hands back the results as they come. What a piece
returns depends on its range alone, so every backend gives the same results.

Work that is soon done is done here: the first `TRIAL_SECONDS` are played in this process, and
only when what is left would take longer than `Crew.start_up` seconds are other processes asked. A
worker that is lost (killed, out of memory, its machine gone) costs the pieces it had in hand:
they are done again.
"""

import collections
import contextlib
import functools
import logging
import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args

import joblib
from joblib.parallel import ParallelBackendBase

Backend = Literal["serial", "loky", "ray", "dask"]
"""``serial``: this process; ``loky``: processes on this machine; ``ray``, ``dask``: a cluster."""

T = TypeVar("T")

FIRST_PIECE: Final = 8
"""Units of the first piece."""
TRIAL_SECONDS: Final = 0.3
"""Work done here before it is judged how long the rest would take."""
PIECE_SECONDS: Final = 1.0
"""Pieces are made to take about so long: what a stop loses, and how often progress shows."""
PIECES_A_WORKER: Final = 4
"""Pieces for each worker at least, so that none is idle for long at the end."""
MAX_LOSSES: Final = 5
"""Workers lost in a row, no piece done in between, after which it is given up."""
_OBJECT_STORE: Final = 100 * 1024 * 1024
"""Bytes of shared memory that a local Ray is given: pieces and results are small."""


class LostWorkersError(RuntimeError):
    """Workers die one after the other; the message says how the last one did."""


@dataclass(frozen=True)
class Crew:
    """Who does the work.

    Attributes:
        backend: see `Backend`.
        workers: processes; None for all cores (of this machine, or of the cluster).
        address: of a running Ray or Dask cluster; None for one that is started here.
        start_up: seconds of work left below which it is not worth to ask other processes.
    """

    backend: Backend = "serial"
    workers: int | None = None
    address: str | None = None
    start_up: float = 3.0

    def __post_init__(self) -> None:
        """Check what can be checked before anything is played.

        Raises:
            ValueError: a backend, number or address that means nothing.
        """
        if self.backend not in get_args(Backend):
            raise ValueError(
                f"backend={self.backend!r}: it is one of {', '.join(get_args(Backend))}"
            )
        is_number = isinstance(self.workers, int) and not isinstance(self.workers, bool)
        if self.workers is not None and not (is_number and self.workers >= 1):
            raise ValueError(f"workers={self.workers!r}: it is a whole number, 1 or more")
        if self.address is not None and self.backend not in ("ray", "dask"):
            raise ValueError(
                f"address={self.address!r}: the backend {self.backend} has none; ray and dask do"
            )

    @property
    def num_workers(self) -> int:
        """Processes at work, as far as is known before a cluster is asked."""
        if self.backend == "serial":
            return 1
        return self.workers or int(joblib.cpu_count())

    @property
    def has_others(self) -> bool:
        """Whether there may be processes beside this one that are worth to be asked."""
        return self.num_workers > 1 or self.backend in ("ray", "dask")


SERIAL: Final = Crew()
"""This process alone."""


def run(
    play: Callable[[int, int], T], total: int, *, batch: int, crew: Crew = SERIAL, first: int = 0
) -> Generator[tuple[int, T]]:
    """Have units ``first .. total - 1`` done, piece by piece.

    Args:
        play: called with the first unit of a piece and their number; for other processes it must
            be picklable (a function of a module, or a ``functools.partial`` of one).
        total: one more than the last unit.
        batch: most units in a piece.
        crew: who does the work.
        first: the first unit.

    Yields:
        The first unit of a piece, and what ``play`` returned for it: each unit once, in any order.

    Raises:
        LostWorkersError: workers die again and again.
        ImportError: the backend's library is not installed.
    """
    num, spent = min(FIRST_PIECE, batch), 0.0
    while first < total:
        num = min(num, total - first)
        started = time.perf_counter()
        result = play(first, num)
        seconds = time.perf_counter() - started
        yield first, result
        first += num
        spent += seconds
        is_known = spent >= min(TRIAL_SECONDS, crew.start_up)
        is_long = (total - first) * seconds / num >= crew.start_up
        if crew.has_others and is_known and is_long:
            yield from _hand_out(play, _pieces(first, total, seconds / num, batch, crew), crew)
            return
        if seconds < PIECE_SECONDS / 2:
            num = min(2 * num, batch)
        elif seconds > 2 * PIECE_SECONDS:
            num = max(num // 2, 1)


def in_order(results: Iterable[tuple[int, T]], size: Callable[[T], int]) -> Iterator[T]:
    """Results of `run` in the order of their units; ``size`` tells the units of one."""
    waiting: dict[int, T] = {}
    place: int | None = None
    for first, result in results:
        waiting[first] = result
        # the first piece is played here, before any other
        place = first if place is None else place
        while place in waiting:
            ready = waiting.pop(place)
            place += size(ready)
            yield ready


def _pieces(
    first: int, total: int, seconds: float, batch: int, crew: Crew
) -> dict[int, tuple[int, int]]:
    """Ranges of equal size, by their place: ``(first unit, number)``."""
    shares = PIECES_A_WORKER * crew.num_workers
    wanted = min(int(PIECE_SECONDS / seconds), -(-(total - first) // shares), batch)
    num = max(wanted, 1)
    return {k: (start, min(num, total - start)) for k, start in enumerate(range(first, total, num))}


@dataclass(frozen=True)
class _Done:
    """What a worker sends back: a piece's result, or why there is none."""

    place: int
    first: int
    result: Any = None
    problem: Exception | None = None

    def result_or_raise(self) -> Any:
        if self.problem is not None:
            raise self.problem
        return self.result


def _do(play: Callable[[int, int], T], place: int, first: int, num: int) -> _Done:
    # A piece that fails is sent back like any other: joblib would kill all workers for it.
    try:
        return _Done(place, first, play(first, num))
    except Exception as problem:
        problem.add_note(f"In a worker, units {first} to {first + num - 1}:")
        problem.add_note(traceback.format_exc())
        return _Done(place, first, problem=problem)


def _hand_out(
    play: Callable[[int, int], T], missing: dict[int, tuple[int, int]], crew: Crew
) -> Generator[tuple[int, T]]:
    """Have the pieces done by workers; those of a lost worker again."""
    losses = 0
    with _OPENERS[crew.backend](crew):
        while missing:
            stop = threading.Event()
            tasks = _tasks(play, dict(missing), stop)
            parallel = joblib.Parallel(
                n_jobs=crew.workers or -1, return_as="generator_unordered", batch_size=1
            )
            outputs = parallel(tasks)
            try:
                for done in outputs:
                    result = done.result_or_raise()
                    del missing[done.place]
                    losses = 0
                    yield done.first, result
            except _lost_worker_errors(crew.backend) as problem:
                losses += 1
                if losses >= MAX_LOSSES:
                    raise LostWorkersError(
                        f"{losses} workers were lost one after the other: {problem}"
                    ) from problem
            except (GeneratorExit, Exception):
                # Nobody wants the rest. What is in hand is waited for: joblib would kill the
                # workers, and its threads stumble over what is still handed out then.
                stop.set()
                with contextlib.suppress(Exception):
                    collections.deque(outputs, maxlen=0)
                raise
            finally:
                with warnings.catch_warnings():
                    # joblib warns of results that nobody waits for: after Ctrl-C, on purpose
                    warnings.simplefilter("ignore")
                    outputs.close()


def _tasks(
    play: Callable[[int, int], T], pieces: dict[int, tuple[int, int]], stop: threading.Event
) -> Iterator[Any]:
    """The pieces for joblib, which takes a few at a time, until ``stop``."""
    for place, (first, num) in pieces.items():
        if stop.is_set():
            return
        yield joblib.delayed(_do)(play, place, first, num)


@functools.cache
def _lost_worker_errors(backend: Backend) -> tuple[type[BaseException], ...]:
    """What a backend raises when a worker is gone."""
    if backend == "ray":
        from ray.exceptions import RayError

        return (RayError,)
    if backend == "dask":
        from distributed.scheduler import KilledWorker

        return (KilledWorker,)
    from joblib.externals.loky.process_executor import BrokenProcessPool

    return (BrokenProcessPool,)


def _missing(extra: str) -> ImportError:
    return ImportError(
        f"--backend {extra} needs the library of that name: pip install 'euchre-env[{extra}]'"
    )


def _open_loky(crew: Crew) -> Any:
    return joblib.parallel_config("loky")


def _open_ray(crew: Crew) -> Any:
    """A running cluster, or one that is started here and ends with this process."""
    try:
        import ray
    except ImportError as problem:
        raise _missing("ray") from problem
    if not ray.is_initialized():
        # a later Ray will no longer hide accelerators from workers that ask for none; nor now
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        local = {
            "num_cpus": crew.num_workers,
            "object_store_memory": _OBJECT_STORE,
            "include_dashboard": False,
        }
        where = {"address": crew.address} if crew.address else local
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **where)
    joblib.register_parallel_backend("ray", _RayTasks)
    return joblib.parallel_config("ray")


class _RayTasks(ParallelBackendBase):  # type: ignore[misc]
    """Ray for joblib: a task a piece, which Ray itself does again when its worker is lost.

    Ray's own adapter hands nothing back before all is done, and gives all up when a worker dies.
    """

    supports_retrieve_callback = True
    supports_return_generator = True

    def effective_n_jobs(self, n_jobs: int) -> int:
        """How many pieces are handed out at once: the CPUs of the cluster, or fewer."""
        import ray

        num_cpus = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        return num_cpus if n_jobs < 1 else min(n_jobs, num_cpus)

    def submit(self, func: Any, callback: Any = None) -> Any:
        """Hand a piece out; ``callback`` is called with its future."""
        import ray

        task = ray.remote(num_cpus=1, max_retries=MAX_LOSSES)(_call)
        future = task.remote(func).future()
        future.add_done_callback(callback)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        """What the piece returned, or its error."""
        return out.result()


def _call(function: Callable[[], T]) -> T:
    return function()


@functools.cache
def _dask_client(address: str | None, workers: int) -> Any:
    try:
        from distributed import Client
    except ImportError as problem:
        raise _missing("dask") from problem
    if address is not None:
        return Client(address)
    return Client(n_workers=workers, threads_per_worker=1, dashboard_address=None)


def _open_dask(crew: Crew) -> Any:
    _dask_client(crew.address, crew.num_workers)
    return joblib.parallel_config("dask")


_OPENERS: Final[dict[str, Callable[[Crew], Any]]] = {
    "loky": _open_loky,
    "ray": _open_ray,
    "dask": _open_dask,
}
