"""The public names of `bfenv.evaluation`, which its `__init__` imports when one is first used."""

from bfenv.evaluation.agent_scores import evaluate_agent as evaluate_agent
from bfenv.evaluation.cases import Case as Case
from bfenv.evaluation.cases import Episodes as Episodes
from bfenv.evaluation.cases import variant_cases as variant_cases
from bfenv.evaluation.cases import workload_cases as workload_cases
from bfenv.evaluation.evaluator import evaluate as evaluate
from bfenv.evaluation.row import SCHEMA as SCHEMA
from bfenv.evaluation.row import Row as Row
