"""The four distributions: one version, and offers that exist."""

import tomllib
from importlib.util import find_spec

import pytest

from bfenv.agents.agent_names import ELSEWHERE as AGENTS
from bfenv.baselines.registry import ELSEWHERE as POLICIES
from bfenv.cli.groups import COMMANDS
from bfenv.core.distributions import GROUPS, PACKAGES
from tests.conftest import ROOT


def project(extra=""):
    """The table `project` of a distribution's pyproject.toml."""
    folder = ROOT / "packages" / f"bfenv-{extra}" if extra else ROOT
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("extra", PACKAGES)
def test_one_version(extra):
    """A distribution has the version of bfenv, needs exactly that, and is an extra of bfenv."""
    version, other = project()["version"], project(extra)
    assert other["version"] == version and f"bfenv=={version}" in other["dependencies"]
    (requirement,) = project()["optional-dependencies"][extra]
    assert requirement.startswith(f"bfenv-{extra}") and requirement.endswith(f"=={version}")
    (everything,) = project()["optional-dependencies"]["all"]
    assert extra in everything.partition("[")[2].rstrip("]").split(",")


@pytest.mark.parametrize("extra", PACKAGES)
def test_offers(extra):
    """Its entry points are of known groups, in its own package, and what bfenv expects of it."""
    offered = project(extra)["entry-points"]
    assert offered.keys() <= GROUPS.keys()
    values = [value for entries in offered.values() for value in entries.values()]
    assert all(value.startswith(f"{PACKAGES[extra]}.") for value in values)
    commands = {name.replace(".", " ") for name in offered["bfenv.commands"]}
    assert commands == {name for name, summary in COMMANDS.items() if summary.extra == extra}
    for group, expected in (("bfenv.policies", POLICIES), ("bfenv.agents", AGENTS)):
        names = {name for name in offered.get(group, {}) if not name.endswith(".files")}
        assert names == {name for name, other in expected.items() if other == extra}


@pytest.mark.parametrize("extra", PACKAGES)
def test_offers_exist(extra):
    """The modules of its entry points exist."""
    if find_spec(PACKAGES[extra]) is None:
        pytest.skip(f"bfenv-{extra} is not installed")
    for entries in project(extra)["entry-points"].values():
        for value in entries.values():
            assert find_spec(value.partition(":")[0]) is not None, value
