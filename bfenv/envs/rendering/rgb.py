"""The picture that render_mode "rgb_array" shows: the machine over time, its queue.

The running jobs are stacked by expected end, the last to end at the bottom. All of them run now,
so the stack is never higher than the machine; and what is left of it at any later time stands on
the floor without a gap. Its outline right of now is the availability profile, and the reservation
of the head of the queue hangs from the ceiling in one piece. Jobs have no processors of their
own, so nothing is lost by not drawing which.
"""

from typing import TYPE_CHECKING

import numpy as np

from bfenv.core.jobs import Trace
from bfenv.envs.rendering.canvas import Brush, Colour, tint
from bfenv.envs.rendering.snapshot import (
    DAY,
    Head,
    Row,
    Run,
    Scene,
    clock,
    day,
    horizon,
    look,
    nice,
    span,
)

if TYPE_CHECKING:
    from bfenv.envs.handle import Machine

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
# After Paul Tol's scheme "muted", whose colours readers of any colour vision tell apart
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


class Screen:
    """A picture of constant size, without a display."""

    def __init__(self):
        """Raises BfenvError when pygame is not installed."""
        self._brush = Brush(WIDTH, HEIGHT)
        self._trace: Trace | None = None
        self._horizon = 0

    def draw(self, env: "Machine") -> np.ndarray:
        """(HEIGHT, WIDTH, 3) uint8: the environment now.

        Raises ResetNeeded before the first `reset`.
        """
        scene = look(env, ROWS)
        if self._trace is not env.trace:
            self._trace, self._horizon = env.trace, horizon(env.trace.jobs)
        self._brush.clear(PAPER)
        _header(self._brush, scene)
        _machine(self._brush, scene, Axes(scene, self._horizon))
        _legend(self._brush)
        _queue(self._brush, scene)
        return self._brush.pixels()


class Axes:
    """Where times and processors lie in the plot."""

    def __init__(self, scene: Scene, ahead: int):
        left, top, width, height = PLOT
        self.left, self.top, self.right, self.bottom = left, top, left + width, top + height
        self.now_x = left + round(width * PAST)
        self.now, self.processors = scene.now, scene.processors
        self.rate = (self.right - self.now_x) / ahead  # pixels per second
        self.tick = nice(ahead / 6)
        self.first = scene.now - (self.now_x - left) / self.rate  # seconds, at the left edge
        self.last = scene.now + ahead

    def x(self, time: float) -> int:
        """Kept within the plot."""
        return self.now_x + round((min(max(time, self.first), self.last) - self.now) * self.rate)

    def y(self, processors: int) -> int:
        """Upper edge of so many processors above the floor."""
        return self.bottom - round(processors * (self.bottom - self.top) / self.processors)


def _header(brush: Brush, scene: Scene) -> None:
    brush.text(16, 22, day(scene, scene.now), FAINT, 18)
    brush.text(16, 47, clock(scene, scene.now), INK, 36)
    busy = scene.processors - scene.free
    share = f"utilization {100 * busy // scene.processors} %"
    _part(
        brush, 0, "machine", f"{busy} of {scene.processors} busy", busy / scene.processors, ACCENT
    )
    _below(brush, 0, (share, FAINT), (f"{len(scene.runs)} running", FAINT))
    started = f"{scene.started} of {scene.episode} started"
    _part(brush, 1, "episode", started, scene.started / scene.episode, INK)
    illegal = (f"{scene.illegal} illegal", ALARM if scene.illegal else FAINT)
    forced = (f"{scene.forced} forced", ALARM if scene.forced else FAINT)
    _below(brush, 1, illegal, forced)
    brush.text(LIST[0], 20, "workload", FAINT)
    brush.text(LIST[0], 42, brush.fitting(scene.workload, LIST[2], 22), INK, 22)


def _part(brush: Brush, part: int, name: str, content: str, share: float, colour: Colour) -> None:
    left, width = HEADER[part]
    brush.text(left, 20, name, FAINT)
    brush.text(left + width, 20, content, INK, align=1)
    brush.meter(left, 32, width, share, colour, GRID)


def _below(brush: Brush, part: int, near: tuple[str, Colour], far: tuple[str, Colour]) -> None:
    left, width = HEADER[part]
    brush.text(left, 53, *near)
    brush.text(left + width, 53, *far, align=1)


def _machine(brush: Brush, scene: Scene, axes: Axes) -> None:
    width, height = axes.right - axes.left, axes.bottom - axes.top
    brush.box(axes.left, axes.top, width, height, PANEL)
    brush.box(axes.left, axes.top, axes.now_x - axes.left, height, PAPER)
    _processor_axis(brush, axes)
    _time_axis(brush, scene, axes)
    brush.clip((axes.left, axes.top, width, height))
    floor = 0
    for run in reversed(scene.runs):
        _run(brush, axes, run, floor)
        floor += run.size
    if scene.head is not None:
        _reservation(brush, scene, axes, scene.head)
    _profile(brush, scene, axes)
    brush.clip(None)
    brush.box(axes.left, axes.top, width, height, EDGE, edge=1)
    brush.box(axes.now_x - 1, axes.top - 5, 2, height + 8, ALARM)
    brush.text(axes.now_x, axes.top - 12, "now", ALARM, align=0.5)


def _processor_axis(brush: Brush, axes: Axes) -> None:
    steps = sorted({2**k for k in range(40)} | {d * 10**k for k in range(10) for d in (1, 2, 5)})
    step = next((step for step in steps if 5 * step >= axes.processors), axes.processors)
    for count in [*range(0, axes.processors, step), axes.processors]:
        y = axes.y(count)
        if count == axes.processors or y - axes.top >= 14:
            brush.box(axes.left, y, axes.right - axes.left, 1, GRID)
            brush.text(axes.left - 6, y, str(count), FAINT, align=1)
    brush.text(16, axes.top - 16, "processors", FAINT)


def _time_axis(brush: Brush, scene: Scene, axes: Axes) -> None:
    first = int(axes.first - scene.midnight) // axes.tick + 1
    for time in range(scene.midnight + first * axes.tick, int(axes.last), axes.tick):
        x = axes.x(time)
        midnight = (time - scene.midnight) % DAY == 0
        brush.box(x, axes.top, 1, axes.bottom - axes.top, EDGE if midnight else GRID)
        label = clock(scene, time)[: 5 if axes.tick >= 60 else 8]
        if midnight:
            label = day(scene, time)
        brush.text(x, axes.bottom + 12, label, INK if midnight else FAINT, align=0.5)


def _run(brush: Brush, axes: Axes, run: Run, floor: int) -> None:
    """What has passed of it in its colour, what is expected in a lighter one."""
    top, bottom = axes.y(floor + run.size), axes.y(floor)
    if bottom == top:
        return  # one of many that share a pixel
    gap = 1 if bottom - top >= 3 else 0
    begin, end = axes.x(run.start), max(axes.x(run.end), axes.now_x + 1)
    colour = JOBS[run.job % len(JOBS)]
    brush.box(axes.now_x, top + gap, end - axes.now_x, bottom - top - gap, tint(colour, 0.3))
    if begin < axes.now_x:
        brush.box(begin, top + gap, axes.now_x - begin, bottom - top - gap, colour)
    if bottom - top >= 12:
        for label in (f"{run.job} × {run.size}", str(run.job)):
            if brush.text_width(label) + 10 <= end - axes.now_x:
                brush.text(axes.now_x + 6, (top + bottom + 1) // 2, label, INK)
                break


def _profile(brush: Brush, scene: Scene, axes: Axes) -> None:
    used = scene.processors - scene.free
    points = [(axes.now_x, axes.y(used))]
    for run in scene.runs:
        points.append((axes.x(run.end), axes.y(used)))
        used -= run.size
        points.append((axes.x(run.end), axes.y(used)))
    points.append((axes.right, axes.y(used)))
    brush.line(points, INK, 2)


def _reservation(brush: Brush, scene: Scene, axes: Axes, head: Head) -> None:
    label = f"{head.job} × {head.size}"
    if head.begin >= axes.last:
        later = f"head {label}: in {span(head.begin - scene.now)}"
        _tag(brush, axes.right - brush.text_width(later) - 12, axes.top + 14, later)
        return
    x, bottom = axes.x(head.begin), axes.y(scene.processors - head.size)
    width, height = max(axes.x(head.begin + head.estimate) - x, 3), max(bottom - axes.top, 3)
    brush.hatched(x, axes.top, width, height, JOBS[head.job % len(JOBS)])
    if head.begin > scene.now:
        brush.dashed(x, axes.top, axes.bottom, INK)
    if height >= 24 and width >= brush.text_width(label) + 22:
        _tag(brush, x + 10, axes.top + height // 2, label)


def _tag(brush: Brush, x: int, y: int, label: str) -> None:
    brush.box(x - 4, y - 9, brush.text_width(label) + 8, 18, PANEL, radius=4)
    brush.text(x, y, label, INK)


def _legend(brush: Brush) -> None:
    x, y, sample = PLOT[0], HEIGHT - 19, JOBS[0]
    brush.box(x, y - 5, 9, 11, sample)
    brush.box(x + 9, y - 5, 13, 11, tint(sample, 0.3))
    brush.text(x + 28, y, "running, to the expected end", FAINT)
    brush.line([(x + 214, y - 4), (x + 224, y - 4), (x + 224, y + 4), (x + 234, y + 4)], INK, 2)
    brush.text(x + 240, y, "availability profile", FAINT)
    brush.hatched(x + 370, y - 6, 20, 13, FAINT)
    brush.text(x + 396, y, "reservation of the head", FAINT)


def _queue(brush: Brush, scene: Scene) -> None:
    left, top, width, height = LIST
    brush.box(left, top, width, height, PANEL)
    brush.box(left, top, width, height, EDGE, edge=1)
    brush.text(left + 10, top + 17, f"{scene.waiting} waiting", INK, 19)
    brush.text(left + width - 10, top + 17, f"{scene.legal} may start", ACCENT, 19, align=1)
    y = top + 40
    heads = ((48, "slot"), (100, "job"), (180, "size"), (234, "estimate"), (286, "wait"))
    for right, head in heads:
        brush.text(left + right, y, head, FAINT, align=1)
    slot = 0
    for row in scene.rows:
        y += ROW
        if row.slot > slot:  # some slots between are not shown
            brush.box(left + 10, y - ROW // 2, width - 20, 1, EDGE)
        slot = row.slot + 1
        _waiting(brush, scene, row, left, y)
    if not scene.rows:
        brush.text(left + width / 2, top + height // 2, "nobody waits", FAINT, align=0.5)
    hidden = scene.waiting - len(scene.rows)
    if hidden > 0:
        beyond = max(scene.waiting - scene.window, 0)
        note = f"+ {hidden} more" + (f", {beyond} of them beyond the window" if beyond else "")
        brush.text(left + 10, top + height - 13, note, FAINT)


def _waiting(brush: Brush, scene: Scene, row: Row, left: int, y: int) -> None:
    colour = JOBS[row.job % len(JOBS)]
    ink = FAINT if row.obstacle else INK
    if not row.obstacle:
        brush.box(left + 1, y - ROW // 2 + 1, LIST[2] - 2, ROW - 1, LEGAL)
    if row.slot == 0:
        brush.hatched(left + 10, y - 6, 13, 13, colour)
    else:
        brush.box(left + 10, y - 6, 13, 13, colour, edge=2 if row.obstacle else 0, radius=2)
    brush.box(left + 112, y - 3, 28, 6, GRID)
    brush.box(left + 112, y - 3, max(round(28 * row.size / scene.processors), 1), 6, ink)
    cells = ((48, row.slot), (100, row.job), (180, row.size))
    for right, cell in (*cells, (234, span(row.estimate)), (286, span(row.wait))):
        brush.text(left + right, y, str(cell), ink, align=1)
