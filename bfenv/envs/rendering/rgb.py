"""The image of render_mode "rgb_array": the machine over time, and its queue.

The running jobs are stacked by expected end, the last to end at the bottom. All of them run now,
so the stack is never higher than the machine, and what remains of it at any later time has no gaps.
Its outline right of now is the availability profile, and the reservation of the head of the queue
hangs from the ceiling in one piece. Jobs are not bound to particular processors, so none are shown.
"""

from functools import cache, lru_cache
from typing import Any

import numpy as np

import bfenv.envs.rendering.snapshot as view
from bfenv.core.durations import DAY
from bfenv.core.errors import BfenvError
from bfenv.envs.handle import EnvHandle

Colour = tuple[int, int, int]
LETTERS = 0.74  # height of a font in pixels, of a line's
HATCH = 7  # pixels between diagonal lines
WORDS = 4096  # that are kept: many lines stay from image to image, and drawing one takes 0.2 ms


class Canvas:
    """An image to draw on.

    Raises BfenvError if Pillow is not installed.
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
        shape, dx, dy = _word(string, size)
        self._image.paste(colour, (left + dx, y + dy), shape)

    @staticmethod
    @lru_cache(WORDS)
    def text_width(string: str, size: int = 15) -> int:
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


@lru_cache(WORDS)
def _word(string: str, size: int) -> tuple[Any, int, int]:
    """Return a line as a mask, and how far right of and below its anchor "lm" the mask begins."""
    left, top, right, bottom = _font(size).getbbox(string, anchor="lm")
    shape = _pillow().Image.new("L", (right - left, bottom - top))
    _pillow().ImageDraw.Draw(shape).text((-left, -top), string, 255, _font(size), anchor="lm")
    return shape, left, top


@cache
def _pillow() -> Any:
    try:
        import PIL
        from PIL import Image, ImageDraw, ImageFont  # noqa: F401  # makes them attributes of PIL
    except ImportError as error:
        raise BfenvError(
            "render_mode 'rgb_array' draws with Pillow: pip install 'bfenv[render]'"
        ) from error
    return PIL


WIDTH, HEIGHT = 960, 540
PLOT = (56, 92, 568, 388)  # left, top, width, height of the machine over time
PAST = 1 / 6  # of the plot's width
LIST = (648, 76, 296, 452)  # left, top, width, height of the queue
ROW, ROWS = 19, 20  # of the queue: pixels, number
HEADER = ((152, 218), (406, 218))  # left, width of the machine's part and the episode's

PAPER: Colour = (247, 247, 244)
PANEL: Colour = (255, 255, 255)
GRID: Colour = (230, 230, 226)
EDGE: Colour = (204, 204, 200)
FAINT: Colour = (124, 126, 132)
INK: Colour = (38, 42, 52)
ALARM: Colour = (184, 40, 48)
LEGAL: Colour = (224, 237, 250)
ACCENT: Colour = (0, 98, 168)
# After Paul Tol's scheme "muted", which is safe for colour-blind readers
JOBS: tuple[Colour, ...] = (
    (136, 204, 238),
    (204, 102, 119),
    (68, 170, 153),
    (221, 204, 119),
    (92, 84, 172),
    (153, 153, 51),
    (170, 68, 153),
    (64, 140, 80),
    (176, 96, 60),
)


def render_image(env: EnvHandle) -> np.ndarray:
    """Draw the environment as it is now; return (HEIGHT, WIDTH, 3) uint8.

    Raises BfenvError if Pillow is not installed. Raises ResetNeeded before the first `reset`.
    """
    snapshot = view.take_snapshot(env, ROWS)
    canvas = Canvas(WIDTH, HEIGHT, PAPER)
    _header(canvas, snapshot)
    _cluster(canvas, snapshot, Axes(snapshot, view.horizon(env.jobs)))
    _legend(canvas)
    _queue(canvas, snapshot)
    return canvas.pixels()


class Axes:
    """Where times and processors lie in the plot."""

    def __init__(self, snapshot: view.Snapshot, ahead: int) -> None:
        left, top, width, height = PLOT
        self.left, self.top, self.right, self.bottom = left, top, left + width, top + height
        self.now_x = left + round(width * PAST)
        self.now, self.processors = snapshot.now, snapshot.processors
        self.rate = (self.right - self.now_x) / ahead  # pixels per second
        self.tick = view.round_up(ahead / 6)
        self.first = snapshot.now - (self.now_x - left) / self.rate  # seconds, at the left edge
        self.last = snapshot.now + ahead

    def x(self, time: float) -> int:
        """Return the pixel of a time, clipped to the plot."""
        return self.now_x + round((min(max(time, self.first), self.last) - self.now) * self.rate)

    def y(self, processors: int) -> int:
        """Return the upper edge of this many processors, from the floor up."""
        return self.bottom - round(processors * (self.bottom - self.top) / self.processors)


def _header(canvas: Canvas, snapshot: view.Snapshot) -> None:
    canvas.text(16, 22, view.day(snapshot, snapshot.now), FAINT, 18)
    canvas.text(16, 47, view.clock(snapshot, snapshot.now), INK, 36)
    busy = snapshot.processors - snapshot.free
    share = f"utilization {100 * busy // snapshot.processors} %"
    content = f"{busy} of {snapshot.processors} busy"
    _part(canvas, 0, "machine", content, busy / snapshot.processors, ACCENT)
    _below(canvas, 0, (share, FAINT), (f"{len(snapshot.runs)} running", FAINT))
    started = f"{snapshot.started} of {snapshot.episode} started"
    _part(canvas, 1, "episode", started, snapshot.started / snapshot.episode, INK)
    illegal = (f"{snapshot.illegal} illegal", ALARM if snapshot.illegal else FAINT)
    forced = (f"{snapshot.forced} forced", ALARM if snapshot.forced else FAINT)
    _below(canvas, 1, illegal, forced)
    canvas.text(LIST[0], 20, "workload", FAINT)
    canvas.text(LIST[0], 42, canvas.fitting(snapshot.workload, LIST[2], 22), INK, 22)


def _part(canvas: Canvas, part: int, name: str, content: str, share: float, colour: Colour) -> None:
    left, width = HEADER[part]
    canvas.text(left, 20, name, FAINT)
    canvas.text(left + width, 20, content, INK, align=1)
    canvas.meter(left, 32, width, share, colour, GRID)


def _below(canvas: Canvas, part: int, near: tuple[str, Colour], far: tuple[str, Colour]) -> None:
    left, width = HEADER[part]
    canvas.text(left, 53, *near)
    canvas.text(left + width, 53, *far, align=1)


def _cluster(canvas: Canvas, snapshot: view.Snapshot, axes: Axes) -> None:
    width, height = axes.right - axes.left, axes.bottom - axes.top
    canvas.box(axes.left, axes.top, width, height, PANEL)
    canvas.box(axes.left, axes.top, axes.now_x - axes.left, height, PAPER)
    _processor_axis(canvas, axes)
    _time_axis(canvas, snapshot, axes)
    floor = 0
    for run in reversed(snapshot.runs):
        _run(canvas, axes, run, floor)
        floor += run.size
    if snapshot.head is not None:
        _reservation(canvas, snapshot, axes, snapshot.head)
    _profile(canvas, snapshot, axes)
    canvas.box(axes.left, axes.top, width, height, EDGE, edge=1)
    canvas.box(axes.now_x - 1, axes.top - 5, 2, height + 8, ALARM)
    canvas.text(axes.now_x, axes.top - 12, "now", ALARM, align=0.5)


def _processor_axis(canvas: Canvas, axes: Axes) -> None:
    steps = sorted({2**k for k in range(40)} | {d * 10**k for k in range(10) for d in (1, 2, 5)})
    step = next((step for step in steps if 5 * step >= axes.processors), axes.processors)
    for count in [*range(0, axes.processors, step), axes.processors]:
        y = axes.y(count)
        if count == axes.processors or y - axes.top >= 14:
            canvas.box(axes.left, y, axes.right - axes.left, 1, GRID)
            canvas.text(axes.left - 6, y, str(count), FAINT, align=1)
    canvas.text(16, axes.top - 16, "processors", FAINT)


def _time_axis(canvas: Canvas, snapshot: view.Snapshot, axes: Axes) -> None:
    first = int(axes.first - snapshot.midnight) // axes.tick + 1
    for time in range(snapshot.midnight + first * axes.tick, int(axes.last), axes.tick):
        x = axes.x(time)
        midnight = (time - snapshot.midnight) % DAY == 0
        canvas.box(x, axes.top, 1, axes.bottom - axes.top, EDGE if midnight else GRID)
        label = view.clock(snapshot, time)[: 5 if axes.tick >= 60 else 8]
        if midnight:
            label = view.day(snapshot, time)
        canvas.text(x, axes.bottom + 12, label, INK if midnight else FAINT, align=0.5)


def _run(canvas: Canvas, axes: Axes, run: view.Running, floor: int) -> None:
    """Draw the past of a running job in its colour, the expected rest in a lighter one."""
    top, bottom = axes.y(floor + run.size), axes.y(floor)
    if bottom == top:
        return  # one of many that share a pixel
    gap = 1 if bottom - top >= 3 else 0
    begin, end = axes.x(run.start), max(axes.x(run.end), axes.now_x + 1)
    colour = JOBS[run.job % len(JOBS)]
    canvas.box(axes.now_x, top + gap, end - axes.now_x, bottom - top - gap, tint(colour, 0.3))
    if begin < axes.now_x:
        canvas.box(begin, top + gap, axes.now_x - begin, bottom - top - gap, colour)
    if bottom - top >= 12:
        for label in (f"{run.job} x {run.size}", str(run.job)):
            if canvas.text_width(label) + 10 <= end - axes.now_x:
                canvas.text(axes.now_x + 6, (top + bottom + 1) // 2, label, INK)
                break


def _profile(canvas: Canvas, snapshot: view.Snapshot, axes: Axes) -> None:
    used = snapshot.processors - snapshot.free
    points = [(axes.now_x, axes.y(used))]
    for run in snapshot.runs:  # by expected end
        points.append((axes.x(run.end), axes.y(used)))
        used -= run.size
        points.append((axes.x(run.end), axes.y(used)))
    points.append((axes.right, axes.y(used)))
    canvas.line(points, INK, 2)


def _reservation(canvas: Canvas, snapshot: view.Snapshot, axes: Axes, head: view.Head) -> None:
    label = f"{head.job} x {head.size}"
    if head.begin >= axes.last:
        later = f"head {label}: in {view.span(head.begin - snapshot.now)}"
        _tag(canvas, axes.right - canvas.text_width(later) - 12, axes.top + 14, later)
        return
    end = head.begin + head.estimate
    x, top = min(axes.x(head.begin), axes.right - 3), axes.y(snapshot.processors)
    bottom = axes.y(snapshot.processors - head.size)
    width, height = max(axes.x(end) - x, 3), max(bottom - top, 3)
    canvas.hatched(x, top, width, height, JOBS[head.job % len(JOBS)])
    if head.begin > snapshot.now:
        canvas.dashed(x, axes.top, axes.bottom, INK)
    if height >= 24 and width >= canvas.text_width(label) + 22:
        _tag(canvas, x + 10, top + height // 2, label)


def _tag(canvas: Canvas, x: int, y: int, label: str) -> None:
    canvas.box(x - 4, y - 9, canvas.text_width(label) + 8, 18, PANEL, radius=4)
    canvas.text(x, y, label, INK)


def _legend(canvas: Canvas) -> None:
    x, y, sample = PLOT[0], HEIGHT - 19, JOBS[0]
    canvas.box(x, y - 5, 9, 11, sample)
    canvas.box(x + 9, y - 5, 13, 11, tint(sample, 0.3))
    canvas.text(x + 28, y, "running, to the expected end", FAINT)
    canvas.line([(x + 214, y - 4), (x + 224, y - 4), (x + 224, y + 4), (x + 234, y + 4)], INK, 2)
    canvas.text(x + 240, y, "availability profile", FAINT)
    canvas.hatched(x + 370, y - 6, 20, 13, FAINT)
    canvas.text(x + 396, y, "reservation of the head", FAINT)


def _queue(canvas: Canvas, snapshot: view.Snapshot) -> None:
    left, top, width, height = LIST
    canvas.box(left, top, width, height, PANEL)
    canvas.box(left, top, width, height, EDGE, edge=1)
    canvas.text(left + 10, top + 17, f"{snapshot.waiting} waiting", INK, 19)
    canvas.text(left + width - 10, top + 17, f"{snapshot.startable} may start", ACCENT, 19, align=1)
    if snapshot.heads:
        canvas.text(left + 150, top + 17, f"{snapshot.heads} may be head", INK, align=0.5)
    y = top + 40
    heads = ((48, "slot"), (100, "job"), (180, "size"), (234, "estimate"), (286, "wait"))
    for right, head in heads:
        canvas.text(left + right, y, head, FAINT, align=1)
    slot = 0
    for row in snapshot.rows:
        y += ROW
        if row.slot > slot:  # slots in between are not shown
            canvas.box(left + 10, y - ROW // 2, width - 20, 1, EDGE)
        slot = row.slot + 1
        _waiting(canvas, snapshot, row, left, y)
    if not snapshot.rows:
        canvas.text(left + width / 2, top + height // 2, "no job waits", FAINT, align=0.5)
    hidden = snapshot.waiting - len(snapshot.rows)
    if hidden > 0:
        beyond = max(snapshot.waiting - snapshot.window, 0)
        note = f"+ {hidden} more" + (f", {beyond} of them beyond the window" if beyond else "")
        canvas.text(left + 10, top + height - 13, note, FAINT)


def _waiting(canvas: Canvas, snapshot: view.Snapshot, row: view.Waiting, left: int, y: int) -> None:
    colour = JOBS[row.job % len(JOBS)]
    ink = FAINT if row.obstacle and not row.may_be_head else INK
    if not row.obstacle:
        canvas.box(left + 1, y - ROW // 2 + 1, LIST[2] - 2, ROW - 1, LEGAL)
    if snapshot.head is not None and row.job == snapshot.head.job:
        canvas.hatched(left + 10, y - 6, 13, 13, colour)
    else:
        canvas.box(left + 10, y - 6, 13, 13, colour, edge=2 if row.obstacle else 0, radius=2)
    canvas.box(left + 112, y - 3, 28, 6, GRID)
    canvas.box(left + 112, y - 3, max(round(28 * row.size / snapshot.processors), 1), 6, ink)
    cells = ((48, row.slot), (100, row.job), (180, row.size))
    for right, cell in (*cells, (234, view.span(row.estimate)), (286, view.span(row.wait))):
        canvas.text(left + right, y, str(cell), ink, align=1)
