"""The Parallel Workloads Archive: its catalogue, downloads, and the logs on this machine."""

from bfenv.workloads.archive.catalogue import CATALOGUE, CITE, Log, find_log
from bfenv.workloads.archive.download import fetch
from bfenv.workloads.archive.local import cache_folder, local_logs, locate, log_folders

__all__ = [
    "CATALOGUE",
    "CITE",
    "Log",
    "cache_folder",
    "fetch",
    "find_log",
    "local_logs",
    "locate",
    "log_folders",
]
