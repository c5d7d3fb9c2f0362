"""How agents are measured: mirrored matches with intervals, reproducible bit for bit.

>>> result = match("novice", "random", pairs=100)
>>> result.low < result.mean < result.high
True
"""

from agents.evaluation.counts import AgentRates, RoleRates
from agents.evaluation.deals import Deals, agent_keys, deal_words
from agents.evaluation.intervals import (
    Estimate,
    bootstrap_interval,
    normal_interval,
    share_interval,
)
from agents.evaluation.matches import MatchResult, match
from agents.evaluation.play import AgentError
from agents.evaluation.rules_text import parse_rules, rules_text
from agents.evaluation.tables import matrix_table, rates_table, result_table

__all__ = [
    "AgentError",
    "AgentRates",
    "Deals",
    "Estimate",
    "MatchResult",
    "RoleRates",
    "agent_keys",
    "bootstrap_interval",
    "deal_words",
    "match",
    "matrix_table",
    "normal_interval",
    "parse_rules",
    "rates_table",
    "result_table",
    "rules_text",
    "share_interval",
]
