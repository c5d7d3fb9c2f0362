"""The presets of ``train.py``: knobs that differ from its defaults, which are those of ``quick``.

Why each is what it is stands in ``docs/training.md``.
Budgets are in steps, so that a run on a busy machine equals one on a quiet one.
"""

from typing import Any, Final, Literal

Preset = Literal["quick", "strong", "selfplay"]

PRESETS: Final[dict[Preset, dict[str, Any]]] = {
    "quick": {},
    "strong": {"opponent": ("expert",), "steps": 40_000_000},
    "selfplay": {
        "opponent": ("expert",),
        "self_play": True,
        "pool_self": 0.4,
        "pool_past": 0.25,  # a third of the deals against the script: see docs/training.md
        "steps": 20_000_000,
        "entropy": 0.05,
        "entropy_end": 0.01,  # real to the end: a policy without it is easy to exploit
    },
}
"""``preset -> knob -> value``."""
