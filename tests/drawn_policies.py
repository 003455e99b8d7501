"""Policies of every family with drawn options, in the combinations that their families accept."""

from hypothesis import strategies as st

from bfenv.baselines.age_guard import GUARDS
from bfenv.baselines.cons_rs import CHOICES
from bfenv.baselines.los import AIMS, COUNTS, MERITS
from bfenv.baselines.registry import FAMILIES
from bfenv.knowledge.priorities import ORDERS

# What a value depends on differs: requests, the clock, ended jobs, the user's jobs, chance
EXPRESSIONS = (
    "size * estimate",
    "-wait / likely_runtime",
    "log(estimate) - 3 * fits",
    "random / estimate",
    "user_queued - user_ended + tried",
    "free - accuracy * same_size_runtime",
    "wait > age_limit / 2",
    "estimate - backlog * wait",
)
AGED = tuple(name for name, order in ORDERS.items() if order.weight)
orders = st.sampled_from([*ORDERS, *EXPRESSIONS])
booleans = st.booleans()
lengths = st.sampled_from([0, 1, 3, 700])  # seconds
shares = st.floats(0, 3)


def sometimes(strategy):
    """None, or a value of the strategy."""
    return st.none() | strategy


OPTIONS = {
    "queue": {"order": orders},
    "easy": {
        "order": orders,
        "backfill": sometimes(orders),
        "reservations": st.integers(0, 3) | st.just("all"),
        "lookahead": sometimes(st.integers(1, 4)),
        "guard": sometimes(st.floats(0, 2)),
        "guard_scale": st.sampled_from(list(GUARDS)),
        "backfill_estimate": sometimes(st.sampled_from(["prediction", "estimate / 2", "0 - wait"])),
        "trial": lengths,
        "trial_above": lengths,
        "trial_runs_on": booleans,
        "predictor": sometimes(st.just("recent")),
        "weight": sometimes(st.floats(1e-9, 10)),
        "shadow_intervals": sometimes(st.integers(0, 3)),
    },
    "conservative": {
        "order": orders,
        "guarantees": booleans,
        "weight": sometimes(st.floats(0, 10)),
    },
    "cons-rs": {
        "iterations": st.integers(0, 5),
        "limit_ms": st.none(),  # the clock would decide
        "wait_weight": shares,
        "slowdown_weight": st.floats(0.1, 3),
        "choice": st.sampled_from(CHOICES),
        "order": orders,
    },
    "los": {
        "basic": booleans,
        "selected_first": booleans,
        "merit": st.sampled_from(MERITS),
        "lookahead": sometimes(st.integers(1, 4)),
        "counts": st.sampled_from(COUNTS),
        "aim": st.sampled_from(list(AIMS)),
        "reservations": st.integers(1, 3),
        "threshold": sometimes(st.floats(0.1, 1)),
        "order": orders,
    },
    "multiqueue": {
        "bounds": st.sets(st.integers(1, 6), min_size=1, max_size=3).map(
            lambda bounds: tuple(sorted(bounds))
        ),
        "speculation": lengths,
        "tried_above": lengths,
        "partitions": sometimes(
            st.integers(1, 5) | st.lists(st.floats(0.1, 3), min_size=1, max_size=5).map(tuple)
        ),
        "order": orders,
        "restartable": sometimes(st.sampled_from(["random < 0.5", "size > 1", "0"])),
    },
    "easy-speculative": {
        "speculation": lengths,
        "tried_above": lengths,
        "order": orders,
        "restartable": sometimes(st.sampled_from(["random < 0.5", "size > 1", "0"])),
    },
    "selective": {"threshold": shares},
    "slack": {"seconds": lengths},
    "relaxed": {"factor": shares},
}


@st.composite
def drawn_policies(draw, family, trials=True):
    """A policy of a family; without trials, one that the environment can act as."""
    options = draw(st.fixed_dictionaries(OPTIONS[family]))
    if options.get("weight") is not None and not {options["order"], options.get("backfill")} & {
        *AGED
    }:
        options["order"] = draw(st.sampled_from(AGED))
    if options.get("aim") == "min" and options["merit"] == "none":
        options["merit"] = draw(st.sampled_from([merit for merit in MERITS if merit != "none"]))
    if not trials:
        options |= {name: 0 for name in ("trial", "speculation") if name in options}
    return FAMILIES[family](**options)
