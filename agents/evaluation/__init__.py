"""How agents are measured: mirrored matches with intervals, reproducible bit for bit.

>>> result = match("novice", "random", pairs=100)
>>> result.low < result.mean < result.high
True
"""

from agents.base import AgentError
from agents.evaluation.counts import AgentRates, RoleRates
from agents.evaluation.deals import Deals, agent_keys, deal_words
from agents.evaluation.intervals import (
    Estimate,
    bootstrap_interval,
    normal_interval,
    share_interval,
)
from agents.evaluation.matches import MatchResult, match
from agents.evaluation.standings import round_robin, summarise
from agents.evaluation.tables import rates_table, result_table
from agents.evaluation.tournament_tables import tournament_tables
from agents.evaluation.tournaments import Tournament
from euchre_env.rules_text import parse_rules, rules_text

__all__ = [
    "AgentError",
    "AgentRates",
    "Deals",
    "Estimate",
    "MatchResult",
    "RoleRates",
    "Tournament",
    "agent_keys",
    "bootstrap_interval",
    "deal_words",
    "match",
    "normal_interval",
    "parse_rules",
    "rates_table",
    "result_table",
    "round_robin",
    "rules_text",
    "share_interval",
    "summarise",
    "tournament_tables",
]
