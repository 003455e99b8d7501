"""How tests check an error: by its type and by what it names, not by its wording."""

from contextlib import contextmanager

import pytest


@contextmanager
def refused(error, *named):
    """Check that the block raises the error, in one line that names all of these."""
    with pytest.raises(error) as caught:
        yield caught
    message = str(caught.value)
    assert "\n" not in message
    for one in named:
        assert str(one) in message, message
