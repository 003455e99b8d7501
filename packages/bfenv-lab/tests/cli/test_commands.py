"""The commands of this distribution keep what every command has to keep."""

import pytest

from tests.command_contract import *  # noqa: F403  # the tests
from tests.command_contract import commands_of


@pytest.fixture(params=commands_of("lab"))
def command(request):
    """Each command of this distribution."""
    return request.param
