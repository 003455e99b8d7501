"""Priority functions written as expressions: values, errors, nothing but arithmetic."""

import ast
import functools
import math
import re

import numpy as np
import pytest
from hypothesis import given, settings

import bfenv
import bfenv.knowledge.expression_program as ep
from bfenv.core.cluster import finished, waiting
from bfenv.core.errors import PolicyError
from bfenv.core.events import advance, new_cluster
from bfenv.knowledge.expressions import FUNCTIONS
from bfenv.knowledge.user_history import (
    ALL_COUNTS,
    COUNT_QUEUED,
    NAMES,
    count_jobs,
    learn_jobs,
    new_user_history,
    quantity,
)
from tests.knowledge.expression_texts import texts


@pytest.fixture(scope="module")
def machine():
    """A machine with more waiting jobs than are scored at a time."""
    count = ep.CHUNK + 7
    generator = np.random.default_rng(5)
    trace = bfenv.make_trace(
        np.zeros(count),
        generator.integers(1, 9, count),
        generator.integers(1, 50, count),
        8,
        estimate=generator.integers(50, 99, count),
        user=generator.integers(-1, 3, count),
        priority=generator.integers(0, 3, count),
    )
    cluster, jobs, truth = new_cluster(trace)
    assert advance(cluster, jobs, truth)
    history = new_user_history(jobs)
    learn_jobs(history, cluster, jobs, finished(cluster))
    count_jobs(history, cluster, jobs, ALL_COUNTS)
    return cluster, jobs, history


def scores(text, machine):
    cluster, jobs, history = machine
    value = np.full(len(jobs.submit), -7.0)
    program = ep.parse_expression(text)
    columns = ep.new_columns(program, len(value))
    ep.score_jobs(program, columns, history, cluster, jobs, waiting(cluster), value)
    return value


class ComparisonsAsNumbers(ast.NodeTransformer):
    """What a comparison gives is 1 or 0: numpy's True + True is True."""

    def visit_Compare(self, node):
        self.generic_visit(node)
        return ast.Call(ast.Name("float64", ast.Load()), [node], [])


def slow(text, machine):
    """Python's own arithmetic on numpy floats, job by job."""
    cluster, jobs, history = machine
    functions = {
        "float64": np.float64,
        "log": np.log,
        "exp": np.exp,
        "sqrt": np.sqrt,
        "abs": np.abs,
        # Of equal values the first, which matters to 1 / min(0, -0); and NaN of anything with NaN
        "min": lambda *values: functools.reduce(lambda a, b: a if a <= b or a != a else b, values),
        "max": lambda *values: functools.reduce(lambda a, b: a if a >= b or a != a else b, values),
    }
    values = []
    with np.errstate(all="ignore"):
        for job in waiting(cluster):
            names = {
                name: np.float64(quantity(history, cluster, jobs, job, which))
                for which, name in enumerate(NAMES)
            }
            # numpy's rules for constants, too: Python's own have complex numbers and exceptions
            floats = re.sub(r"\((-?\d\.\d\d)\)", r"float64(\1)", text)
            tree = ComparisonsAsNumbers().visit(ast.parse(floats, mode="eval"))
            code = compile(ast.fix_missing_locations(tree), "", "eval")
            number = np.float64(eval(code, {"__builtins__": {}}, functions | names))
            values.append(math.inf if np.isnan(number) else max(float(number), ep.LOWEST))
    return np.array(values)


@given(texts)
@settings(max_examples=60)
def test_values(machine, text):
    """Any expression has the value that Python computes, for every waiting job."""
    expected = slow(text, machine)
    assert scores(text, machine) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_by_hand(machine):
    """A known priority function, and the precedence of its operators."""
    _, jobs, _ = machine
    assert (
        scores("-estimate * size ** 2", machine).tolist()
        == (-jobs.estimate * jobs.size**2.0).tolist()
    )
    assert scores("size <= 3", machine).tolist() == (jobs.size <= 3).tolist()
    assert scores("max(size, 3, 5)", machine).tolist() == np.maximum(jobs.size, 5).tolist()


def test_undefined_values_come_last(machine):
    """A score that is not a number counts as infinite."""
    assert set(scores("log(-size)", machine)) == {math.inf}
    assert set(scores("wait / wait", machine)) == {math.inf}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "column 1"),
        ("estimat", "'estimat'"),
        ("size + runtime", "column 8"),
        ("size *", "column 7"),
        ("__import__('os').system('x')", "expected a function"),
        ("size.real", "column 1"),
        ("size[0]", "column 1"),
        ("(lambda: 1)()", "expected a function"),
        ("[size for size in (1,)]", "column 1"),
        ("'text'", "'text'"),
        ("True", "True"),
        ("1e999", "inf"),
        ("1 < 2 < 3", "column 1"),
        ("size if wait else 1", "column 1"),
        ("log(1, 2)", "log takes one value"),
        ("min(size)", "min takes two or more"),
        ("min(a=1, b=2)", "expected a function"),
        ("size; wait", "column"),
        ("size // 2", "column 1"),
        ("not size", "column 1"),
        ("x" * 6_001, "6,001"),
        ("(" * 300 + "1" + ")" * 300, "cannot be read"),
        ("-" * 900 + "1", "more than 200 operations"),
        ("+".join(["wait"] * 900), "more than 200 operations"),
        (f"min({'wait,' * 900})", "more than 200 operations"),
        ("ｓｉｚｅ", "unknown character 'ｓ'"),
        ("size *" + " wait *" * 800, "column 5607 of '..."),
    ],
)
def test_no_arithmetic(text, named):
    """Anything but arithmetic on known names is an error that points at its place."""
    with pytest.raises(PolicyError) as error:
        ep.parse_expression(text)
    assert named in str(error.value) and len(str(error.value)) < 300


def test_what_changes_is_known():
    """Only expressions of requests alone keep their value while a job waits."""
    assert not ep.parse_expression("estimate * size + submit + priority / processors").changes[0]
    assert ep.parse_expression("estimate + wait").changes[0]
    assert ep.parse_expression("user_queued").counts.tolist() == [True, False, False]
    assert ep.parse_expression("backlog").counts.tolist() == [False, False, True]
    assert not ep.parse_expression("user_ended").counts[COUNT_QUEUED]
    assert ep.parse_expression("tried * estimate").varies[0]
    assert ep.parse_expression("likely_runtime").varies[0]
    assert not ep.parse_expression("wait * user_queued / estimate").varies[0]
    assert set(FUNCTIONS) == {"log", "exp", "sqrt", "abs", "min", "max"}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("-(wait / estimate) ** 3 * size", 0),  # requests are there anyway
        ("wait / sqrt(estimate)", 1),
        ("-(wait + likely_runtime) / likely_runtime ** 1.5", 2),
        ("wait * (accuracy / user_queued)", 2),  # the accuracy, which changes less often, and both
        ("wait + log(accuracy * size) - sqrt(log(accuracy * size))", 2),
    ],
)
def test_columns(text, columns):
    """What changes less often than what is around it is kept, and computed once."""
    assert ep.parse_expression(text).columns[0] == columns


@pytest.mark.parametrize(
    ("text", "oldest_first"),
    [
        ("-wait * user_queued", True),
        ("user_queued / (wait + likely_runtime)", True),
        ("user_running", True),
        ("wait * user_queued", False),
        ("-wait * (user_queued - user_running)", False),
        ("submit - wait", False),
        ("-wait / age_limit", True),
        ("-wait / likely_runtime * exp(min(1, wait / age_limit))", True),
        ("wait / -likely_runtime / size", True),
        ("-wait * (1.02 - tried) * (2 - accuracy)", True),
        ("-wait * (2 - user_ended)", False),
    ],
)
def test_oldest_of_alike(text, oldest_first):
    """Counts are the same for all jobs of a user, so the wait alone says which of them is first."""
    assert ep.parse_expression(text).by_age[0] == oldest_first
