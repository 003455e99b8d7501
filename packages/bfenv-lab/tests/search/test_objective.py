"""The objective, and the cases it is measured on."""

import math

import numpy as np
import pytest

from bfenv import BfenvError, load_workload, make_trace, metrics, simulate
from bfenv.agents.seen_jobs import jobs_hash
from bfenv.baselines.registry import find_policy
from bfenv.core.schedule import LEAST_WAIT, bounded_slowdown
from bfenv.envs import BackfillEnv
from bfenv.envs.warm_up import start_times
from bfenv.workloads import shaken, split_range, with_load
from bfenv_lab.search.cases import Case, make_cases
from bfenv_lab.search.objective import Outcome, combine, score_policies
from bfenv_lab.search.template import read_template
from tests.linked_jobs import partitioned

MODEL = "lublin:jobs=600,procs=32,load=0.9"


def test_combine() -> None:
    """The value is the mean log ratio, plus 2 per e-fold of too long longest waits."""
    cases = [Case(MODEL, "train", 0, 200, load, 120, 0) for load in (None, 0.9)]
    outcomes = [Outcome(0.5, 1.5, 0, 0, 0.75), Outcome(0.125, 1.5 * math.e, 0, 0, 0.5)]
    score = combine(cases, outcomes)
    assert score.slowdown_ratio == pytest.approx(0.25)
    assert score.value == pytest.approx(math.log(0.25) + 2 * 0.5)
    assert score.wait_ratio == pytest.approx(1.5 * math.e)
    tolerant = combine(cases, outcomes, tolerated_wait=1.5 * math.exp(0.5))
    assert tolerant.value == pytest.approx(math.log(0.25) + 2 * 0.25)


def test_the_worst_workload() -> None:
    """By penalized slowdowns, half of the value is the mean over models, half is the worst one."""
    names = "lublin:jobs=9", "lublin:seed=3,jobs=9", "lublin:jobs=8"  # of two models
    cases = [Case(name, "train", 0, 9, None, 0, seed) for seed, name in enumerate(names)]
    outcomes = [Outcome(0.1, 9.0, 0, 0, penalized) for penalized in (0.25, 1.0, 0.125)]
    score = combine(cases, outcomes, objective="penalized")
    assert score.value == pytest.approx((math.log(0.5) + math.log(0.25)) / 2)
    assert score.penalized == pytest.approx((0.25 * 1.0 * 0.125) ** (1 / 3))


def test_shaken_copies() -> None:
    """One shaken copy with a long wait does not make a policy one that starves jobs."""
    cases = [Case(MODEL, "train", 0, 200, None, 120, seed) for seed in range(3)]
    cases.append(cases[0]._replace(load=0.9))
    score = combine(cases, [Outcome(0.5, wait, 0, 0, 0.5) for wait in (1.0, 9.0, 1.5, 1.25)])
    assert score.wait_ratio == 1.5


def test_outcomes() -> None:
    """Outcomes are metrics over EASY's; EASY itself has ratios of 1."""
    case = Case(MODEL, "train", 50, 200, 0.95, 120, 4)
    outcomes = score_policies(["easy", "easy(order=size)", "easy"], [case])
    trace = load_workload(MODEL)
    begin, end = split_range(trace, "train")
    part = shaken(with_load(trace[begin:end], 0.95)[50:250], 120, seed=4)
    easy, other = (metrics(simulate(part, name)) for name in ("easy", "easy(order=size)"))
    mean = easy["mean_wait"]
    assert outcomes[0] == outcomes[2] == [Outcome(1.0, 1.0, mean, mean, 1.0)]
    assert outcomes[1][0].slowdown_ratio == pytest.approx(
        other["mean_bounded_slowdown"] / easy["mean_bounded_slowdown"]
    )
    assert outcomes[1][0].wait_ratio == other["max_wait"] / easy["max_wait"]
    assert outcomes[1][0].mean_wait == other["mean_wait"] and outcomes[1][0].easy_mean_wait == mean


def test_cases() -> None:
    """Slices cover the training split once; no case reaches the test split."""
    cases = make_cases((MODEL,), (None, 0.9), slice_jobs=90, shakes=2)
    trace = load_workload(MODEL)
    begin, end = split_range(trace, "train")
    slices = cases.slices[MODEL]
    one = [case for case in slices if case.load is None and case.seed == 0]
    assert [case.first_job for case in one] == list(
        np.cumsum([0, *(case.job_count for case in one)])[:-1]
    )
    assert sum(case.job_count for case in one) == end - begin
    assert len(slices) == len(one) * 4
    assert {case.split for case in (*slices, *cases.final)} == {"train", "validation"}
    assert all(case.split == "validation" for case in cases.validation)
    wholes = {
        split: np.subtract(*split_range(trace, split)[::-1]) for split in ("train", "validation")
    }
    assert all(case.job_count == wholes[case.split] for case in cases.final)


def test_episodes() -> None:
    """After a warm-up, slices are like episodes, and candidates are also selected on slices."""
    cases = make_cases((MODEL,), (0.9,), slice_jobs=90, shakes=2, warmup_jobs=20)
    slices = [case for case in cases.slices[MODEL] if case.seed == 0]
    first, middle, last = slices
    assert (first.first_job, first.warmup_jobs) == (20, 20)
    assert last.first_job + last.job_count == len(last.trace()) - 20  # as many arrive after it
    (validation,) = cases.validation
    assert (validation.split, validation.warmup_jobs) == ("validation", 17)  # at most a quarter
    assert {case.job_count for case in cases.final} == {
        validation.job_count,
        *(case.job_count for case in slices),
    }
    ((outcome,),) = score_policies(["easy-sjf"], [middle])
    env = BackfillEnv(middle.trace(), split="all", warmup_jobs=20, episode_jobs=middle.job_count)
    env.reset(seed=0, options={"first_job": middle.first_job})
    total, longest = env.batch._reference_totals[0]
    jobs = slice(middle.first_job, middle.first_job + middle.job_count)
    wait = start_times(find_policy("easy-sjf"), middle.trace(), middle.window())
    wait -= middle.trace().jobs.submit[jobs]
    slowdown = bounded_slowdown(wait, middle.trace().runtime[jobs]).sum() / total
    assert outcome.slowdown_ratio == pytest.approx(slowdown)
    assert outcome.wait_ratio == wait.max() / longest
    assert outcome.penalized == pytest.approx(
        slowdown * max(1, wait.max() / max(longest, LEAST_WAIT))
    )
    alone = make_cases((MODEL,), (0.9,), slice_jobs=90, shakes=2).slices[MODEL][0]
    assert len(alone.trace()) == alone.job_count


def test_not_like_episodes() -> None:
    """Jobs that an episode cannot have are refused by name, unless slices run alone."""
    workload = f"{MODEL},requested_start_share=0.3"
    with pytest.raises(BfenvError, match="easy does not plan for requested start times"):
        make_cases((workload,), (None,), warmup_jobs=20)
    assert make_cases((workload,), (None,)).final


def test_one_partition(monkeypatch) -> None:
    """Slices are refused if the only partition of a workload is smaller than its machine."""
    trace = partitioned(make_trace([0, 1], [2, 2], [9, 9], 4), [1, 1], "cpu=2", 4)
    monkeypatch.setattr("bfenv_lab.search.cases.load_workload", lambda workload: trace)
    with pytest.raises(BfenvError, match="has partitions, which slices"):
        make_cases(("site",), (None,), warmup_jobs=1)


def test_draw() -> None:
    """A draw has as many different cases of each workload as wanted, if there are any."""
    cases = make_cases((MODEL, "sud:jobs=200"), (None,), slice_jobs=100, shakes=1)
    drawn = cases.draw(np.random.default_rng(0), 2)
    assert len(set(drawn)) == len(drawn)
    assert [case.workload for case in drawn] == [MODEL, MODEL, "sud:jobs=200"]


def test_jobs_hash() -> None:
    """Loads and shaken submit times do not change the hash; other jobs do."""
    trace = load_workload(MODEL)
    assert jobs_hash(with_load(trace, 0.5)) == jobs_hash(trace)
    assert jobs_hash(shaken(trace, 600, seed=3)) == jobs_hash(trace)
    assert jobs_hash(trace[1:]) != jobs_hash(trace)


def test_fixed() -> None:
    """Options without ranges stand as they are."""
    template = read_template("guard=1.5, trial=180")
    assert template.policy("size") == "easy(order='size', guard=1.5, trial=180)"
    assert read_template("").policy("size") == "easy(order='size')"


def test_ranges() -> None:
    """A range is on a logarithmic scale; one of whole numbers gives whole numbers."""
    template = read_template("guard={0.5:2}, trial={60:6000}")
    assert template.policy("size", (0.5, 0.5)) == "easy(order='size', guard=1, trial=600)"
    assert template.policy("size", (0.0, 1.0)) == "easy(order='size', guard=0.5, trial=6000)"
    assert template.policy("size", (-1.0, 9.0)) == "easy(order='size', guard=0.5, trial=6000)"


def test_trials() -> None:
    """Only with the option trial are jobs started for a trial."""
    assert read_template("guard=2, trial={60:600}").has_trials
    assert not read_template("guard={1:2}, trial=0").has_trials
    assert not read_template("").has_trials


def test_expressions() -> None:
    """Ranges may stand within an expression."""
    template = read_template("backfill_estimate='{0.4:1.6} * prediction'")
    expected = "easy(order='size', backfill_estimate='0.8 * prediction')"
    assert template.policy("size", (0.5,)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("guard={1:2", "expected"),
        ("guard=1:2}", "expected"),
        ("guard={1}", "expected ranges like {0.5:2}"),
        ("guard={a:b}", "not a range"),
        ("guard={-1:2}", "0 < low < high"),
        ("order=estimate", "order is what the search looks for"),
        ("gard=1", "easy has no option 'gard'"),
    ],
)
def test_wrong(text: str, message: str) -> None:
    """What looks like a range and is none, and what `easy` does not take, is refused."""
    with pytest.raises(BfenvError, match=message):
        read_template(text)
