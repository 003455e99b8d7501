"""The public names of `bfenv.site`, which its `__init__` imports when one is first used."""

from bfenv.site.apply import apply_order as apply_order
from bfenv.site.defaults import CANDIDATES as CANDIDATES
from bfenv.site.defaults import TODAY as TODAY
from bfenv.site.forecast import StartForecast as StartForecast
from bfenv.site.forecast import forecast_starts as forecast_starts
from bfenv.site.report import Report as Report
from bfenv.site.report import site_report as site_report
from bfenv.site.whatif import WhatIf as WhatIf
from bfenv.site.whatif import what_if as what_if
