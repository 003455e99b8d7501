"""The page of the leaderboard in a browser: it sorts, fits, and runs nothing but its own script."""

import json

import pytest

from bfenv.leaderboard.report.gantt_selection import select_gantt
from bfenv.leaderboard.store import read_leaderboard
from bfenv_site.leaderboard_page import render_page
from site_helpers.browser import show
from tests.leaderboard.stores import make_store

HOSTILE = """<script>document.title="hit"</script><img src=x onerror=document.title="hit">"""
ALIEN = "<meta http-equiv=refresh content='0;url=http://127.0.0.1:9/'>|`'\""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """Of a page with hostile names in it."""
    folder = make_store(tmp_path_factory.mktemp("browser") / "store")
    for path in (folder / "rows").glob("*.json"):
        row = json.loads(path.read_text())
        row["policy"] = {"los": HOSTILE, "sjf": ALIEN}.get(row["policy"], row["policy"])
        row["workload"] += HOSTILE
        row["command"] = ALIEN
        path.write_text(json.dumps(row))
    file, leaderboard = folder / "page.html", read_leaderboard(folder)
    file.write_text(render_page(leaderboard, select_gantt(leaderboard)), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def opened(driver, address):
    """The page just loaded in a window of a desk."""
    show(driver, 1280)
    for kind in ("browser", "performance"):
        driver.get_log(kind)
    driver.get(address)
    return driver


def ranking(driver, last=0):
    """The names and values of the rows that can be seen: above the line, or up to table `last`."""
    return driver.execute_script(
        "return [...document.querySelectorAll('#ranking tbody')].slice(0, arguments[0] + 1)"
        ".flatMap(body => [...body.rows]).filter(row => !row.hidden)"
        ".map(row => [row.querySelector('.name').textContent, ...[...row.cells].slice(1)"
        ".map(cell => cell.dataset.v ?? null)])",
        last,
    )


def heading(driver, column):
    return driver.find_elements("css selector", "#ranking thead th")[column]


def test_click_sorts(opened):
    """A click on a heading sorts, and another click reverses the order."""
    before = ranking(opened)
    ranks = [float(row[1]) for row in before]
    assert ranks == sorted(ranks)
    button = heading(opened, 8).find_element("tag name", "button")
    for order, is_down in (("ascending", False), ("descending", True)):
        button.click()
        waits = [float(row[8]) for row in ranking(opened)]
        assert waits == sorted(waits, reverse=is_down) and len(set(waits)) > 2
        assert heading(opened, 8).get_attribute("aria-sort") == order
        assert heading(opened, 1).get_attribute("aria-sort") is None
    assert sorted(ranking(opened)) == sorted(before)


def test_keyboard_sorts(opened):
    """The keyboard alone sorts."""
    from selenium.webdriver.common.keys import Keys

    table = opened.find_element("css selector", "#ranking .scroll")
    opened.execute_script("arguments[0].focus()", table)
    opened.switch_to.active_element.send_keys(Keys.TAB)
    assert opened.switch_to.active_element.text.startswith("policy")
    opened.switch_to.active_element.send_keys(Keys.ENTER)
    names = [row[0].lower() for row in ranking(opened)]
    assert names == sorted(names)
    opened.switch_to.active_element.send_keys(Keys.SPACE)
    assert [row[0].lower() for row in ranking(opened)] == sorted(names, reverse=True)
    assert "descending" in opened.find_element("id", "status").get_attribute("textContent")


def test_highlight(opened):
    """A policy that is picked is highlighted in every chart."""
    box = opened.find_element("css selector", ".pick[data-p='6']")
    opened.execute_script(
        "arguments[0].scrollIntoView({behavior: 'instant', block: 'center'})", box
    )
    assert not box.is_selected()
    marks = (
        "return [...document.querySelectorAll(`.s[data-p='${arguments[0]}']`)].map("
        "mark => [...mark.classList].filter(name => name.startsWith('k')).join())"
    )
    assert set(opened.execute_script(marks, 6)) == {""}
    box.click()
    assert set(opened.execute_script(marks, 6)) == {"k5"}
    picks = opened.find_elements("css selector", ".pick:not(:checked)")
    assert picks and not any(pick.is_enabled() for pick in picks)
    opened.find_element("css selector", ".pick[data-p='0']").click()
    assert set(opened.execute_script(marks, 0)) == {""}
    assert all(pick.is_enabled() for pick in picks)


def test_filter(opened):
    """Typing a name leaves the policies of that name."""
    opened.find_element("id", "filter").send_keys("EASY-s")
    assert sorted(row[0] for row in ranking(opened, 1)) == ["easy-saf", "easy-sjbf"]


def test_no_requests(opened, address):
    """The page requests nothing from other hosts, and logs no error."""
    show(opened, 1280)
    opened.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    opened.execute_async_script("setTimeout(arguments[0], 300)")
    assert opened.get_log("browser") == []
    messages = (json.loads(entry["message"])["message"] for entry in opened.get_log("performance"))
    addresses = [
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    ]
    assert set(addresses) == {address}
    assert opened.current_url == address


def test_hostile_names(opened):
    """Hostile names are shown as text and run no code."""
    assert opened.title == "test-v1: leaderboard of backfilling schedulers"
    assert HOSTILE in [row[0] for row in ranking(opened)]
    assert ALIEN in [row[0] for row in ranking(opened, 1)]
    assert len(opened.find_elements("css selector", "script")) == 1
    assert not opened.find_elements("css selector", "img")
    opened.execute_script(
        "const s = document.createElement('script'); s.textContent = 'document.title=\"hit\"';"
        "document.body.append(s)"
    )
    assert opened.title != "hit"  # the policy of content holds even then


@pytest.mark.parametrize("width", [375, 320, 1280])
def test_width(opened, width):
    """A page is never wider than its window."""
    show(opened, width)
    opened.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    wide = "return [document.documentElement.scrollWidth, window.innerWidth]"
    shown, window = opened.execute_script(wide)
    assert shown <= window == width
    names = opened.execute_script(
        "return [...document.querySelectorAll('#ranking tbody th')]"
        ".map(cell => cell.getBoundingClientRect().width)"
    )
    assert min(names) > 100


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(opened, scheme):
    """Text has enough contrast to its background."""
    opened.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    names = ["ink", "quiet", "link", "bad", *(f"c{slot}" for slot in range(6))]
    colours = opened.execute_script(
        "const style = getComputedStyle(document.documentElement);"
        "return Object.fromEntries(arguments[0].map(n => [n, style.getPropertyValue('--' + n)]))",
        [*names, "paper", "raised", "zone"],
    )
    for name in names:
        for behind in ("paper", "raised", "zone"):
            assert contrast(colours[name], colours[behind]) >= 4.5, (name, behind)


def contrast(first, second):
    """WCAG 2.2: relative luminances, the greater plus 0.05 over the lesser plus 0.05."""
    lights = []
    for colour in (first, second):
        digits = colour.strip().lstrip("#")
        digits = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        parts = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        lights.append(0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


def test_print(opened):
    """In print, every workload is unfolded."""
    opened.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    folded = "return document.querySelectorAll('details:not(.numbers, [open])').length"
    assert opened.execute_script(folded) == 1  # the list of all runs
    opened.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert opened.execute_script(folded) > 5
    assert len(opened.print_page()) > 50_000


def test_without_script(driver, address):
    """Without its script, the page shows the ranking and the charts."""
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        driver.get(address)
        assert not driver.find_elements("css selector", "th button")
        rows = driver.find_elements("css selector", "#ranking tbody tr")
        assert len(rows) == 8 and all(row.is_displayed() for row in rows)
        assert not driver.find_element("id", "filter").is_displayed()
        assert driver.find_element("css selector", ".plot.rows circle").is_displayed()
    finally:
        driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
