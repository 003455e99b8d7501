"""The command `bfenv warm`."""

from bfenv.cli import show

POLICIES = (
    "fcfs",
    "easy",
    "conservative",
    "los",
    "easy-sjf",
    "multiqueue",
    "easy-saf-aged",
    "agent:formula",
)


def warm() -> None:
    """Compile the environment and the common policies now.

    This command is optional: until code is compiled, it runs as plain Python, and a background
    process compiles it. Compile before long jobs on a cluster, or before you measure speed. The
    compiled code is in your user's cache folder, or in the folder of the environment variable
    BFENV_CACHE.

    \b
    Examples:
      bfenv warm
    """
    import gymnasium

    from bfenv.baselines.registry import find_competitor
    from bfenv.core.kernel import NOW, compiling
    from bfenv.parallel.sweep import warm_up

    with show.progress() as progress, compiling(NOW):
        task = progress.add_task("compiling the environment", total=1 + len(POLICIES))
        gymnasium.make("Backfill-v0").reset(seed=0)
        for name in POLICIES:
            progress.update(task, description=f"compiling {name}", advance=1)
            warm_up(find_competitor(name))
        progress.update(task, advance=1)
