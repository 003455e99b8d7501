"""The public names of `bfenv_judge`, which its `__init__` imports when one is first used."""

from bfenv_judge.bounds.gap import Gap as Gap
from bfenv_judge.bounds.gap import check_gap as check_gap
from bfenv_judge.bounds.gap import find_gap as find_gap
from bfenv_judge.bounds.gap import load_gap as load_gap
from bfenv_judge.bounds.gap import save_gap as save_gap
from bfenv_judge.conformance import Case as Case
from bfenv_judge.conformance import Verdict as Verdict
from bfenv_judge.conformance import load_cases as load_cases
from bfenv_judge.conformance import run_command as run_command
from bfenv_judge.conformance import run_policy as run_policy
from bfenv_judge.evolution import write_task as write_task
