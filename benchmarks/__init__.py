"""How fast bfenv is on this machine.

Each `measure_` function yields measurements, and takes the number of repetitions. The best of them
counts. `measured.json` has the published measurements; `python -m benchmarks` makes, shows and
compares such files.
"""

import os

# Read when bfenv is imported: speed is measured of compiled code.
os.environ.setdefault("BFENV_COMPILE", "now")
