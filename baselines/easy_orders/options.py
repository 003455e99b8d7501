"""The options of EASY and the published policies that they make, in the order of the tables.

The scheduling passes are in `order_pass` and, for what expressions and the age guard add, in
`scored_pass`.
"""

from dataclasses import replace
from functools import partial

from bfenv.baselines.age_guard import GUARDS
from bfenv.baselines.easy_orders import order_pass, scored_pass
from bfenv.baselines.easy_orders.order_pass import Options
from bfenv.baselines.policy_names import expression
from bfenv.baselines.queue_order import find_order_or_expression
from bfenv.core.arguments import check_choice, check_integer, check_number
from bfenv.core.durations import in_seconds
from bfenv.core.errors import PolicyError
from bfenv.core.jobs import FOREVER
from bfenv.core.policy import Policy
from bfenv.core.text import counted
from bfenv.knowledge.expression_program import parse_expression
from bfenv.knowledge.priorities import EXPRESSION, check_weight

LONG = 720  # seconds; estimates above it get trials
PREDICTORS = (None, "recent")


def easy(
    order: str = "fcfs",
    backfill: str | None = None,
    reservations: int | str = 1,
    lookahead: int | None = None,
    guard: float | None = None,
    guard_scale: str = "corrected_easy",
    backfill_estimate: str | None = None,
    trial: int | str = 0,
    trial_above: int | str = LONG,
    trial_runs_on: bool = False,
    predictor: str | None = None,
    weight: float | None = None,
    shadow_intervals: int | None = None,
) -> Policy:
    """Make a policy of EASY backfilling with its parts to choose.

    Jobs start in `order` until one, the head, does not fit. In the same order, each further job
    starts if there is room for it beside the reservations made so far; if not, it gets a
    reservation at its anchor point, until `reservations` of them are made. The remaining jobs are
    then tried in the order of the `backfill` and start where there is room.

    Args:
        order, backfill: Names of `bfenv.knowledge.priorities.ORDERS`, or expressions in the
            quantities of `bfenv.knowledge.user_history`, such as "size * estimate", of which the
            smallest comes first. A backfill of None has the same order.
        reservations: 1 in EASY, RESERVATIONDEPTH in Maui, "all" for every job (planned from scratch
            in each pass), 0 to start whatever fits; a job past the limit of the guard then has one.
        lookahead: Number of jobs, from the head on, that a pass looks at; None for all.
        guard: A job that has waited longer than this multiple of the `guard_scale` comes before all
            others in the queue, the oldest first. None for no limit.
        guard_scale: "corrected_easy", the longest wait, so far or expected, of EASY, which runs
            alongside by predicted runtimes, its past corrected as true runtimes become known;
            "backlog", one day plus the largest predicted backlog so far; or "scaled_backlog", in
            which estimates of users without a history count times the accuracy of all. See
            `bfenv.baselines.age_guard`.
        backfill_estimate: An expression for the runtime that a job is believed to have when it is
            backfilled, such as "prediction" or "0.9 * prediction"; at most the estimate counts. If
            it is too short, the head of the queue starts later than reserved. So estimates count
            once the head has waited four times as long as its first reservation promised, or is
            past the limit of the guard. None for the estimate.
        trial: Length of a trial, in seconds or like "3min": a job with an estimate above
            `trial_above` first starts for that long. If it has not ended by then, it is killed and
            waits again. 0 for no trials. The order still sees the whole estimate; an expression can
            tell by the quantity `tried`.
        trial_above: Estimate, in seconds or like "12min".
        trial_runs_on: At its end a trial becomes an ordinary run, which is not killed, if all
            waiting jobs fit into the machine beside it.
        predictor: "recent" plans with predicted runtimes, see `bfenv.knowledge.predictor`. None
            plans with the users' estimates.
        weight: Weight of a second's delay in an aged order, in 1/s; None for the order's own. The
            larger it is, the sooner no new job passes a waiting one.
        shadow_intervals: Limits for how long an order may let other jobs pass a job. A job's shadow
            interval lasts from its arrival to the shadow time that it would have had then, had it
            been the head; it is 0 for a job that fits. A job that waits for longer than this number
            of shadow intervals comes before all others in the queue, though not in the backfill,
            the earliest deadline first. None for no deadlines.

    Raises:
        PolicyError: If an option is out of its range.

    Notes:
        Orders by length are from Zotkin, Keleher and Perkovic 2000, section 5, aged orders from
        their section 8, which also has them for EASY. The paper does not spell out the guarantee of
        shadow intervals nor how it is enforced. docs/reproductions/zotkin2000.md has the numbers of
        this reading beside their Table 8; readings with conservative guarantees are far off.
    """
    written = locals()
    trial, trial_above = (
        _check(name, in_seconds(name, written[name], PolicyError), 0)
        for name in ("trial", "trial_above")
    )
    head_order = find_order_or_expression(order)
    backfill_order = find_order_or_expression(backfill or order, "backfill")
    check_choice("trial_runs_on", trial_runs_on, (False, True), error=PolicyError)
    check_choice("guard_scale", guard_scale, GUARDS, error=PolicyError)
    check_choice("predictor", predictor, PREDICTORS, error=PolicyError)
    check_weight(weight, head_order, backfill_order, positive=True)
    options = Options(
        head_order,
        backfill_order,
        reservations=-1 if reservations == "all" else _check("reservations", reservations, 0),
        lookahead=FOREVER if lookahead is None else _check("lookahead", lookahead, 1),
        predictor=predictor,
        weight=weight,
        shadow_intervals=(
            -1 if shadow_intervals is None else _check("shadow_intervals", shadow_intervals, 0)
        ),
        guard=guard if guard is None else check_number("guard", guard, 0, error=PolicyError),
        guard_scale=guard_scale,
        backfill_estimate=_check_expression("backfill_estimate", backfill_estimate),
        trial=trial,
        trial_above=trial_above,
        trial_runs_on=trial_runs_on,
    )
    is_scored = EXPRESSION in (head_order.code, backfill_order.code)
    has_more = guard is not None or backfill_estimate is not None
    scheduling_pass = scored_pass if is_scored or has_more else order_pass
    return Policy(
        name=expression(easy, written | {"trial": trial, "trial_above": trial_above}),
        decide=scheduling_pass.decide,
        run=scheduling_pass.run,
        memory=partial(scheduling_pass.new_memory, options=options),
        summary=_summary(options),
        source=head_order.source,
        stochastic=(
            head_order.stochastic or backfill_order.stochastic or scored_pass.uses_random(options)
        ),
        stateful=(
            predictor is not None
            or shadow_intervals is not None
            or scored_pass.uses_history(options)
        ),
        trials=trial > 0,
    )


def _summary(options: Options) -> str:
    """Return what sets a policy of these options apart, for tables."""
    parts = [f"EASY, {options.order.meaning} first"]
    if options.backfill != options.order:
        parts.append(f"backfilling {options.backfill.meaning} first")
    if options.guard is not None:
        parts.append("overdue jobs first")
    if options.shadow_intervals >= 0:
        intervals = counted(options.shadow_intervals, "shadow interval")
        parts.append(f"no job is passed for longer than {intervals}")
    if options.trial:
        parts.append(f"after a trial of {options.trial} s")
    return ", ".join(parts)


def _check(option: str, value: int | str, least: int) -> int:
    return check_integer(option, value, least, error=PolicyError)


def _check_expression(option: str, text: str | None) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise PolicyError(f"{option} must be an expression, got {text!r}")
    parse_expression(text, option)
    return text


def queue(order: str = "fcfs") -> Policy:
    """Make a policy that starts jobs strictly in `order`: while the first does not fit, none start.

    Args:
        order: As that of `easy`, of which this is the case without backfilling.

    Raises:
        PolicyError: If an option is out of its range.

    Notes:
        docs/reproductions/zotkin2000.md compares `sjf` with the SortFCFS of Zotkin, Keleher and
        Perkovic 2000, and tells which readings were tried.
    """
    policy = easy(order, lookahead=1)
    summary = f"{find_order_or_expression(order).meaning} first, no backfilling"
    return replace(policy, name=expression(queue, {"order": order}), summary=summary)


# The published ones -------------------------------------------------------------------------

_PLAIN = "sjf lpt sqf lqf saf lxf wfp3 unicef f1 f2 f3 f4".split()
_SAF_AGED = "estimate * size ** 1.84 / (1 + (wait / 233280) ** 5.8) ** 2.8"
_BACKFILLED = ("lxf-width", "aged-sjf", "aged-random", "random")
_ZOTKIN = "Zotkin, Keleher and Perkovic 2000, section "
_TSAFRIR = "Tsafrir, Etsion and Feitelson 2007"
_SOURCES = {
    "sjf": _ZOTKIN + "5, Tables 6 and 7 (SortFCFS); Shmueli 2003, chapter 2 (SPT)",
    "easy-sjf": _ZOTKIN + "5, Tables 6 and 7 (SortBF)",
    "easy-random": _ZOTKIN + "6 (random queue order), in EASY as their section 8 suggests",
}


def _published(name: str, policy: Policy, source: str = "", summary: str = "") -> Policy:
    source = source or _SOURCES.get(name, policy.source)
    return replace(policy, name=name, source=source, summary=summary or policy.summary)


POLICIES = (
    *(_published(order, queue(order)) for order in _PLAIN),
    *(_published(f"easy-{order}", easy(order)) for order in (*_PLAIN, *_BACKFILLED)),
    *(
        _published(
            f"easy-sjf-shadow{intervals}",
            easy("sjf", shadow_intervals=intervals),
            source=_ZOTKIN + "5, Table 8",
        )
        for intervals in (1, 2, 3)
    ),
    *(
        _published(
            f"easy-{order}-guarded",
            easy(order, guard=1.2),
            summary=f"easy-{order}, but jobs that waited 1.2 times EASY's longest wait are first",
        )
        for order in ("saf", "sjf", "f2")
    ),
    _published(
        "easy-saf-aged",
        easy(_SAF_AGED),
        summary="EASY, small areas first, but jobs that have waited for days come before them",
    ),
    _published(
        "easy-saf-aged-guarded",
        easy(_SAF_AGED, guard=0.7, guard_scale="scaled_backlog"),
        summary="easy-saf-aged, but jobs that waited 0.7 x (1 day + largest backlog) are first",
    ),
    _published("easy-sjbf", easy(backfill="sjf"), _TSAFRIR + " (SJBF)"),
    _published(
        "easy++",
        easy(backfill="sjf", predictor="recent"),
        _TSAFRIR,
        "EASY by predicted runtimes, backfilling the shortest prediction first",
    ),
)
FAMILIES = (queue, easy)
