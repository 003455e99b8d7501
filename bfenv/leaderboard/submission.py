"""A submission: the rows of a leaderboard in one file, with all that is needed to verify them."""

import hashlib
import io
import json
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from bfenv.core.errors import BfenvError
from bfenv.core.files import write_atomically
from bfenv.evaluation.row import Row
from bfenv.leaderboard.agents import code_places
from bfenv.leaderboard.store import read_leaderboard

MANIFEST = "manifest.json"
FORMAT = "bfenv-submission-2"
FOLDERS = {"rows": ".json", "schedules": ".npz", "bounds": ".npz"}
CODE = "code"
LARGEST = 4 << 30  # bytes of an unpacked submission
DAMAGE = (
    OSError, EOFError, ValueError, LookupError, TypeError, zipfile.BadZipFile, zlib.error,
    RuntimeError,  # encrypted, or compressed in a way that is not known here
)  # fmt: skip
DATE = (1980, 1, 1, 0, 0, 0)  # of all files, so that equal submissions have equal bytes


def submit(folder: Path, out: Path) -> list[str]:
    """Write a bundle of a leaderboard's folder, and return the names of the files in it.

    It holds the suite, rows, schedules, bounds and the code of competitors that are not bfenv's
    own: the modules' sources, saved models, cards. A manifest has the hash of every file, and the
    files of each row's code.

    Raises
    ------
    BfenvError
        If the folder holds no rows, a competitor's code is not here or is not that of its row, or
        the bundle cannot be written.
    """
    leaderboard = read_leaderboard(folder)
    contents = {"suite.json": _read(folder / "suite.json")}
    for part, suffix in FOLDERS.items():
        for path in sorted((folder / part).glob(f"*{suffix}")):
            contents[f"{part}/{path.name}"] = _read(path)
    places = {}
    for row in leaderboard.rows:
        code = {} if row.code is None else _code_of(row)
        for name, data in code.items():
            if contents.setdefault(name, data) != data:
                raise BfenvError(f"{row.policy}: the code of another competitor is {name}, too")
        if code:
            places[row.key] = list(code)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(contents.items())}
    manifest = {"format": FORMAT, "suite": leaderboard.suite, "files": hashes, "code": places}
    contents[MANIFEST] = (json.dumps(manifest, indent=1) + "\n").encode()
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name in sorted(contents):
            bundle.writestr(zipfile.ZipInfo(name, DATE), contents[name], zipfile.ZIP_DEFLATED)
    write_atomically(out, memory.getvalue())
    return sorted(contents)


def _code_of(row: Row) -> dict[str, bytes]:
    code = {
        f"{CODE}/{place}": _read(file) for place, file in code_places(row.kind, row.policy).items()
    }
    _check_code(row, list(code.values()))
    return code


def _check_code(row: Row, files: Sequence[bytes]) -> None:
    """Check that these files are the code that the row names by its hash."""
    if not files or f"sha256:{hashlib.sha256(b''.join(files)).hexdigest()}" != row.code:
        raise BfenvError(f"{row.policy}: its code is not here, or is not what made its rows")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BfenvError(f"{path}: cannot be read: {error.strerror or error}") from error


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """Unpack a bundle into a temporary folder, and check it against its manifest and its rows.

    Raises
    ------
    BfenvError
        If it is not a bundle of `submit`, is damaged or too large, has other files than its
        manifest says, or its code is not that of its rows.
    """
    contents, places = _read_bundle(path)
    with tempfile.TemporaryDirectory(prefix="bfenv-submission-") as folder:
        try:
            for name, data in contents.items():
                target = Path(folder, *PurePosixPath(name).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        except OSError as error:  # a file has the name of a folder, or one that is too long
            reason = error.strerror
            raise BfenvError(f"{path}: {name[:80]!r} cannot be unpacked: {reason}") from error
        code = {name: data for name, data in contents.items() if name.startswith(f"{CODE}/")}
        used = set()
        for row in read_leaderboard(folder).rows:
            if row.code is not None:
                names = places.get(row.key, [])
                _check_code(row, [code[name] for name in names if name in code])
                used.update(names)
        for name in sorted(code.keys() - used):
            raise BfenvError(f"{path}: {name} is the code of no row")
        yield Path(folder)


def _read_bundle(path: Path) -> tuple[dict[str, bytes], dict[str, list[str]]]:
    """Return the content of each file, and the files of each row's code."""
    if _unpacked_size(path) > LARGEST:
        raise BfenvError(f"{path}: is too large to be unpacked")
    try:
        with zipfile.ZipFile(path) as bundle:
            contents = {info.filename: bundle.read(info) for info in bundle.infolist()}
            manifest = json.loads(contents.pop(MANIFEST))
            hashes = {**manifest["files"]}
            places = {key: list(map(str, names)) for key, names in {**manifest["code"]}.items()}
            if manifest["format"] != FORMAT:
                raise ValueError(f"format {manifest['format']!r}")
    except DAMAGE as error:
        raise BfenvError(f"{path}: is not a bundle of `bfenv leaderboard submit`") from error
    for name in sorted(contents.keys() | hashes.keys()):
        if not _is_allowed(name):
            raise BfenvError(f"{path}: a submission has no file {name!r}")
        if name not in contents or hashlib.sha256(contents[name]).hexdigest() != hashes.get(name):
            raise BfenvError(f"{path}: {name} is not what its manifest says")
    return contents, places


def _unpacked_size(path: Path) -> int:
    """Return the bytes that the files of a bundle are said to have; zipfile reads no more."""
    try:
        with zipfile.ZipFile(path) as bundle:
            return sum(info.file_size for info in bundle.infolist())
    except DAMAGE as error:
        raise BfenvError(f"{path}: is not a bundle of `bfenv leaderboard submit`") from error


def _is_allowed(name: str) -> bool:
    """Whether a name is one of a submission's: none that leads out of its folder."""
    parts = name.split("/")
    if name == "suite.json":
        return True
    if len(parts) < 2 or not {"", ".", ".."}.isdisjoint(parts) or "\\" in name or "\0" in name:
        return False
    is_flat = len(parts) == 2
    return parts[0] == CODE or (is_flat and parts[1].endswith(FOLDERS.get(parts[0], "\0")))
