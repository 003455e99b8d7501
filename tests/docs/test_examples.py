"""README and pages: their examples run and print what they say, their commands work.

The blocks of a page run in order, in one folder and one namespace: examples with `>>>`, files
(whose first line is `# name.py`), and commands in blocks of the language `console`.
"""

import doctest
import re
import shlex
import sys
import tomllib
from importlib.metadata import metadata

import pytest

import bfenv
from bfenv import cli
from bfenv.baselines import registry
from tests.conftest import ROOT

pytestmark = pytest.mark.compiled

DOCS = ROOT / "docs"
# Tested elsewhere, or generated
SEPARATE = set("tutorials third_party.md players.md gallery generated _build reproductions".split())
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.M | re.S)
TORCH = ("sb3", "torch", "--agent")
LONG = ("run_orders",)  # takes minutes uncompiled


def blocks(path):
    """The language and text of each block that can be run."""
    return BLOCK.findall(path.read_text())


def pages():
    """The README and every page with such blocks, as parameters of a test."""
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
    for path in found:
        text = "".join(text for _, text in blocks(path))
        if text and not SEPARATE & set(path.relative_to(ROOT).parts):
            marks = [pytest.mark.torch] if any(word in text for word in TORCH) else []
            marks += [pytest.mark.compiled] if any(word in text for word in LONG) else []
            yield pytest.param(path, id=path.relative_to(ROOT).as_posix(), marks=marks)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty folder; what the examples register or import is forgotten after them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BFENV_TRACES", "")
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.syspath_prepend(tmp_path)  # as in a Python started there
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if (tmp_path / f"{name}.py").exists():
            del sys.modules[name]


@pytest.mark.parametrize("path", list(pages()))
def test_examples_of_page(path, folder, monkeypatch, capsys):
    """Examples print what the page says; commands succeed, and print or write something."""
    namespace = {}
    for i, (language, text) in enumerate(blocks(path)):
        file = re.match(r"# (\w+\.py)\n", text)
        if language == "console":
            for line in text.splitlines():
                run_command(line, folder, monkeypatch, capsys)
        elif file:
            (folder / file[1]).write_text(text)
        else:
            run_examples(text, namespace, f"{path.name}, block {i}")


@pytest.mark.parametrize("path", list(pages()))
def test_import_first(path):
    """A page imports bfenv before it makes the environment.

    Here bfenv has been imported already; a reader's Python knows Backfill-v0 only afterwards.
    """
    text = "".join(text for language, text in blocks(path) if language == "python")
    before = re.split(r"gymnasium\.make", text)[0]
    assert before == text or re.search(r"(import|from) bfenv\b", before)


def run_examples(text, namespace, name):
    assert ">>>" in text, f"{name}: a block without examples and without the name of a file"
    test = doctest.DocTestParser().get_doctest(text, namespace, name, name, 0)
    failures = []
    doctest.DocTestRunner(verbose=False).run(test, out=failures.append, clear_globs=False)
    assert not failures, "".join(failures)
    namespace.update(test.globs)


def run_command(line, folder, monkeypatch, capsys):
    prompt, command, *words = shlex.split(line, comments=True)
    assert (prompt, command) == ("$", "bfenv"), line
    if words[0] == "evaluate" and "--agent" in words and "--episodes" not in words:
        words += ["--episodes", "1"] + ["--workload=lublin:jobs=3000"] * ("-w" not in words)
    monkeypatch.setattr(sys, "argv", [command, *words])
    before = set(folder.iterdir())
    capsys.readouterr()
    with pytest.raises(SystemExit) as exit_:
        cli.main()
    printed = capsys.readouterr()
    assert not exit_.value.code, f"{line}: {printed.err}"
    assert printed.out or set(folder.iterdir()) > before


ARCHIVE = "docs/agents/boards/archive.md"


def test_readme():
    """The README is short, and its links lead to files.

    At most 600 words. Links begin with the project's address, if it has one.
    """
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 600
    addresses = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"].get("urls", {})
    source = addresses.get("Source", "")
    links = re.findall(r'\]\(([^)#]+)|(?:src|srcset)="([^"]+)"', text)
    assert len(links) > 10
    for link in map("".join, links):
        assert link.startswith(source), link
        file = re.sub(r"^/(?:blob|raw)/[^/]+/", "", link.removeprefix(source))
        assert (ROOT / file).is_file(), link


def test_first_rows():
    """The README's rows of the leaderboard are those of its page, a learned agent first."""
    readme, page = (
        {line.split("|")[1].strip(): line for line in text.splitlines() if line.startswith("|")}
        for text in ((ROOT / name).read_text() for name in ("README.md", ARCHIVE))
    )
    policies = [name for name in readme if name in page and name[0].isalpha()][1:]
    assert policies[0].startswith("agent:") and len(policies) >= 5
    for name in policies:
        assert set(re.findall(r"[\d.]{3,}", readme[name])) <= set(
            re.findall(r"[\d.]{3,}", page[name])
        )


def test_languages():
    """Every block is run, or says that it is text, or is MyST's."""
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")):
        if not SEPARATE & set(path.relative_to(ROOT).parts):
            for language in re.findall(r"^ *```(\S+)", path.read_text(), re.M):
                assert language in ("python", "console", "text") or language[0] == "{", path


def test_citation():
    """The citation has the version and the licence of the package."""
    text = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", text, re.M)[1] == bfenv.__version__
    assert re.search(r"^license: (.*)$", text, re.M)[1] == metadata("bfenv")["License-Expression"]
