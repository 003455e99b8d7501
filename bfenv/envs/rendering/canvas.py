"""Boxes, lines and text on a surface of pygame, which no other module imports."""

from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError

Colour = tuple[int, int, int]
OVERSAMPLING = 2  # text is drawn larger by this, then shrunk: even spacing at small sizes
CACHED_IMAGES = 2000  # of text


class Canvas:
    """An off-screen surface to draw on; needs no display.

    Raises
    ------
    BfenvError
        If pygame is not installed.
    """

    def __init__(self, width: int, height: int) -> None:
        self._pygame = _import_pygame()
        self._surface = self._pygame.Surface((width, height), depth=24)
        self._fonts: dict[int, Any] = {}
        self._images: dict[tuple[str, Colour, int], Any] = {}

    def clear(self, colour: Colour) -> None:
        """Begin a frame, with fresh fonts: any call of pygame.quit() invalidates them."""
        self._pygame.font.init()
        self._fonts.clear()
        if len(self._images) > CACHED_IMAGES:
            self._images.clear()
        self._surface.fill(colour)

    def pixels(self) -> np.ndarray:
        """Return a copy of the image, (height, width, 3) uint8."""
        width, height = self._surface.get_size()
        pixels = self._pygame.image.tobytes(self._surface, "RGB")
        return np.frombuffer(pixels, np.uint8).reshape(height, width, 3).copy()

    def clip(self, area: tuple[int, int, int, int] | None) -> None:
        """Limit drawing to left, top, width, height; None lifts the limit."""
        self._surface.set_clip(area)

    def text(
        self,
        x: float,
        y: int,
        string: str,
        colour: Colour,
        size: int = 15,
        align: float = 0.0,
    ) -> None:
        """Draw one line, its vertical middle at y; it begins at x, or with align 1 ends there."""
        image = self._images.get((string, colour, size))
        if image is None:
            large = self._font(size).render(string, True, colour)
            shrunk = (
                round(large.get_width() / OVERSAMPLING),
                round(large.get_height() / OVERSAMPLING),
            )
            image = self._pygame.transform.smoothscale(large, shrunk)
            self._images[string, colour, size] = image
        width, height = image.get_size()
        self._surface.blit(image, (round(x - align * width), y - height // 2))

    def text_width(self, string: str, size: int = 15) -> int:
        """Return the width in pixels that `text` will take."""
        width: int = self._font(size).size(string)[0]
        return round(width / OVERSAMPLING)

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
        area = (x, y, width, height)
        self._pygame.draw.rect(self._surface, colour, area, edge, border_radius=radius)

    def line(self, points: list[tuple[int, int]], colour: Colour, width: int = 1) -> None:
        """Draw a line through the points."""
        self._pygame.draw.lines(self._surface, colour, False, points, width)

    def dashed(self, x: int, top: int, bottom: int, colour: Colour) -> None:
        """Draw a vertical dashed line."""
        for y in range(top, bottom, 7):
            self.box(x, y, 1, min(4, bottom - y), colour)

    def hatched(self, x: int, y: int, width: int, height: int, colour: Colour) -> None:
        """Draw a rectangle of diagonal lines with an edge."""
        before = self._surface.get_clip()
        self._surface.set_clip(before.clip((x, y, width, height)))
        self._surface.fill(tint(colour, 0.92))
        for shift in range(-height, width, 7):
            self.line([(x + shift, y + height), (x + shift + height, y)], tint(colour, 0.5))
        self.box(x, y, width, height, colour, edge=2)
        self._surface.set_clip(before)

    def meter(
        self, x: int, y: int, width: int, share: float, colour: Colour, ground: Colour
    ) -> None:
        """Draw a horizontal bar, filled from the left."""
        self.box(x, y, width, 8, ground, radius=4)
        if share > 0:
            self.box(x, y, max(round(width * share), 8), 8, colour, radius=4)

    def _font(self, size: int) -> Any:
        if size not in self._fonts:
            self._fonts[size] = self._pygame.font.Font(None, OVERSAMPLING * size)
        return self._fonts[size]


def tint(colour: Colour, white: float) -> Colour:
    """Mix the colour with a share of white."""
    red, green, blue = (round(part + (255 - part) * white) for part in colour)
    return red, green, blue


def _import_pygame() -> Any:
    try:  # Gymnasium has already turned off its greeting
        import pygame
        import pygame.font
    except ImportError as error:
        raise BfenvError(
            "render_mode 'rgb_array' and 'human' draw with pygame: pip install 'bfenv[render]'"
        ) from error
    return pygame
