"""Modules of the user, such as one with a policy, in an archive for workers on other machines."""

import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from bfenv.core.competitor import PolicyCompetitor
from bfenv.core.distributions import is_own, offers
from bfenv.core.errors import BfenvError
from bfenv.core.kernel_sources import INSTALLED, digest_and_imports
from bfenv.core.names import parse_name, split_object_name
from bfenv.core.policy import Policy


def archive_of(competitors: Iterable[Any]) -> bytes:
    """Return a zip file of the user's modules that competitors are in; empty if there are none.

    That is the package of each, or its module and those of its folder that it imports. Packages
    that pip has installed are left out.

    Args:
        competitors: Names such as "module:object", policies, or other objects of modules.
    """
    names = dict.fromkeys(name for competitor in competitors for name in _modules_of(competitor))
    roots = dict.fromkeys(root for name in names if (root := _root_of(name)) is not None)
    pending = [root for root in roots if root.is_file()]
    while pending:
        importing = pending.pop()
        for name in digest_and_imports(str(importing))[1]:
            root = _root_of(name)
            if root is not None and root.parent == importing.parent and root not in roots:
                roots[root] = None
                if root.is_file():
                    pending.append(root)
    if not roots:
        return b""
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for root in sorted(roots):
            for file in [root] if root.is_file() else sorted(root.rglob("*.*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    # Equal files make equal archives, so the time is left out.
                    entry = zipfile.ZipInfo(file.relative_to(root.parent).as_posix())
                    archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
    return content.getvalue()


def unpack(archive: bytes, folder: Path) -> None:
    """Let this process import the modules of an archive. They replace modules of equal names.

    Args:
        archive: What `archive_of` returns.
        folder: Where to write them.
    """
    with zipfile.ZipFile(BytesIO(archive)) as content:
        content.extractall(folder)
        names = {Path(name).parts[0].removesuffix(".py") for name in content.namelist()}
    for module in [name for name in sys.modules if name.partition(".")[0] in names]:
        del sys.modules[module]
    sys.path.insert(0, str(folder))


def _modules_of(competitor: Any) -> Iterator[str]:
    if isinstance(competitor, str):
        try:
            base = parse_name(competitor).base
            entry = offers("bfenv.policies").get(base.partition(":")[0])
            yield split_object_name(base if entry is None else entry.value)[0]
        except BfenvError:  # a name of bfenv's own, or a file
            return
    elif isinstance(competitor, PolicyCompetitor):
        yield from _modules_of(competitor.policy)
    elif isinstance(competitor, Policy):
        for function in (competitor.decide, competitor.run, competitor.memory, competitor.records):
            function = getattr(function, "function", function)  # of TwoArguments
            yield getattr(function, "__module__", "")
    else:
        yield type(competitor).__module__
        yield from _modules_of(getattr(competitor, "name", ""))


def _root_of(module: str) -> Path | None:
    """Return the file or the folder of the user's outermost package; None if it is not theirs."""
    name = module.partition(".")[0]
    if name in ("", "__main__") or name in sys.stdlib_module_names or is_own(name):
        return None
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    file = Path(spec.origin)
    root = file.parent if spec.submodule_search_locations else file
    return None if INSTALLED & set(file.parts) else root
