"""Cases of Slurm's scheduler with the starts that a real one recorded."""

import json
from pathlib import Path

CASES = json.loads((Path(__file__).parent / "cases.json").read_text())
