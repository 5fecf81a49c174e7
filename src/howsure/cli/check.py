"""`howsure check FILE`."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import Annotated, Optional

import typer

from howsure.cli.engine_options import EngineOption, MasterOption, MemoryOption, SkipBadFilesOption, engine_from

EPILOG = """Examples:

  howsure check predictions.csv

  howsure check 'run-*.parquet' --prob q --true correct --by tag

  zcat scores.jsonl.gz | howsure check - --json

  howsure check predictions.parquet --groups doc_id --html report.html --plot curve.pdf

  howsure check predictions.parquet --prob 'p_*' --true gold      (many classes)

  howsure check --from lm-eval 'samples_*.jsonl' --by task

  howsure check predictions.csv --fail-above 0.05      (exit status 1 when the error is shown to be above)

  howsure check predictions.csv --fail-above 0.05 --gate shown-below      (… unless it is shown to be below)

  howsure check 'hdfs://…/run/*.parquet' --groups doc --engine spark --master yarn

  howsure check forecasts.parquet --draws 's_*' --true y      (numbers, forecast by draws; or --quantiles 'q*')
"""


def check(
    file: Annotated[
        Optional[str],  # noqa: UP045  (typer reads this at run time)
        typer.Argument(help="CSV, TSV, JSON lines, Parquet or Arrow; gzip or zstd; a glob; a folder; - for stdin."),
    ] = None,
    prob: Annotated[Optional[str], typer.Option(help="Column of probabilities; of many classes: 'p_*'.")] = None,  # noqa: UP045
    true: Annotated[Optional[str], typer.Option(help="Column of labels.")] = None,  # noqa: UP045
    positive: Annotated[Optional[str], typer.Option(help="The label that counts as 1.")] = None,  # noqa: UP045
    logits: Annotated[bool, typer.Option("--logits", help="The column holds log-odds, not probabilities.")] = False,
    normalise: Annotated[bool, typer.Option("--normalise", help="Scale class probabilities to sum to one.")] = False,
    where: Annotated[Optional[str], typer.Option(help="SQL condition on the rows to keep.")] = None,  # noqa: UP045
    weight: Annotated[Optional[str], typer.Option(help="Column of repetition counts.")] = None,  # noqa: UP045
    groups: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Column of what is dependent (document, sentence): intervals allow for it."),
    ] = None,
    by: Annotated[Optional[str], typer.Option(help="Analyse each value of this column too.")] = None,  # noqa: UP045
    bins: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Bins to draw: rows in each, width:K, or isotonic. Chosen from the data by default."),
    ] = None,
    curve: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="A curve without bins too: kernel, kernel-bootstrap, local-linear, neighbours, isotonic, gp."
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the simulated band.")] = 0,
    draws: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Glob of columns of draws from a forecast of a number: checks those, not probabilities."),
    ] = None,
    quantiles: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Glob of columns of quantiles; their names end in the level (q0.05) or per cent (q5)."),
    ] = None,
    html: Annotated[Optional[str], typer.Option(help="Write a report to this file.")] = None,  # noqa: UP045
    plot: Annotated[str | None, typer.Option(help="Draw the curve to this .svg, .png or .pdf file.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each number means, with its formula.")] = False,
    fail_above: Annotated[
        Optional[float],  # noqa: UP045
        typer.Option(help="Exit with status 1 when the calibration error is above this; see --gate."),
    ] = None,
    gate: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            help="What fails by --fail-above: an error shown-above (its lower limit is above; the default), its point "
            "estimate, or all that is not shown-below (its upper limit is above)."
        ),
    ] = None,
    log: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--from", help="The file is a log: lm-eval (--log_samples), or llm (JSON lines)."),
    ] = None,
    like: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Also compute the error as others do: hle."),
    ] = None,
    engine: EngineOption = None,
    master: MasterOption = None,
    memory: MemoryOption = None,
    skip_bad_files: SkipBadFilesOption = False,
    demo: Annotated[bool, typer.Option("--demo", help="Check the shipped table of real predictions.")] = False,
) -> int:
    """Is the model calibrated, by how much, and where?"""
    from howsure.calibration.gate import RULES, Gate
    from howsure.calibration.result import Calibration
    from howsure.cli.classes_text import classes_text
    from howsure.cli.explain import explanation
    from howsure.cli.latex import latex_table
    from howsure.cli.output import say
    from howsure.cli.text import WIDTH, calibration_text, copied_text
    from howsure.data import demo_table
    from howsure.engines.llm_logs import read_log
    from howsure.errors import InputError
    from howsure.files import check_outputs, write_whole
    from howsure.plots.vega import check_plot_name, figure, rendered
    from howsure.report.calibration_page import calibration_page, classes_page
    from howsure.verbs.check import check as run_check
    from howsure.verbs.check import error_like as run_like

    if log is not None and (file is None or prob or true or positive or logits):
        raise InputError(
            "--from knows its columns: give the log's file, without --prob, --true, --positive or --logits."
        )
    if demo == (file is not None):
        raise InputError("give a file to check, or --demo for the shipped example.")
    if fail_above is not None and not 0.0 <= fail_above <= 1.0:
        raise InputError(f"--fail-above must lie in [0, 1]; got {fail_above}.")
    if gate is not None and gate not in RULES:
        raise InputError(f"--gate must be one of {', '.join(RULES)}; got {gate!r}.")
    if gate is not None and fail_above is None:
        raise InputError("--gate needs a bound: give --fail-above.")
    if as_json and latex:
        raise InputError("--json and --latex cannot be combined.")
    chosen = engine_from(engine, master, memory, skip_bad_files)
    check_outputs(html, plot, inputs=[file])
    if plot is not None:
        check_plot_name(plot)
    if draws is not None or quantiles is not None:
        from howsure.cli.continuous import check_forecasts, refuse_options

        refused = {
            "--prob": prob,
            "--positive": positive,
            "--logits": logits or None,
            "--weight": weight,
            "--groups": groups,
            "--by": by,
            "--bins": bins,
            "--curve": curve,
            "--normalise": normalise or None,
            "--from": log,
            "--like": like,
            "--latex": latex or None,
            "--explain": explain or None,
            "--fail-above": fail_above,
            "--gate": gate,
            "--engine": engine or master or memory,
            "--skip-bad-files": skip_bad_files or None,
            "--demo": demo or None,
        }
        refuse_options(refused, "--draws" if draws is not None else "--quantiles")
        assert file is not None
        return check_forecasts(
            file,
            draws=draws,
            quantiles=quantiles,
            true=true,
            where=where,
            confidence=confidence,
            rng=rng,
            html=html,
            plot=plot,
            as_json=as_json,
        )
    source = demo_table() if demo else file
    if log is not None:
        assert file is not None
        rows = read_log(file, log)
        source, prob, true = rows.table(), "confidence", "correct"
    copied = None
    if like is not None:
        copied = run_like(like, source, prob=prob, true=true, positive=positive, where=where, logits=logits)
    result = run_check(
        source,
        prob=prob,
        true=true,
        positive=positive,
        logits=logits,
        where=where,
        sample_weight=weight,
        groups=groups,
        by=by,
        bins=bins,
        curve=curve,
        confidence_level=confidence,
        rng=rng,
        normalise=normalise,
        engine=chosen,
    )
    # Of many classes, the curve, the table and the gate are those of the predicted class.
    main = result if isinstance(result, Calibration) else result.top
    if fail_above is not None and result.error is None:
        raise InputError("--fail-above has nothing to judge: the error cannot be estimated from these rows.")
    judged = None if fail_above is None or result.error is None else Gate(result.error, fail_above, gate or RULES[0])
    if as_json:
        made = result.to_dict() | ({} if copied is None else {"like": {"hle": copied.to_dict()}})
        made |= {} if judged is None else {"gate": judged.to_dict()}
        said = json.dumps(made, indent=2, allow_nan=False, ensure_ascii=False)
    elif latex:
        said = latex_table(main)
    else:
        said = calibration_text(result) if isinstance(result, Calibration) else classes_text(result)
        said += "" if copied is None else "\n" + copied_text(copied)
        said += explanation(main) if explain else ""
        said += (
            "" if judged is None else "\n" + textwrap.fill(f"--fail-above {fail_above:g}: {judged.words}", WIDTH) + "\n"
        )
    if html is not None:
        write_whole(html, calibration_page(result) if isinstance(result, Calibration) else classes_page(result))
    if plot is not None:
        write_whole(plot, rendered(figure(main), Path(plot).suffix.lower()))
    written = [] if as_json or latex else [f"\n\nWritten: {path}" for path in (html, plot) if path]
    say(said.rstrip("\n") + "".join(written))
    if judged is not None and judged.fails:
        print(f"howsure: --fail-above {fail_above:g}: {judged.words}", file=sys.stderr)
        return 1
    return 0


check.__doc__ = (check.__doc__ or "") + "\n\n" + EPILOG
