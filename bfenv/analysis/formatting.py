"""Durations, slowdowns and percents in the few digits that mean something."""

MISSING = "–"


def duration(seconds: float | None) -> str:
    """Like 47 s, 12.3 min, 5.4 h, 3.1 d."""
    if seconds is None:
        return MISSING
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if abs(seconds) >= 2 * length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.0f} s"


def slowdown(value: float | None) -> str:
    """Two digits after the point, as long as they mean something."""
    if value is None:
        return MISSING
    return f"{value:,.2f}" if abs(value) < 1000 else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """Like 78.8 %."""
    return MISSING if share is None else f"{share:.1%}".replace("%", " %")


def ratio(value: float | None) -> str:
    """Three digits: 0.873, 12.4, 317."""
    if value is None:
        return MISSING
    digits = 3 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{digits}f}"
