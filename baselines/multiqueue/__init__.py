"""Multiple-queue backfilling, by Figure 2 of Lawson and Smirni 2002.

`figure2` has the algorithm and its options, `changes` what has happened since the last pass, and
`memory` what is kept until the next one.
"""

from bfenv.baselines.multiqueue.figure2 import MULTIQUEUE, multiqueue

__all__ = ["MULTIQUEUE", "multiqueue"]
