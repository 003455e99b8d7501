"""Slurm's scheduler acts in the environment: it keeps in step with what the rules replace."""

import inspect

from hypothesis import given, settings
from hypothesis import strategies as st

from bfenv_site.slurm.parameters import PARAMETERS
from bfenv_site.slurm.site import slurm
from tests.agents.acting import FEW, SETTINGS, check_default, check_free, check_settings

# Values of each parameter that make a difference to so few jobs of minutes to hours
VALUES = {
    "bf_interval": [1, 30, 600],
    "bf_resolution": [1, 60, 3600],
    "bf_window": [1, 60, 1440],
    "bf_max_job_test": [1, 3, 500],
    "bf_node_space_size": [2, 4, 500],
    "bf_max_job_start": [0, 1, 2],
    "bf_job_part_count_reserve": [0, 1, 2],
    "bf_max_job_part": [0, 1, 3],
    "bf_max_job_user": [0, 1, 3],
    "bf_max_job_user_part": [0, 1, 3],
    "bf_min_age_reserve": [0, 60, 3600],
    "default_queue_depth": [1, 2, 100],
    "sched_interval": [1, 60, 3600],
}


@st.composite
def drawn_policies(draw):
    """The policy with drawn options; a parameter that is left out has its default."""
    optional = {name: st.sampled_from(values) for name, values in VALUES.items()}
    chosen = draw(st.fixed_dictionaries({}, optional=optional))
    parameters = ",".join(f"{name}={value}" for name, value in chosen.items())
    return slurm(parameters, cores_per_node=draw(st.sampled_from([1, 2, 3, 16])))


def test_every_option_is_drawn():
    """A parameter or an option that is added without values to draw is named here.

    `conf` and `version` are those of a site, with which the policy does not act as an agent.
    """
    assert VALUES.keys() == PARAMETERS.keys()
    options = set(inspect.signature(slurm).parameters)
    assert options - {"conf", "version"} == {"parameters", "cores_per_node"}


def test_free():
    """Where all is allowed, each job starts when it does under `simulate`, and none is replaced."""
    check_free("slurm")


@given(drawn_policies())
@settings(max_examples=30)
def test_free_options(policy):
    """The same holds with drawn options."""
    check_free(policy, FEW)


def test_default():
    """By default, each planned start that is not made counts as replaced, and each other start."""
    check_default("slurm")


@given(drawn_policies())
@settings(max_examples=30)
def test_default_options(policy):
    """The same holds with drawn options."""
    check_default(policy, FEW)


@given(drawn_policies(), SETTINGS, st.integers(0, 3))
@settings(max_examples=30)
def test_settings_and_options(policy, drawn, seed):
    """With drawn options and under drawn settings it chooses legal actions."""
    check_settings(policy, drawn, seed)
