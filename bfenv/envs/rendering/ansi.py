"""The screen of text that render_mode "ansi" shows."""

from typing import TYPE_CHECKING

from bfenv.envs.rendering.snapshot import Scene, clock, day, horizon, look, span

if TYPE_CHECKING:
    from bfenv.envs.handle import Machine

WIDTH = 96  # characters
ROWS = 12  # of the queue
BAR = 40  # characters
STEPS = "▁▂▃▄▅▆▇█"


def text(env: "Machine") -> str:
    """The environment as lines of text, none longer than WIDTH."""
    scene = look(env, ROWS)
    lines = [
        *_title(scene),
        _line("machine", _machine(scene)),
        _line("ahead", _ahead(scene, horizon(env.trace.jobs))),
        _line("running", _running(scene)),
        _line("head", _head(scene)),
        _line("queue", _queue(scene)),
        _line("episode", _episode(scene)),
        "─" * WIDTH,
        *_table(scene),
    ]
    return "\n".join(line[:WIDTH].rstrip() for line in lines)


def _title(scene: Scene) -> list[str]:
    right = f"{day(scene, scene.now)}  {clock(scene, scene.now)}"
    left = f"Backfill-v0  {scene.workload}"[: WIDTH - len(right) - 2]
    return [left.ljust(WIDTH - len(right)) + right, "─" * WIDTH]


def _line(name: str, content: str) -> str:
    return f" {name:<9}{content}"


def _bar(part: int, whole: int) -> str:
    full = part * BAR // whole
    return "█" * full + "░" * (BAR - full)


def _machine(scene: Scene) -> str:
    busy = scene.processors - scene.free
    share = 100 * busy // scene.processors
    return (
        f"{_bar(busy, scene.processors)}  "
        f"{busy} of {scene.processors} busy ({share} %), {scene.free} free"
    )


def _ahead(scene: Scene, seconds: int) -> str:
    """The availability profile, which only rises, at the beginning of each stretch of time."""
    marks = []
    for column in range(BAR):
        time = scene.now + seconds * column // BAR
        gone = sum(run.size for run in scene.runs if run.end <= time)
        marks.append(STEPS[(scene.free + gone) * (len(STEPS) - 1) // scene.processors])
    return f"{''.join(marks)}  free from now to {span(seconds)} ahead, by estimates"


def _running(scene: Scene) -> str:
    if not scene.runs:
        return "no job"
    first, last = scene.runs[0], scene.runs[-1]
    return (
        f"{_count(len(scene.runs), 'job')}; next expected end in {span(first.end - scene.now)} "
        f"(job {first.job}, {first.size} proc.), last in {span(last.end - scene.now)}"
    )


def _head(scene: Scene) -> str:
    if scene.head is None:
        return "nobody waits"
    job, size, _, begin, extra = scene.head
    if begin == scene.now:
        return f"job {job} ({size} proc.) fits now, {_count(extra, 'extra node')}"
    when = f"{day(scene, begin)}, {clock(scene, begin)}"
    return (
        f"job {job} ({size} proc.): shadow time in {span(begin - scene.now)} ({when}), "
        f"{_count(extra, 'extra node')}"
    )


def _queue(scene: Scene) -> str:
    beyond = max(scene.waiting - scene.window, 0)
    return (
        f"{_count(scene.waiting, 'job')} waiting, {scene.legal} may start, "
        f"{beyond} beyond the window of {scene.window}"
    )


def _episode(scene: Scene) -> str:
    return (
        f"{_bar(scene.started, scene.episode)}  {scene.started} of {scene.episode} started; "
        f"{scene.illegal} illegal, {scene.forced} forced"
    )


def _table(scene: Scene) -> list[str]:
    heads = ("slot", "job", "user", "size", "estimate", "wait")
    if not scene.rows:
        return []
    lines = ["".join(f"{head:>10}" for head in heads) + "    may start"]
    for row in scene.rows:
        cells = (row.slot, row.job, row.user, row.size, span(row.estimate), span(row.wait))
        verdict = f"no: {row.obstacle}" if row.obstacle else "yes"
        lines.append("".join(f"{cell:>10}" for cell in cells) + f"    {verdict}")
    if scene.waiting > len(scene.rows):
        lines.append(f"{'…':>10}  {scene.waiting - len(scene.rows)} more")
    return lines


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
