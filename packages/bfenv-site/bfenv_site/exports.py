"""The public names of `bfenv_site`, which its `__init__` imports when one is first used."""

from bfenv_site.defaults import CANDIDATES as CANDIDATES
from bfenv_site.defaults import TODAY as TODAY
from bfenv_site.forecasts.forecast import forecast_starts as forecast_starts
from bfenv_site.forecasts.start_forecast import StartForecast as StartForecast
from bfenv_site.live.apply import apply_order as apply_order
from bfenv_site.logs.formats import read_log as read_log
from bfenv_site.logs.slurm import read_sacct as read_sacct
from bfenv_site.logs.table import read_columns as read_columns
from bfenv_site.reports.report import Report as Report
from bfenv_site.reports.report import site_report as site_report
from bfenv_site.reports.variants import with_changes as with_changes
from bfenv_site.reports.whatif import WhatIf as WhatIf
from bfenv_site.reports.whatif import what_if as what_if
