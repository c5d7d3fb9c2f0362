"""Agents head to head: points per deal with its error, games won, bids and makes by role.

    python evaluate.py novice random
    python evaluate.py runs/2026-11-30-first novice --pairs 40000 --deals heldout --json out.json

The script is `agents.evaluation`, whose parts can be imported from there or from here.
``docs/evaluation.md`` tells how to read what it prints.
"""

import sys

from agents.evaluation import MatchResult, match, parse_rules, result_table
from agents.evaluation.cli import Args, main, run

__all__ = ["Args", "MatchResult", "main", "match", "parse_rules", "result_table", "run"]

if __name__ == "__main__":
    sys.exit(main())
