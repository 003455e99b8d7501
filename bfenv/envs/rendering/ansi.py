"""The screen of text of render_mode "ansi"."""

import bfenv.envs.rendering.snapshot as view
from bfenv.core.text import counted
from bfenv.envs.handle import EnvHandle

WIDTH = 96  # characters
ROWS = 12  # of the queue
BAR = 40  # characters
STEPS = "▁▂▃▄▅▆▇█"


def render_text(env: EnvHandle) -> str:
    """Draw the environment as lines of text, none longer than WIDTH."""
    snapshot = view.take_snapshot(env, ROWS)
    right = f"{view.day(snapshot, snapshot.now)}  {view.clock(snapshot, snapshot.now)}"
    left = f"Backfill-v0  {snapshot.workload}"[: WIDTH - len(right) - 2]
    beyond = max(snapshot.waiting - snapshot.window, 0)
    heads = f"{snapshot.heads} may become the head, " if snapshot.heads else ""
    busy = snapshot.processors - snapshot.free
    lines = [
        left.ljust(WIDTH - len(right)) + right,
        "─" * WIDTH,
        _line(
            "machine",
            f"{_bar(busy, snapshot.processors)}  "
            f"{busy} of {snapshot.processors} busy ({100 * busy // snapshot.processors} %), "
            f"{snapshot.free} free",
        ),
        _line("ahead", _ahead(snapshot, view.horizon(env.jobs))),
        _line("running", _running(snapshot)),
        _line("head", _head(snapshot)),
        _line(
            "queue",
            f"{counted(snapshot.waiting, 'job')} waiting, {snapshot.startable} may start, "
            f"{heads}{beyond} beyond the window of {snapshot.window}",
        ),
        _line(
            "episode",
            f"{_bar(snapshot.started, snapshot.episode)}  "
            f"{snapshot.started} of {snapshot.episode} started; "
            f"{snapshot.illegal} illegal, {snapshot.forced} forced",
        ),
        "─" * WIDTH,
        *_table(snapshot),
    ]
    return "\n".join(line[:WIDTH].rstrip() for line in lines)


def _line(name: str, content: str) -> str:
    return f" {name:<9}{content}"


def _bar(part: int, whole: int) -> str:
    full = part * BAR // whole
    return "█" * full + "░" * (BAR - full)


def _ahead(snapshot: view.Snapshot, seconds: int) -> str:
    """The availability profile at the beginning of each stretch of time."""
    marks = []
    for column in range(BAR):
        time = snapshot.now + seconds * column // BAR
        free = snapshot.free + sum(run.size for run in snapshot.runs if run.end <= time)
        marks.append(STEPS[free * (len(STEPS) - 1) // snapshot.processors])
    return f"{''.join(marks)}  free from now to {view.span(seconds)} ahead, by estimates"


def _running(snapshot: view.Snapshot) -> str:
    if not snapshot.runs:
        return "no job"
    first, last = snapshot.runs[0], snapshot.runs[-1]
    return (
        f"{counted(len(snapshot.runs), 'job')}; "
        f"next expected end in {view.span(first.end - snapshot.now)} "
        f"(job {first.job}, {first.size} proc.), last in {view.span(last.end - snapshot.now)}"
    )


def _head(snapshot: view.Snapshot) -> str:
    if snapshot.head is None:
        return "no job waits"
    job, size, _, begin, extra = snapshot.head
    if begin == snapshot.now:
        return f"job {job} ({size} proc.) fits now, {counted(extra, 'extra node')}"
    moment = f"{view.day(snapshot, begin)}, {view.clock(snapshot, begin)}"
    return (
        f"job {job} ({size} proc.): shadow time in {view.span(begin - snapshot.now)} ({moment}), "
        f"{counted(extra, 'extra node')}"
    )


def _table(snapshot: view.Snapshot) -> list[str]:
    heads = ("slot", "job", "user", "size", "estimate", "wait")
    if not snapshot.rows:
        return []
    lines = ["".join(f"{head:>10}" for head in heads) + "    may start"]
    for row in snapshot.rows:
        cells = (
            row.slot,
            row.job,
            row.user,
            row.size,
            view.span(row.estimate),
            view.span(row.wait),
        )
        no = "head" if row.may_be_head else "no"
        verdict = f"{no}: {row.obstacle}" if row.obstacle else "yes"
        lines.append("".join(f"{cell:>10}" for cell in cells) + f"    {verdict}")
    if snapshot.waiting > len(snapshot.rows):
        lines.append(f"{'…':>10}  {snapshot.waiting - len(snapshot.rows)} more")
    return lines
