"""The table as a picture: one SVG drawing, used by every picture mode, notebook and file.

`show` makes a `Drawing` of a view or a full state (``table_art``), which displays itself in a
notebook, saves itself and gives its pixels; `sheet` puts several on one page.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from euchre_env.glyphs import number
from euchre_env.raster import pixels, png
from euchre_env.table_art import TABLE_HEIGHT, TABLE_WIDTH, Values, table_svg

__all__ = ["TABLE_HEIGHT", "TABLE_WIDTH", "Drawing", "Values", "sheet", "show", "table_svg"]


@dataclass(frozen=True)
class Drawing:
    """A picture: displays itself in a notebook, saves itself, gives its pixels.

    Attributes:
        svg: the SVG document.
        width: its own width, the pixels of `to_png` and `to_rgb` unless asked otherwise.
    """

    svg: str = field(repr=False)
    width: int = TABLE_WIDTH

    def _repr_svg_(self) -> str:
        return self.svg

    def to_png(self, width: int | None = None) -> bytes:
        """The picture as the bytes of a PNG file.

        Args:
            width: in pixels; the picture's own when None.

        Raises:
            ValueError: the width is none that a picture may have.
        """
        return png(self.svg, self.width if width is None else width)

    def to_rgb(self, width: int | None = None) -> npt.NDArray[np.uint8]:
        """The picture's pixels: uint8, shape (height, width, 3).

        Args:
            width: in pixels; the picture's own when None.

        Raises:
            ValueError: the width is none that a picture may have.
        """
        return pixels(self.to_png(width))

    def save(self, path: str | Path, width: int | None = None) -> Path:
        """Write an ``.svg`` or a ``.png`` file, as the name ends.

        Args:
            path: the file, overwritten.
            width: of a PNG, in pixels; the picture's own when None.

        Returns:
            The path.

        Raises:
            ValueError: the name ends otherwise.
        """
        place = Path(path)
        if place.suffix == ".svg":
            place.write_text(self.svg, encoding="utf-8")
        elif place.suffix == ".png":
            place.write_bytes(self.to_png(width))
        else:
            raise ValueError(f"{str(path)!r}: a drawing is saved as .svg or .png")
        return place


def show(view: np.record, *, values: Values | None = None, note: str = "") -> Drawing:
    """A drawing of the table: `table_svg` as an object that notebooks display."""
    return Drawing(table_svg(view, values=values, note=note))


def sheet(drawings: Sequence[Drawing], columns: int = 3, width: int = 960) -> Drawing:
    """Several drawings of the table on one page, in rows: a deal, move by move.

    Args:
        drawings: of single tables, as `show` makes them; 1 or more.
        columns: drawings in a row.
        width: of the page.

    Raises:
        ValueError: there is nothing to show, or no column.
    """
    if not drawings or columns < 1:
        raise ValueError(f"{len(drawings)} drawings in {columns} columns: at least 1 of each")
    columns = min(columns, len(drawings))
    across = width / columns
    down = across * TABLE_HEIGHT / TABLE_WIDTH
    height = round(down * -(-len(drawings) // columns))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">'
    ]
    for place, drawing in enumerate(drawings):
        x, y = across * (place % columns), down * (place // columns)
        inside = drawing.svg.replace(
            f' width="{TABLE_WIDTH}" height="{TABLE_HEIGHT}"',
            f' x="{number(x + 3)}" y="{number(y + 2)}" width="{number(across - 6)}" '
            f'height="{number(down - 4)}"',
            1,
        )
        parts.append(inside)
    return Drawing("".join([*parts, "</svg>"]), width)
