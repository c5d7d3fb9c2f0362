"""Rules as a short text, like ``british,target_score=5``, and back."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from euchre_env.rules import OPTION_VALUES, Rules

PRESETS: Final[dict[str, Callable[[], Rules]]] = {
    "default": Rules,
    "british": Rules.british,
    "32": Rules.with_32_cards,
    "railroad": Rules.railroad_pack,
    "stick": Rules.stick,
}
"""Rules that have a name."""


def parse_rules(text: str) -> Rules:
    """Rules from a text: presets and ``option=value``, separated by commas; later ones win.

    >>> parse_rules("32,target_score=5")
    Rules(lowest_rank='7', target_score=5)

    Raises:
        ValueError: an unknown preset, option or value, or a combination that means nothing.
    """
    options: dict[str, Any] = {}
    for word in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in word.partition("="))
        if not equals:
            if name not in PRESETS:
                raise ValueError(
                    f"rules {text!r}: {name!r} is no preset: there are {', '.join(PRESETS)}, "
                    "and option=value"
                )
            options.update(PRESETS[name]().changed())
        elif name == "target_score":
            if not value.isdecimal():
                raise ValueError(f"rules {text!r}: target_score={value!r} is no whole number")
            options[name] = int(value)
        elif name in OPTION_VALUES:
            known = {str(allowed).lower(): allowed for allowed in OPTION_VALUES[name]}
            if value.lower() not in known:
                raise ValueError(
                    f"rules {text!r}: {name}={value!r}: it is one of {', '.join(known)}"
                )
            options[name] = known[value.lower()]
        else:
            raise ValueError(
                f"rules {text!r}: there is no option {name!r}: there are target_score, "
                f"{', '.join(OPTION_VALUES)}"
            )
    return Rules(**options)


def rules_from(given: Any) -> Rules:
    """Rules as environments take them: an object, a text as of `parse_rules`, or None.

    Raises:
        ValueError: something else, or a text that means nothing.
    """
    if isinstance(given, str):
        return parse_rules(given)
    if given is not None and not isinstance(given, Rules):
        raise ValueError(
            f"rules={given!r}: they are a Rules object, like Rules.british(), or a text, like "
            "'british,target_score=5'"
        )
    return given or Rules()


def rules_text(rules: Mapping[str, Any]) -> str:
    """The options that differ from the 24-card game (``Rules.changed()``), for people."""
    return ", ".join(f"{name}={value}" for name, value in rules.items()) or "24 cards"
