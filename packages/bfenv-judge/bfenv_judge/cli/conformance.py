"""The command `bfenv check conformance`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bfenv.cli import show
from bfenv.cli.options import FormatOption, duration_option, option
from bfenv.cli.show import Format
from bfenv.core.durations import MINUTE

if TYPE_CHECKING:
    from bfenv_judge.conformance import Case, Verdict

FAILS = "fails"


def conformance(
    rules: str = option("easy", "RULES", "easy or conservative."),
    policy: str | None = option(
        None, "POLICY", "Test a policy of bfenv or yours.", "--policy", "-p"
    ),
    command: str | None = option(
        None,
        "COMMAND",
        'Test any simulator: "{input}" is the SWF file it reads, "{output}" the file it '
        "writes (default: standard output).",
    ),
    case: list[str] | None = option(None, "NAME", "Only this case, drawn; repeat for several."),
    export: Path | None = option(None, "FOLDER", "Write the cases as SWF and JSON."),
    seconds: int = duration_option(
        MINUTE, "--seconds", "Time limit of the command. [default: 1min]", least=1
    ),
    format: FormatOption = Format.table,
) -> None:
    """Test EASY or conservative backfilling with small cases.

    Each case tests one rule with a few jobs, such as that a job may run past the shadow time on the
    extra nodes. If a common mistake explains a difference, the command names it. Without --policy
    and --command, it lists the cases. The exit status is 1 if a case fails. Simulators may differ
    in conventions on purpose, so these cases do not count.

    A command answers with SWF, or with lines "job start". Jobs are numbered from 1.

    \b
    Examples:
      bfenv check conformance
      bfenv check conformance --case extra-nodes
      bfenv check conformance --policy mine:easy
      bfenv check conformance --rules conservative --command "./simulator {input} {output}"
      bfenv check conformance --export cases/
    """
    import bfenv_judge.conformance as cf

    if policy is not None and command is not None:
        raise typer.BadParameter("give --policy or --command, not both")
    cases = [cf.find_case(name, rules) for name in case] if case else list(cf.load_cases(rules))
    if export is not None:
        print(f"wrote {len(cf.export_cases(export, cases))} files to {export}")
    elif policy is not None:
        _report(cf.run_policy(policy, cases), format)
    elif command is not None:
        with show.progress() as progress:
            task = progress.add_task(rules, total=len(cases))
            verdicts = cf.run_command(
                command, cases, seconds=seconds, done=lambda: progress.advance(task)
            )
        _report(verdicts, format)
    elif case:
        print("\n\n".join(map(_describe, cases)))
    else:
        _list(cases, format)


def _list(cases: "Sequence[Case]", format: Format) -> None:
    rows = [
        {
            "case": case.name,
            "jobs": len(case.jobs),
            "processors": case.processors,
            "rule": case.rule,
            "convention": case.convention,
        }
        for case in cases
    ]
    if format in (Format.json, Format.csv):
        show.rows(rows, format)
        return
    lines = [
        (case.name, f"{case.rule} (convention)" if case.convention else case.rule) for case in cases
    ]
    show.table(("case", "rule"), lines, format, whole_names=True)


def _describe(case: "Case") -> str:
    from bfenv_judge.conformance import draw

    jobs = [
        f"{number:>4}{submit:>8}{size:>6}{runtime:>9}{estimate:>10}{start:>7}"
        for number, ((submit, size, runtime, estimate), start) in enumerate(
            zip(case.jobs, case.starts, strict=True), 1
        )
    ]
    head = f"{'job':>4}{'submit':>8}{'size':>6}{'runtime':>9}{'estimate':>10}{'start':>7}"
    title = f"{case.rules}, {case.name}: {case.rule}"
    return "\n".join((title, "", head, *jobs, "", draw(case)))


def _report(verdicts: "Sequence[Verdict]", format: Format) -> None:
    from bfenv_judge.conformance import explain

    if format in (Format.json, Format.csv):
        show.rows(
            [
                {
                    "case": verdict.case.name,
                    "verdict": _word(verdict),
                    "difference": verdict.difference,
                    "rule": verdict.case.rule,
                }
                for verdict in verdicts
            ],
            format,
        )
    else:
        lines = [(verdict.case.name, _word(verdict), _difference(verdict)) for verdict in verdicts]
        passed = sum(verdict.passed for verdict in verdicts)
        note = f"{passed} of {len(verdicts)} cases are scheduled by the rules"
        if causes := explain(verdicts):
            note += f"\none mistake explains all differences: {'; or: '.join(causes)}"
        show.table(("case", "verdict", "difference"), lines, format, whole_names=True, note=note)
    if any(_word(verdict) == FAILS for verdict in verdicts):
        raise typer.Exit(1)


def _word(verdict: "Verdict") -> str:
    if verdict.passed:
        return "passes"
    return "differs (convention)" if verdict.case.convention else FAILS


def _difference(verdict: "Verdict") -> str:
    """Describe the first difference, and the mistakes that lead to it."""
    causes = [cause for cause, starts in verdict.case.mistakes.items() if starts == verdict.starts]
    if not causes:
        return verdict.difference
    return f"{verdict.difference}: {'; or: '.join(causes)}"
