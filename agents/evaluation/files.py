"""Results as files: JSON with every number, CSV with a line a match, records of the deals."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from agents.evaluation.matches import MatchResult
from agents.policies import write_atomically
from euchre_env.recording import RecordWriter
from euchre_env.state import States


def check_target(option: str, path: Path | None) -> None:
    """Refuse a file that could not be written, before anything is played.

    Raises:
        ValueError: its folder is missing, or it is a folder itself.
    """
    if path is not None and not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}")
    if path is not None and path.is_dir():
        raise ValueError(f"{option} {path}: that is a folder")


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8, whole or not at all."""
    write_atomically(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all; NaN is not allowed."""
    text = json.dumps(value, indent=2, allow_nan=False) + "\n"
    write_text(path, text)


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write JSON objects as lines of a table, whole or not at all.

    What is nested gets a name like ``as_dealer.mean``; null is an empty cell.
    """
    flat = [dict(_flat(row)) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, names, lineterminator="\n")
    table.writeheader()
    table.writerows(flat)
    write_text(path, text.getvalue())


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    inner: Any = ()
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list):
        inner = enumerate(value)
    elif name:
        yield name, value
    for key, part in inner:
        yield from _flat(part, f"{name}.{key}" if name else str(key))


class KeptDeals:
    """Deals of a match on their way into a file of records (``docs/notation.md``)."""

    def __init__(self) -> None:
        self._parts: list[States] = []

    def add(self, first: int, states: States) -> None:
        """Keep deals, shape (2, n), as `matches.match` hands them out."""
        self._parts.append(states)

    def write(self, path: Path, result: MatchResult, *, append: bool) -> None:
        """Write a match as one record, and forget its deals.

        Each pair is two deals, one after the other; the seats of the second are exchanged, so the
        first agent has seat 0 in all of them.

        Raises:
            OSError: the file cannot be written.
        """
        deals = np.concatenate(self._parts, axis=1).T.ravel()
        self._parts.clear()
        is_second = np.arange(len(deals)) % 2 == 1
        tags = {"list": result.deals, "hash": result.deals_hash}
        with RecordWriter(
            path, result.agents, seed=result.seed, tags=tags, append=append
        ) as writer:
            writer.add_deals(deals, is_second)
