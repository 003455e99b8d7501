"""The catalogue of the archive: well-formed, and right about the logs on this machine."""

import gzip
import hashlib
import re

import pytest

from bfenv.core.errors import UnknownNameError
from bfenv.workloads.archive import catalogue
from bfenv.workloads.archive.catalogue import CATALOGUE, log_folders
from bfenv.workloads.archive.download import BASE
from tests.workloads.archive.server import KNOWN
from tests.workloads.refusals import refused

TRACES = log_folders()[:-1]  # before a test hides them
SEEN = [log for log in CATALOGUE if log.sha256 or log.name == "METACENTRUM-2009-2"]


def test_a_log_is_in_the_catalogue_once_under_a_well_formed_address():
    assert len({log.name for log in CATALOGUE}) == len(CATALOGUE) == 41
    known = [log.sha256 for log in CATALOGUE if log.sha256]
    assert len(set(known)) == len(known) == 10
    for log in CATALOGUE:
        assert re.fullmatch(r"[A-Za-z0-9]+(-[A-Za-z0-9]+)*-[0-9](\.[0-9]-cln)?", log.name)
        assert re.fullmatch(r"l_[a-z0-9_]+", log.folder)
        assert log.sha256 is None or re.fullmatch(r"[0-9a-f]{64}", log.sha256)
        assert re.search(r"(19|20)[0-9]{2}", log.period)
        assert log.remarks and log.terms and log.acknowledge != ""
    for base in (BASE,):
        assert re.fullmatch(r"https?://[a-z.]+(/[a-z]+)+", base)


@pytest.mark.parametrize("log", SEEN, ids=lambda log: log.name)
def test_the_catalogue_is_right_about_the_logs_at_hand(log):
    paths = (folder / f"{log.name}.swf.gz" for folder in TRACES)
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        pytest.skip("not in BFENV_TRACES")
    text = gzip.decompress(path.read_bytes())
    assert log.sha256 in (None, hashlib.sha256(text).hexdigest())
    jobs = re.findall(rb"^ *[0-9].*$", text, re.M)
    assert len(jobs) == log.jobs
    size = re.search(rb"^; *MaxProcs: *([0-9]+)", text, re.M)
    assert size is None or int(size[1]) == log.processors
    if "no estimates" in log.remarks:
        assert all(int(job.split()[8]) <= 0 for job in jobs)
    if "submit times are start times" in log.remarks:
        assert all(int(job.split()[2]) <= 0 for job in jobs)


def test_a_log_not_in_the_catalogue_is_answered_with_those_alike():
    with refused(UnknownNameError, "'Known'", KNOWN):
        catalogue.find_log("Known")
    assert catalogue.find_log(f"{KNOWN}.swf").name == KNOWN
