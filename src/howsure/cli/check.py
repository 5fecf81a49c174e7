"""`howsure check`, `compare`, `recalibrate` and `abstain`: are probabilities right, whose are better, better ones, and when to answer."""

import sys
from dataclasses import replace
from typing import Any

from howsure.cli import options
from howsure.cli.delivery import Delivery, called, progress
from howsure.cli.parser import argument, command, family, option
from howsure.errors import InputError
from howsure.files import write_whole

ABOUT_PROBABILITIES = "--weight --groups --by --curve --normalise --like --explain --fail-above"


@command(
    replace(options.TABLE, required=False),
    options.PROB,
    options.LABELS,
    options.POSITIVE,
    *options.SCALE,
    options.MISSING,
    option("normalise", "Scale class probabilities to sum to one.", False),
    options.WHERE,
    option("sample_weight", "Column of repetition counts.", flags="--weight"),
    options.GROUPS,
    options.BY,
    option("bins", "Bins to draw: rows in each, width:K, or isotonic. Chosen from the data by default."),
    option("curve", "A curve without bins too: kernel, kernel-bootstrap, local-linear, neighbours, isotonic, gp."),
    options.CONFIDENCE,
    options.seed("the simulated band"),
    option("draws", "Glob of columns of draws from a forecast of a number: checks those, not probabilities."),
    option("quantiles", "Glob of columns of quantiles; their names end in the level (q0.05) or per cent (q5)."),
    *options.DELIVERY,
    option("explain", "Say what each number means, with its formula.", False),
    option("fail_above", "Exit with status 1 when the calibration error is above this; see --gate.", kind=float),
    option(
        "gate",
        "What fails by --fail-above: an error shown-above (its lower limit is above; the default), its point "
        "estimate, or all that is not shown-below (its upper limit is above).",
    ),
    *(replace(each, part_of="") for each in options.LOG),
    option(
        "paper",
        "Algorithms 1 and 2, calibration and refinement, and the curve as in the paper; bins of 5,000 rows or --bins.",
        False,
    ),
    option("like", "Also compute the error as others do: hle."),
    *options.ENGINE,
    option("demo", "Check the shipped table of real predictions.", False),
)
def check(
    deliver: Delivery,
    file: str | None,
    draws: str | None,
    quantiles: str | None,
    explain: bool,
    fail_above: float | None,
    gate: str | None,
    log: str | None,
    stated: str | None,
    same: str | None,
    paper: bool,
    like: str | None,
    demo: bool,
    **given: Any,
) -> int:
    """Is the model calibrated, by how much, and where?

    Examples:
      howsure check predictions.csv
      howsure check 'run-*.parquet' --prob q --true correct --by tag
      zcat scores.jsonl.gz | howsure check - --json
      howsure check predictions.parquet --groups doc_id --html report.html --plot curve.pdf
      howsure check predictions.parquet --prob 'p_*' --true gold      (many classes)
      howsure check logs/ --from inspect --by task --html report.html
      howsure check --from huggingface predictions.npz      (logits and label_ids of Trainer.predict)
      howsure check predictions.csv --fail-above 0.05      (exit status 1 when the error is shown to be above)
      howsure check predictions.csv --fail-above 0.05 --gate shown-below      (… unless it is shown to be below)
      howsure check 'hdfs://…/run/*.parquet' --groups doc --engine spark --master yarn
      howsure check predictions.csv --paper --bins 200 --html paper.html      (the numbers and curve of the paper)
      howsure check forecasts.parquet --draws 's_*' --true y      (numbers, forecast by draws; or --quantiles 'q*')
    """
    from howsure.verbs.check import check as run_check
    from howsure.verbs.check import error_like, huggingface, shipped_example
    from howsure.verbs.logs import logged

    columns = {name: given[name] for name in ("prob", "true", "positive", "where", "scale", "logits", "missing")}
    if log == "huggingface":
        for name in ("prob", "positive", "scale", "logits"):
            if columns[name]:
                raise InputError(
                    "--from huggingface knows its columns: leave --prob, --positive, --scale and --logits out."
                )
    else:
        file = logged(file, log, stated, same)
    if demo == (file is not None):
        raise InputError("give a file to check, or --demo for the shipped example.")
    if fail_above is not None and not 0.0 <= fail_above <= 1.0:
        raise InputError(f"--fail-above must lie in [0, 1]; got {fail_above}.")
    if gate is not None:
        from howsure.verbs.gate import RULES

        if gate not in RULES:
            raise InputError(f"--gate must be one of {', '.join(RULES)}; got {gate!r}.")
    if gate is not None and fail_above is None:
        raise InputError("--gate needs a bound: give --fail-above.")
    if paper:
        more = "--engine --master --memory --skip-bad-files --confidence --draws --quantiles"
        deliver.refuse(f"{ABOUT_PROBABILITIES} {more}", "--paper")
    if draws is not None or quantiles is not None:
        from howsure.verbs.check_continuous import check_continuous

        more = "--prob --positive --scale --logits --missing --bins --from --gate --demo"
        deliver.refuse(f"{more} {ABOUT_PROBABILITIES}", "--draws" if draws is not None else "--quantiles")
        kept = {name: given[name] for name in ("true", "where", "confidence_level", "rng", "engine")}
        return deliver(check_continuous(file, draws, quantiles=quantiles, **kept))
    source = shipped_example() if demo else file
    if log == "huggingface":
        source, roles = huggingface(str(file), columns["true"])
        given["groups"] = given["groups"] or roles.pop("groups", None)
        columns |= roles
    if paper:
        from howsure.verbs.check_paper import check_paper

        size = {} if given["bins"] is None else {"bin_size": given["bins"]}
        return deliver(check_paper(source, rng=given["rng"], **size, **columns))
    copied = None if like is None else error_like(like, source, **columns)
    with progress("slices") as moved:
        result: Any = run_check(source, progress=moved, **given | columns)
    if not hasattr(result, "error"):  # a log with several sources of confidence
        deliver.refuse("--fail-above --explain", "several sources of confidence (choose one with --prob)")
        return deliver(result)
    # Of many classes, the gate is that of the predicted class.
    judged = None
    if fail_above is not None:
        if result.error is None:
            raise InputError("--fail-above has nothing to judge: the error cannot be estimated from these rows.")
        from howsure.verbs.gate import RULES, Gate

        judged = Gate(result.error, fail_above, gate or RULES[0])
    more = "" if judged is None else f"--fail-above {fail_above:g}: {judged.words}"
    data = result.to_dict() | ({} if copied is None else {"like": {like: copied.to_dict()}})
    data |= {} if judged is None else {"gate": judged.to_dict()}
    text = result.to_text() + ("" if copied is None else "\n" + copied.to_text())
    text += result.explanation() if explain else ""
    deliver(result, data=data, text=text, more=more)
    return failed(more) if judged is not None and judged.fails else 0


def failed(why: str) -> int:
    """Say on standard error what failed, and the status of that."""
    print(f"howsure: {why}", file=sys.stderr)
    return 1


@command(
    argument("files", "One table with a column per model, or a table per model.", many=True, reads=True),
    option("prob", "Columns of probabilities, one per model: a,b. With a file per model: the column in each."),
    option(
        "pred",
        "Columns of labels, one per system: a,b. With a file per system: the column in each. --true then holds the gold labels.",
    ),
    options.LABELS,
    option("metric", "With --pred: accuracy, f1 (of --positive), macro-f1 or span-f1."),
    option("sentence", "With span-f1: column of sentences."),
    option("samples", "With --pred: resamples of the bootstrap.", 10_000),
    option("planned", "With --pred: power with this number of rows.", kind=int),
    option("key", "Column that identifies an item across files."),
    options.GROUPS,
    options.BY,
    *options.READING,
    options.CONFIDENCE,
    option(
        "fail_if_worse",
        "Exit with status 1 when a model is shown to be worse than the first: by the intervals of its calibration error and "
        "Brier score; with --pred, of the metric.",
        False,
    ),
    *options.OF_TABLES,
)
def compare(deliver: Delivery, files: list[str], fail_if_worse: bool, **given: Any) -> int:
    """Is B better than A: better calibrated, with a better score?

    Examples:
      howsure compare predictions.csv --true y --prob model_a,model_b
      howsure compare predictions.csv --true y --prob model_a,model_b --groups doc --by tag
      howsure compare a.csv b.csv --key id --html comparison.html
      howsure compare predictions.csv --true gold --pred a,b --prob pa,pb --metric macro-f1 --groups doc
      howsure compare runs/a runs/b --from lm-eval --groups doc_id
      howsure compare main.csv branch.csv --key id --fail-if-worse      (exit status 1 when branch is shown to be worse)
    """
    made = called("compare.compare", files, doing="reading", **given)
    if not fail_if_worse:
        return deliver(made)
    judged = made.regressions
    more = " ".join(["--fail-if-worse:", *(r.words for r in judged)])
    deliver(made, data=made.to_dict() | {"gate": [r.to_dict() for r in judged]}, more=more)
    return failed(more) if any(r.fails for r in judged) else 0


@command(
    options.TABLE,
    option("risk", "Share of wrong answers allowed among those given.", 0.05),
    option("prob", "Column of confidences."),
    option("true", "Column that says whether the answer is right; or of labels, for probabilities of 1."),
    *options.READING,
    option("groups", "Column of what is dependent (conversation, document): the promise allows for it."),
    option("by", "A threshold for each value of this column, all promises at once."),
    options.CONFIDENCE,
    options.seed("the order of groups"),
    option("apply", "A table to add the column `answer` to (1: answer, 0: abstain), written to -o.", reads=True),
    option("out", "The table to write with --apply.", None, "--out -o", writes=True),
    *options.OF_TABLES,
)
def abstain(deliver: Delivery, file: Any, apply: str | None, out: str | None, **given: Any) -> int:
    """Above which confidence may the model answer?

    So that, with 95% confidence, at most a given share of the answers is wrong. Works for any column of confidences,
    calibrated or not; says on what the promise rests, and refuses when labels are too few.

    Examples:
      howsure abstain answers.jsonl --prob confidence --true correct --risk 0.05 --groups conversation
      howsure abstain labelled.csv --risk 0.02 --by language --html answering.html
      howsure abstain labelled.csv --risk 0.05 --apply new.csv -o answered.csv
    """
    from howsure.verbs.abstain import abstain as run_abstain
    from howsure.verbs.abstain import apply_abstention

    if (apply is None) != (out is None):
        raise InputError("--apply names the table to add a column to, and -o where to write it: give both.")
    made = run_abstain(file, **given)
    if apply is not None:
        apply_abstention(made, apply, out, engine=given["engine"])
    return deliver(made)


@command(
    options.TABLE,
    replace(options.MODEL_OUT, help="Save the recalibrator to this JSON file."),
    option(
        "method",
        "auto, temperature, platt, beta, isotonic-platt, histogram-platt; isotonic and histogram as published; "
        "vector for many classes.",
        "auto",
    ),
    option("prob", "Column of probabilities; or a glob, 'p_*', of one column a class."),
    options.LABELS,
    *options.READING,
    option("groups", "Column of what is dependent (document, sentence): kept together in cross-validation."),
    replace(options.CONFIDENCE, help="Confidence level of the gain's interval."),
    options.seed("the folds"),
    *options.LOG,
    *options.PRINTED,
)
def fit(deliver: Delivery, file: str, out: str, **given: Any) -> int:
    """Learn a recalibrator from labelled predictions.

    It is judged on rows it has not seen; when the gain is not clear, what is saved changes nothing.

    Examples:
      howsure recalibrate fit held-out.csv -o cal.json
      howsure recalibrate fit dev.parquet --prob q --groups doc_id -o cal.json
      howsure recalibrate fit dev.csv --prob 'p_*' --true gold -o cal.json
    """
    result = called("recalibrate.recalibrate", file, **given)
    write_whole(out, result.to_json().encode())
    return deliver(result)


@command(
    argument("model", "The JSON file that `howsure recalibrate fit` wrote."),
    replace(options.TABLE, reads=False),
    option("out", "The table to write: .csv, .tsv or .jsonl (and .gz), or .parquet.", flags="--out -o", required=True),
    option("prob", "Column of probabilities, or a glob, when named otherwise than where it was fitted."),
    option("name", "The new column; by default <prob>_recalibrated."),
    *options.LOG,
    *options.ENGINE[:3],
    *options.PRINTED,
)
def apply(deliver: Delivery, model: str, file: str, out: str, **given: Any) -> int:
    """Add recalibrated probabilities to a table.

    The table may have any size; rows keep their order and the other columns stay as they are.

    Examples:
      howsure recalibrate apply cal.json new.csv -o new-recalibrated.csv
      howsure recalibrate apply cal.json 'run-*.parquet' --prob q -o out.parquet
    """
    return replace(deliver, outputs=())(called("recalibrate.apply_recalibrator", model, file, out, **given))


recalibrate = family("Learn better probabilities, and apply them to new rows.", fit, apply)
