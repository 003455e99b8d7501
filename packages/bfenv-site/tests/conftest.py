"""What the tests of bfenv-site share: a browser."""

import os
import shutil

import pytest

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """A Chromium of its own; without one, or without selenium, the test is skipped and says so."""
    webdriver = pytest.importorskip("selenium.webdriver")
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    service = shutil.which("chromedriver")
    if not browser or not service:
        pytest.skip("no chromium and chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for option in (*OPTIONS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    log = open(os.devnull, "w")
    started = webdriver.Chrome(
        service=webdriver.ChromeService(service, log_output=log), options=options
    )
    yield started
    started.quit()
    log.close()
