"""SVG as pixels, by a library that needs neither fonts nor a display."""

import functools
import io

import numpy as np
import numpy.typing as npt

LARGEST = 8192
"""Pixels that a picture may be wide."""


@functools.lru_cache(maxsize=8)
def png(svg: str, width: int) -> bytes:
    """An SVG document as the bytes of a PNG file.

    Args:
        svg: the document, without texts that need a font.
        width: in pixels, 16 to `LARGEST`; the height follows.

    Raises:
        ValueError: another width.
    """
    import resvg_py  # a picture is rarely wanted: importing the package stays light

    if not 16 <= width <= LARGEST:
        raise ValueError(f"width={width}: a picture is 16 to {LARGEST} pixels wide")
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, width=int(width), skip_system_fonts=True))


def pixels(picture: bytes) -> npt.NDArray[np.uint8]:
    """The pixels of a PNG file: uint8, shape (height, width, 3); what is clear becomes white."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as image:
        solid = Image.new("RGBA", image.size, "white")
        solid.alpha_composite(image.convert("RGBA"))
    return np.asarray(solid.convert("RGB")).copy()
