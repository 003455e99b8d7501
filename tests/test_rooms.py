"""The rooms of the code: what they may import, how large they are, what each file says it holds."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import grimp
import pytest

from tests.conftest import ROOT

ROOMS = {
    "agents": ROOT / "agents",
    "baselines": ROOT / "baselines",
    **{path.name: path for path in (ROOT / "bfenv").iterdir() if (path / "__init__.py").exists()},
}
OTHER_ROOMS = {
    f"{init.parent.parent.name}.{init.parent.name}": init.parent
    for init in (ROOT / "packages").glob("*/bfenv_*/*/__init__.py")
}  # of the other distributions
BESIDE = [ROOT / name for name in ("benchmarks", "reproductions")]  # use bfenv, are not installed
LARGEST_SHARE = 0.15  # of the lines, in one room


def files():
    return [file for room in ROOMS.values() for file in room.rglob("*.py")]


@pytest.mark.parametrize(
    ("file", "module", "message"),
    [
        (
            "bfenv/core/errors.py",
            "bfenv.workloads.load",
            "bfenv.core is not allowed to import bfenv",
        ),
        (
            "bfenv/cli/app.py",
            "bfenv_site.defaults",
            "bfenv.cli is not allowed to import bfenv_site",
        ),
        (
            "bfenv_site/defaults.py",
            "bfenv_judge.bounds",
            "bfenv_site is not allowed to import bfenv_",
        ),
        ("bfenv_lab/search/trees.py", "bfenv_lab.cli", "bfenv_lab.search is not allowed to import"),
    ],
)
def test_upward_import(installed, tmp_path, file, module, message):
    """The check of imports, which `make lint` runs on the code as it is, can fail."""
    for package in ("bfenv_site", "bfenv_judge", "bfenv_lab"):
        pytest.importorskip(package)
        shutil.copytree(ROOT / "packages" / package.replace("_", "-") / package, tmp_path / package)
    shutil.copytree(installed / "bfenv", tmp_path / "bfenv")
    changed = tmp_path / file
    changed.write_text(changed.read_text() + f"import {module}\n")
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache", "--config"]
    result = subprocess.run(
        [*command, ROOT / "pyproject.toml"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},  # for what is not installed
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1, result.stdout
    assert message in result.stdout


def circles(graph) -> list[set[str]]:
    """Groups of modules each of which reaches all others of its group by imports."""
    reached = {module: graph.find_downstream_modules(module) for module in graph.modules}
    found = []
    for module, below in reached.items():
        group = {other for other in below if module in reached[other]} | {module}
        if len(group) > 1 and group not in found:
            found.append(group)
    return found


def test_imports_have_no_circle(installed, monkeypatch):
    """No module imports itself by way of others, not even for types."""
    monkeypatch.syspath_prepend(str(installed))
    monkeypatch.chdir(installed)
    names = [
        f"bfenv.{file.relative_to(installed / 'bfenv').with_suffix('').as_posix()}".replace(
            "/", "."
        )
        for file in (installed / "bfenv").rglob("*.py")
    ]
    assert len(names) > 100
    graph = _graph(installed)
    assert circles(graph) == []
    graph.add_import(importer="bfenv.core.errors", imported="bfenv.workloads.load")
    assert circles(graph) != []


def _graph(installed: Path):
    """The imports of the installed package, read in a process whose path begins there."""
    program = (
        "import pickle, sys, grimp; g = grimp.build_graph('bfenv', cache_dir=None);"
        "edges = [(m, i) for m in g.modules for i in g.find_modules_directly_imported_by(m)];"
        "sys.stdout.buffer.write(pickle.dumps((sorted(g.modules), edges)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=installed, capture_output=True, check=True
    )
    import pickle

    modules, edges = pickle.loads(run.stdout)
    graph = grimp.ImportGraph()
    for module in modules:
        graph.add_module(module)
    for importer, imported in edges:
        if importer != "bfenv":  # the root's imports are for type checkers, which need no order
            graph.add_import(importer=importer, imported=imported)
    return graph


def test_largest_room():
    """The largest room holds at most 15 % of the lines of all distributions."""
    lines = {
        name: sum(len(file.read_text().splitlines()) for file in room.rglob("*.py"))
        for name, room in {**ROOMS, **OTHER_ROOMS}.items()
    }
    assert len(lines) >= 11
    name = max(lines, key=lines.get)
    assert lines[name] <= LARGEST_SHARE * sum(lines.values()), (name, lines)


def test_every_package_is_shipped():
    """Every folder of code is in the list of packages, and nothing else is."""
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    there = {"bfenv"}
    for name, room in ROOMS.items():
        for init in room.rglob("__init__.py"):
            parts = init.parent.relative_to(room).parts
            there.add(".".join(["bfenv", name, *parts]))
    assert sorted(listed) == sorted(there)


def test_public_names():
    """Every room has what it says is public, if no other has been imported."""
    program = (
        "import importlib, sys, warnings\n"
        "warnings.simplefilter('ignore')  # the environment is registered again and again\n"
        "for name in sys.argv[1:]:\n"
        "    for module in [each for each in sys.modules if each.split('.')[0] == 'bfenv']:\n"
        "        del sys.modules[module]\n"
        "    room = importlib.import_module(f'bfenv.{name}')\n"
        "    missing = [each for each in getattr(room, '__all__', ()) if not hasattr(room, each)]\n"
        "    assert not missing, (name, missing)\n"
        "    print(name)"
    )
    command = [sys.executable, "-c", program, *sorted(ROOMS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, sorted(ROOMS)), done.stderr


@cache
def import_statements(file):
    """The nodes of a file that import something."""
    nodes = ast.walk(ast.parse(file.read_text()))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def test_top_level_names():
    """Nothing imports `baselines` or `agents` as top-level modules, which may be a user's own."""
    folders = (*BESIDE, ROOT / "tests")
    for file in [*files(), *(file for folder in folders for file in folder.rglob("*.py"))]:
        for node in import_statements(file):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif node.level == 0:
                names = [node.module or ""]
            assert not {name.partition(".")[0] for name in names} & {"baselines", "agents"}, file


def test_tests_import_no_tests():
    """What test files share is in modules of their folder, so that each test file runs alone."""
    folders = [ROOT / "tests", *(ROOT / "packages").glob("*/tests")]
    for file in (file for folder in folders for file in folder.rglob("*.py")):
        for node in import_statements(file):
            if isinstance(node, ast.ImportFrom):
                assert ".test_" not in f".{node.module}", (file, node.module)


@pytest.mark.parametrize("folder", [*sorted(ROOMS), *(one.name for one in BESIDE), "tests"])
def test_first_lines(folder):
    """The first line of every file is a docstring."""
    for file in ROOMS.get(folder, ROOT / folder).rglob("*.py"):
        text = file.read_text()
        if text:
            assert text.startswith(('"""', 'r"""')), file
