"""Boxes, lines and text on an image of Pillow, which no other module of the room imports."""

from functools import cache
from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError

Colour = tuple[int, int, int]
LETTERS = 0.74  # height of a font in pixels, of a line's
HATCH = 7  # pixels between diagonal lines


class Canvas:
    """An image to draw on.

    Raises
    ------
    BfenvError
        If Pillow is not installed.
    """

    def __init__(self, width: int, height: int, paper: Colour) -> None:
        self._image = _pillow().Image.new("RGB", (width, height), paper)
        self._draw = _pillow().ImageDraw.Draw(self._image)

    def pixels(self) -> np.ndarray:
        """Return a copy of the image, (height, width, 3) uint8."""
        return np.array(self._image)

    def text(
        self, x: float, y: int, string: str, colour: Colour, size: int = 15, align: float = 0.0
    ) -> None:
        """Draw one line, its vertical middle at y; it begins at x, or with align 1 ends there."""
        left = round(x - align * self.text_width(string, size)) if align else round(x)
        self._draw.text((left, y), string, colour, _font(size), anchor="lm")

    def text_width(self, string: str, size: int = 15) -> int:
        """Return the width in pixels that `text` will take."""
        width: float = _font(size).getlength(string)
        return round(width)

    def fitting(self, string: str, width: int, size: int = 15) -> str:
        """Return the string, shortened with an ellipsis if it is wider than `width` pixels."""
        if self.text_width(string, size) <= width:
            return string
        while string and self.text_width(string + "…", size) > width:
            string = string[:-1]
        return string + "…"

    def box(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        colour: Colour,
        edge: int = 0,
        radius: int = 0,
    ) -> None:
        """Draw a filled rectangle, or only its edge, `edge` pixels wide."""
        if width < 1 or height < 1:
            return
        area = (x, y, x + width - 1, y + height - 1)
        style = {"outline": colour, "width": edge} if edge else {"fill": colour}
        if radius:
            self._draw.rounded_rectangle(area, radius, **style)
        else:
            self._draw.rectangle(area, **style)

    def line(self, points: list[tuple[int, int]], colour: Colour, width: int = 1) -> None:
        """Draw a line through the points."""
        self._draw.line(points, colour, width)

    def dashed(self, x: int, top: int, bottom: int, colour: Colour) -> None:
        """Draw a vertical dashed line."""
        for y in range(top, bottom, 7):
            self.box(x, y, 1, min(4, bottom - y), colour)

    def hatched(self, x: int, y: int, width: int, height: int, colour: Colour) -> None:
        """Draw a rectangle of diagonal lines with an edge."""
        inner = Canvas(width, height, tint(colour, 0.92))
        for shift in range(-height, width, HATCH):
            inner.line([(shift, height), (shift + height, 0)], tint(colour, 0.5))
        inner.box(0, 0, width, height, colour, edge=2)
        self._image.paste(inner._image, (x, y))

    def meter(
        self, x: int, y: int, width: int, share: float, colour: Colour, ground: Colour
    ) -> None:
        """Draw a horizontal bar, filled from the left."""
        self.box(x, y, width, 8, ground, radius=4)
        if share > 0:
            self.box(x, y, max(round(width * share), 8), 8, colour, radius=4)


def tint(colour: Colour, white: float) -> Colour:
    """Mix the colour with a share of white."""
    red, green, blue = (round(part + (255 - part) * white) for part in colour)
    return red, green, blue


@cache
def _font(size: int) -> Any:
    return _pillow().ImageFont.load_default(size * LETTERS)


@cache
def _pillow() -> Any:
    try:
        import PIL
        import PIL.Image
        import PIL.ImageDraw
        import PIL.ImageFont
    except ImportError as error:
        raise BfenvError(
            "render_mode 'rgb_array' draws with Pillow: pip install 'bfenv[render]'"
        ) from error
    return PIL
