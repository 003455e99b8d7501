"""Boxes, lines and text on a surface of pygame, which is imported here only."""

from typing import Any

import numpy as np

from bfenv.core.errors import BfenvError

Colour = tuple[int, int, int]
FINE = 2  # text is drawn so many times too large, then shrunk: even spacing at small sizes
REMEMBERED = 2000  # images of text


class Brush:
    """An off-screen surface and what is drawn on it; needs no display."""

    def __init__(self, width: int, height: int):
        """Raises BfenvError when pygame is not installed."""
        self._pygame = _import_pygame()
        self._surface = self._pygame.Surface((width, height), depth=24)
        self._fonts: dict[int, Any] = {}
        self._images: dict[tuple[str, Colour, int], Any] = {}

    def clear(self, colour: Colour) -> None:
        """Begin a frame. Fonts last no longer: they die when anybody calls pygame.quit()."""
        self._pygame.font.init()
        self._fonts.clear()
        if len(self._images) > REMEMBERED:
            self._images.clear()
        self._surface.fill(colour)

    def pixels(self) -> np.ndarray:
        """(height, width, 3) uint8, a copy."""
        width, height = self._surface.get_size()
        pixels = self._pygame.image.tobytes(self._surface, "RGB")
        return np.frombuffer(pixels, np.uint8).reshape(height, width, 3).copy()

    def clip(self, area: tuple[int, int, int, int] | None) -> None:
        """Draw within left, top, width, height only; None lifts the limit."""
        self._surface.set_clip(area)

    def text(self, x: float, y: int, string: str, colour: Colour, size: int = 15, align=0.0):
        """One line whose vertical middle is y; it begins at x, or with align 1 ends there."""
        image = self._images.get((string, colour, size))
        if image is None:
            large = self._font(size).render(string, True, colour)
            shrunk = (round(large.get_width() / FINE), round(large.get_height() / FINE))
            image = self._pygame.transform.smoothscale(large, shrunk)
            self._images[string, colour, size] = image
        width, height = image.get_size()
        self._surface.blit(image, (round(x - align * width), y - height // 2))

    def text_width(self, string: str, size: int = 15) -> int:
        """Pixels that `text` will take."""
        return round(self._font(size).size(string)[0] / FINE)

    def fitting(self, string: str, width: int, size: int = 15) -> str:
        """The string, or as much of it as fits into the width, with an ellipsis."""
        if self.text_width(string, size) <= width:
            return string
        while string and self.text_width(string + "…", size) > width:
            string = string[:-1]
        return string + "…"

    def box(self, x: int, y: int, width: int, height: int, colour: Colour, edge=0, radius=0):
        """A filled rectangle, or its edge of so many pixels."""
        area = (x, y, width, height)
        self._pygame.draw.rect(self._surface, colour, area, edge, border_radius=radius)

    def line(self, points: list[tuple[int, int]], colour: Colour, width: int = 1) -> None:
        """A line through the points."""
        self._pygame.draw.lines(self._surface, colour, False, points, width)

    def dashed(self, x: int, top: int, bottom: int, colour: Colour) -> None:
        """A vertical dashed line."""
        for y in range(top, bottom, 7):
            self.box(x, y, 1, min(4, bottom - y), colour)

    def hatched(self, x: int, y: int, width: int, height: int, colour: Colour) -> None:
        """A rectangle of diagonal lines with an edge."""
        before = self._surface.get_clip()
        self._surface.set_clip(before.clip((x, y, width, height)))
        self._surface.fill(tint(colour, 0.92))
        for shift in range(-height, width, 7):
            self.line([(x + shift, y + height), (x + shift + height, y)], tint(colour, 0.5))
        self.box(x, y, width, height, colour, edge=2)
        self._surface.set_clip(before)

    def meter(self, x: int, y: int, width: int, share: float, colour: Colour, ground: Colour):
        """A horizontal bar, filled from the left."""
        self.box(x, y, width, 8, ground, radius=4)
        if share > 0:
            self.box(x, y, max(round(width * share), 8), 8, colour, radius=4)

    def _font(self, size: int) -> Any:
        if size not in self._fonts:
            self._fonts[size] = self._pygame.font.Font(None, FINE * size)
        return self._fonts[size]


def tint(colour: Colour, white: float) -> Colour:
    """The colour mixed with so much white."""
    red, green, blue = (round(part + (255 - part) * white) for part in colour)
    return red, green, blue


def _import_pygame() -> Any:
    try:  # without its greeting, which Gymnasium has already turned off
        import pygame
        import pygame.font
    except ImportError as error:
        raise BfenvError(
            "render_mode 'rgb_array' and 'human' draw with pygame: pip install 'bfenv[render]'"
        ) from error
    return pygame
