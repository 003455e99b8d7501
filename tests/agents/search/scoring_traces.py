"""What tests of scorers share: traces and parameters that tell orders apart."""

import numpy as np
import pytest
from hypothesis import strategies as st

import bfenv
from bfenv.agents.search import dimension
from tests.baselines.test_easy_variants import crowded_traces, stretched

HIDDEN = (0, 1, 3)


both_event_orders = pytest.mark.parametrize("event_order", ["standard", "pyss"])


@st.composite
def parameters(draw):
    """(theta, hidden), with some weights at 0 and some alike, so that ties are not rare."""
    hidden = draw(st.sampled_from(HIDDEN))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    theta = generator.normal(size=dimension(hidden))
    if draw(st.booleans()):
        theta = np.rint(theta)
    return theta * (generator.random(len(theta)) < draw(st.sampled_from([0.3, 1.0]))), hidden


@st.composite
def traces(draw):
    """Crowded traces of seconds or of minutes, with priorities."""
    trace = draw(crowded_traces())
    if draw(st.booleans()):
        trace = stretched(trace, 97)
    priority = np.random.default_rng(len(trace)).integers(-2, 3, len(trace))
    return bfenv.Trace(trace.jobs._replace(priority=priority), trace.runtime, trace.processors)


def hard():
    """400 crowded jobs on 33 processors, of five users and nobody, with priorities."""
    generator = np.random.default_rng(11)
    trace = bfenv.load_workload("lublin", procs=32, jobs=600, load=1.0, seed=5)[100:500]
    jobs = trace.jobs._replace(
        user=generator.integers(-1, 5, len(trace)), priority=generator.integers(-1, 2, len(trace))
    )
    return bfenv.Trace(jobs, trace.runtime, 33, name="hard")  # a size's share of it is no float32
