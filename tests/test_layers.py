"""The imports between the layers, and the wheel that is made of them."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def lint_imports(folder):
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_imports_point_down_only():
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout
    assert "3 kept, 0 broken" in result.stdout


def test_an_import_that_points_up_is_found(tmp_path):
    for package in ("bfenv", "baselines", "agents"):
        for file in (ROOT / package).rglob("*.py"):
            target = tmp_path / file.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(file.read_text())
    (tmp_path / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())
    core = tmp_path / "bfenv/core/errors.py"
    core.write_text(core.read_text() + "import bfenv.workloads.swf\n")
    result = lint_imports(tmp_path)
    assert result.returncode == 1, result.stdout
    assert "bfenv.core is not allowed to import bfenv.workloads" in result.stdout


def test_the_wheel_holds_the_three_packages_and_runs(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path],
        cwd=ROOT, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        archive.extractall(tmp_path / "site")
    packaged = {name for name in names if ".dist-info/" not in name}
    tree = {
        str(file.relative_to(ROOT))
        for package in ("bfenv", "baselines", "agents")
        for file in (ROOT / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert packaged == tree
    assert any(name.endswith("licenses/LICENSE") for name in names)
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r}); import bfenv; "
        f"assert bfenv.__file__.startswith({str(tmp_path)!r}), bfenv.__file__; "
        "print(bfenv.simulate(bfenv.make_trace([0], [1], [7], 1), 'easy').end[0])"
    )
    run = subprocess.run(
        [sys.executable, "-I", "-c", program],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.stdout == "7\n"


@pytest.mark.parametrize("package", ["bfenv", "baselines", "agents", "tests"])
def test_every_file_says_in_its_first_line_what_it_holds(package):
    for file in (ROOT / package).rglob("*.py"):
        text = file.read_text()
        if text:
            assert text.startswith(('"""', 'r"""')), file
