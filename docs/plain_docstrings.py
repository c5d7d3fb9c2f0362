"""Docstrings as Markdown for the reference: examples, literal blocks and tables in boxes.

Docstrings are written to be read in the source. Three things of theirs are no Markdown: an
example that begins with ``>>>``, a paragraph that ends with ``::`` before an indented block, and
a table between rulers of ``=``. mkdocstrings loads this file as an extension (``mkdocs.yml``).
"""

import re
from typing import Any

import griffe

_FENCE = "```"


def as_markdown(text: str) -> str:
    """A docstring whose examples, literal blocks and tables are fenced.

    >>> print(as_markdown("Adds::" + chr(10) * 2 + "    1 + 1"))
    Adds:
    <BLANKLINE>
        1 + 1
    """
    paragraphs = re.sub(r"::(?=\n\n+ )", ":", text).split("\n\n")
    return "\n\n".join(_fenced(paragraph) for paragraph in paragraphs)


def _fenced(paragraph: str) -> str:
    """A paragraph; in a fence when it is an example or a table."""
    if paragraph.lstrip().startswith(">>>"):
        return f"{_FENCE}pycon\n{paragraph}\n{_FENCE}"
    if re.fullmatch(r"=+( +=+)+", paragraph.split("\n")[0]):
        rows = [line for line in paragraph.split("\n") if not line.startswith("=")]
        return f"{_FENCE}text\n" + "\n".join(rows) + f"\n{_FENCE}"
    return paragraph


class PlainDocstrings(griffe.Extension):
    """Rewrites every docstring with `as_markdown`."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Called for every module, class, function and attribute that is loaded."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)
