"""Pictures of schedules and workloads.

`write_gantt` draws one schedule or compares two, `write_workload` draws a workload on one page.
Importing this package does not import matplotlib; drawing does, and raises BfenvError without it.
"""

from bfenv.analysis.plots.figure import check_target
from bfenv.analysis.plots.gantt import draw_gantt, write_gantt
from bfenv.analysis.plots.gantt_interval import choose_begin, readable_span
from bfenv.analysis.plots.gantt_scene import Scene, scene
from bfenv.analysis.plots.workload import draw_workload, write_workload

__all__ = [
    "Scene",
    "check_target",
    "choose_begin",
    "draw_gantt",
    "draw_workload",
    "readable_span",
    "scene",
    "write_gantt",
    "write_workload",
]
