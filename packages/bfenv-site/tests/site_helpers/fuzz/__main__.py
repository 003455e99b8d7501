"""Attack the reader of a log with the fuzzer atheris, led by the lines that its inputs reach.

    python -m site_helpers.fuzz swf --seconds 60

With "all" as the reader, each is attacked in turn. An input that breaks a claim is saved in the
current folder and ends the run with status 77 (70 for a hang); its path as an argument tries it
again. The line "Done" tells how many inputs were tried. With TMPDIR in memory, as in /dev/shm, it
tries more of them.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

import atheris

with atheris.instrument_imports(include=["bfenv.workloads", "site_helpers.fuzz.claims"]):
    from site_helpers.fuzz.claims import CLAIMS

from site_helpers.fuzz.seeds import seeds, vocabulary

HANG = 10  # seconds for an input of LONGEST bytes, on a busy machine
LONGEST = 4096  # bytes
MEMORY = 8192  # MiB; libFuzzer also counts what the process had that started it


def main() -> None:
    """Fuzz a reader, or each one, for some seconds."""
    parser = argparse.ArgumentParser(prog="python -m site_helpers.fuzz")
    parser.add_argument("reader", choices=[*CLAIMS, "all"])
    parser.add_argument("--seconds", type=int, default=60, help="how long to invent inputs")
    parser.add_argument("--seed", type=int, default=1, help="of the fuzzer; equal inputs for equal")
    parser.add_argument("inputs", nargs="*", help="files to try instead")
    options = parser.parse_args()
    if options.reader != "all":
        attack(options.reader, options)
    for reader in CLAIMS:  # each in a copy of this process, which atheris ends
        print(f"\nreader {reader}", file=sys.stderr, flush=True)
        child = os.fork()
        if not child:
            attack(reader, options)
        if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            sys.exit(status)


def attack(reader: str, options: argparse.Namespace) -> NoReturn:
    """Run the fuzzer on a reader, which ends the process."""
    with tempfile.TemporaryDirectory() as folder:
        corpus, words = Path(folder) / "corpus", Path(folder) / "words"
        corpus.mkdir()
        for number, seed in enumerate(seeds(reader)):
            (corpus / str(number)).write_bytes(seed)
        words.write_text("".join(f'"{word}"\n' for word in vocabulary(reader)))
        arguments = [
            f"-max_total_time={options.seconds}",
            f"-seed={options.seed}",
            f"-timeout={HANG}",
            f"-max_len={LONGEST}",
            f"-rss_limit_mb={MEMORY}",
            f"-dict={words}",
            *(options.inputs or [str(corpus)]),
        ]

        def attempt(data: bytes) -> None:
            CLAIMS[reader](data)

        atheris.Setup([sys.argv[0], *arguments], attempt)
        atheris.Fuzz()
    raise AssertionError("atheris has returned")


if __name__ == "__main__":
    main()
