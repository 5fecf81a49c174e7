"""`howsure check FILE`."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from howsure.cli import options
from howsure.cli.delivery import Delivery

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

  howsure check predictions.csv --paper --bins 200 --html paper.html      (the numbers and curve of the paper)

  howsure check forecasts.parquet --draws 's_*' --true y      (numbers, forecast by draws; or --quantiles 'q*')
"""


def check(
    file: Annotated[str | None, typer.Argument(help=options.TABLE)] = None,
    prob: options.Prob = None,
    true: options.Labels = None,
    positive: options.Positive = None,
    logits: options.Logits = False,
    normalise: Annotated[bool, typer.Option("--normalise", help="Scale class probabilities to sum to one.")] = False,
    where: options.Where = None,
    weight: Annotated[str | None, typer.Option(help="Column of repetition counts.")] = None,
    groups: options.Groups = None,
    by: options.By = None,
    bins: Annotated[
        str | None,
        typer.Option(help="Bins to draw: rows in each, width:K, or isotonic. Chosen from the data by default."),
    ] = None,
    curve: Annotated[
        str | None,
        typer.Option(
            help="A curve without bins too: kernel, kernel-bootstrap, local-linear, neighbours, isotonic, gp."
        ),
    ] = None,
    confidence: options.Confidence = 0.95,
    rng: Annotated[int, typer.Option(help="Seed of the simulated band.")] = 0,
    draws: Annotated[
        str | None,
        typer.Option(help="Glob of columns of draws from a forecast of a number: checks those, not probabilities."),
    ] = None,
    quantiles: Annotated[
        str | None,
        typer.Option(help="Glob of columns of quantiles; their names end in the level (q0.05) or per cent (q5)."),
    ] = None,
    html: options.Html = None,
    plot: options.Plot = None,
    as_json: options.Json = False,
    markdown: options.Markdown = False,
    latex: options.Latex = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say what each number means, with its formula.")] = False,
    fail_above: Annotated[
        float | None,
        typer.Option(help="Exit with status 1 when the calibration error is above this; see --gate."),
    ] = None,
    gate: Annotated[
        str | None,
        typer.Option(
            help="What fails by --fail-above: an error shown-above (its lower limit is above; the default), its point "
            "estimate, or all that is not shown-below (its upper limit is above)."
        ),
    ] = None,
    log: Annotated[
        str | None, typer.Option("--from", help="The file is a log: lm-eval (--log_samples), or llm (JSON lines).")
    ] = None,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper",
            help="Algorithms 1 and 2, calibration and refinement, and the curve as in the paper; bins of 5,000 rows or --bins.",
        ),
    ] = False,
    like: Annotated[str | None, typer.Option(help="Also compute the error as others do: hle.")] = None,
    engine: options.EngineName = None,
    master: options.Master = None,
    memory: options.Memory = None,
    skip_bad_files: options.SkipBadFiles = False,
    demo: Annotated[bool, typer.Option("--demo", help="Check the shipped table of real predictions.")] = False,
) -> int:
    """Is the model calibrated, by how much, and where?"""
    from howsure.errors import InputError
    from howsure.verbs.check import RULES, Gate, error_like, logged, shipped_example
    from howsure.verbs.check import check as run_check

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
    chosen = options.engine_from(engine, master, memory, skip_bad_files)
    delivery = Delivery(as_json, markdown, latex, html, plot, inputs=(file,))
    no_paper = {
        "--weight": weight,
        "--groups": groups,
        "--by": by,
        "--curve": curve,
        "--normalise": normalise or None,
        "--like": like,
        "--explain": explain or None,
        "--fail-above": fail_above,
        "--engine": engine or master or memory,
        "--skip-bad-files": skip_bad_files or None,
        "--confidence": None if confidence == 0.95 else confidence,
    }
    if paper:
        refuse_options(no_paper | {"--draws": draws, "--quantiles": quantiles}, "--paper")
    if draws is not None or quantiles is not None:
        from howsure.verbs.check_continuous import check_continuous

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
            "--explain": explain or None,
            "--fail-above": fail_above,
            "--gate": gate,
            "--engine": engine or master or memory,
            "--skip-bad-files": skip_bad_files or None,
            "--demo": demo or None,
        }
        refuse_options(refused, "--draws" if draws is not None else "--quantiles")
        made = check_continuous(
            file, draws, quantiles=quantiles, true=true, where=where, confidence_level=confidence, rng=rng
        )
        return delivery.deliver(made)
    source = shipped_example() if demo else file
    if log is not None:
        source, prob, true = logged(str(file), log), "confidence", "correct"
    if paper:
        from howsure.verbs.check_paper import check_paper

        given: dict[str, Any] = {"prob": prob, "true": true, "positive": positive, "where": where, "logits": logits}
        given |= {} if bins is None else {"bin_size": bins}
        return delivery.deliver(check_paper(source, rng=rng, **given))
    copied = None
    if like is not None:
        copied = error_like(like, source, prob=prob, true=true, positive=positive, where=where, logits=logits)
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
    # Of many classes, the gate is that of the predicted class.
    if fail_above is not None and result.error is None:
        raise InputError("--fail-above has nothing to judge: the error cannot be estimated from these rows.")
    judged = None if fail_above is None or result.error is None else Gate(result.error, fail_above, gate or RULES[0])
    verdict = "" if judged is None else f"--fail-above {fail_above:g}: {judged.words}"
    data = result.to_dict() | ({} if copied is None else {"like": {like: copied.to_dict()}})
    data |= {} if judged is None else {"gate": judged.to_dict()}
    text = result.to_text() + ("" if copied is None else "\n" + copied.to_text())
    text += result.explanation() if explain else ""
    text += f"\n{textwrap.fill(verdict, 80)}\n" if verdict else ""
    delivery.deliver(result, data=data, text=text)
    if judged is not None and judged.fails:
        print(f"howsure: {verdict}", file=sys.stderr)
        return 1
    return 0


def refuse_options(given: Mapping[str, object], with_option: str) -> None:
    """Options that say something about probabilities mean nothing here; naming them is better than ignoring them."""
    from howsure.errors import InputError

    for name, value in given.items():
        if value is not None:
            raise InputError(f"{name} does not go with {with_option}.")


check.__doc__ = (check.__doc__ or "") + "\n\n" + EPILOG
