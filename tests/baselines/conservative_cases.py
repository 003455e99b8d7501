"""What tests of conservative backfilling and of CONS+RS share: traces, rows and starts."""

import bfenv
from tests.oracles import conservative as naive

EVENT_ORDERS = ("standard", "pyss")


def make(processors, *jobs, requested_start=None):
    """A trace of jobs (submit, size, estimate, runtime)."""
    submit, size, estimate, runtime = zip(*jobs, strict=True)
    return bfenv.make_trace(
        submit, size, runtime, processors, estimate=estimate, requested_start=requested_start
    )


def starts(policy, trace, **options):
    return bfenv.simulate(trace, policy, **options).check().start.tolist()


def rows(trace):
    """The trace's jobs for the naive versions."""
    jobs = trace.jobs
    columns = jobs.submit, jobs.size, jobs.estimate, trace.runtime, jobs.requested_start
    return [naive.Job(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def numbers(generator):
    """The random numbers that a policy given this generator draws, one after another."""
    state = int(generator.integers(1, 2**31 - 1, size=1)[0])
    while True:
        state = state * 48271 % (2**31 - 1)
        yield state
