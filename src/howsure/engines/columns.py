"""Which columns have which role, named or found by name when that is unambiguous, and how SQL reads them."""

import re
from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any

from howsure import _validate, _written
from howsure.engines.connection import literal
from howsure.engines.tables import Column, Table, quoted
from howsure.errors import InputError

# Names people give these columns; compared in lower case with everything but letters and digits removed.
_NAMED = {
    "prob": """prob probs probability probabilities proba p q yprob yproba probtrue phat predprob predproba predictedprob
    predictedprobability predictionprob predictionprobability probpositive confidence conf score scores yscore""",
    "log": "logit logits logodds logprob logprobs logprobability logproba",
    "true": """label labels true ytrue y target targets gold truth groundtruth correct iscorrect actual outcome outcomes
    class istrue goldlabel truelabel human humanlabel judgment judgement annotation""",
    "text": "text texts body tweet sentence content document",
}
PROB_NAMES, LOG_NAMES, TRUE_NAMES, TEXT_NAMES = (names.split() for names in _NAMED.values())
MOST_WORDS = 40  # spellings of yes and no in one column


def plain_name(name: str) -> str:
    """In lower case, letters and digits alone."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def tells_right(true: str) -> bool:
    """Whether a column of labels, by its name, tells if what was predicted is right."""
    return re.sub(r"[^a-z]", "", true.lower()) in ("correct", "iscorrect")


def pair_columns(table: Table, prob: str | None, true: str | None) -> tuple[Column, Column]:
    """The columns of the label and of its probability, named or guessed."""
    p = guessed_column(table, PROB_NAMES, "probability", "`prob=`", {true}, LOG_NAMES, prob)
    t = label_column(table, true, skip={p.name})
    if p.name == t.name:
        raise InputError(f"`{p.name}` cannot be both the probability and the label; name the other one.")
    if p.is_nested:
        raise InputError(f"`{p.name}` holds {p.type.split('(')[0].lower()} values, not one probability a row.")
    return t, p


def label_column(table: Table, true: str | None, skip: set[str]) -> Column:
    """The column of labels, named or guessed."""
    return guessed_column(table, TRUE_NAMES, "label", "`true=`", skip, given=true)


def text_column(table: Table, text: str | None) -> str:
    """The name of the column of texts, given or guessed."""
    return guessed_column(table, TEXT_NAMES, "text", "`text=`", (), given=text).name


def guessed_column(
    table: Table,
    names: list[str],
    what: str,
    option: str,
    skip: Collection[str | None],
    or_else: Sequence[str] = (),
    given: str | None = None,
) -> Column:
    """The column given, or the one named like that (without any, as `or_else` says); none or several are an error."""
    if given:
        return table.column(given)
    named = [[c for c in table.columns if plain_name(c.name) in of and c.name not in skip] for of in (names, or_else)]
    found = named[0] or named[1]
    if len(found) == 1:
        return found[0]
    there = ", ".join(f"`{c.name}`" for c in table.columns[:20]) + (", …" if len(table.columns) > 20 else "")
    if found:
        could = ", ".join(f"`{c.name}`" for c in found)
        raise InputError(
            f"the {what} column could be {could}: name it with {option}. Columns of {table.name}: {there}."
        )
    article = "an" if what[0] in "aeiou" else "a"
    begin = [m[0] for c in table.columns if (m := re.match(r"[A-Za-z]+[^A-Za-z0-9]", c.name))]
    several = [b for b in begin if begin.count(b) > 1 and plain_name(b) in names and option == "`prob=`"]
    classes = f" (many classes: `prob='{several[0]}*'`)" if several else ""
    raise InputError(
        f"no column of {table.name} is named like {article} {what}: name it with {option}{classes}. Columns: {there}."
    )


def label_sql(table: Table, column: Column, positive: Any, where: str | None) -> str:
    """A label as 0 and 1: whether it is `positive`, or a column that holds nothing else."""
    name = quoted(column.name)
    if positive is not None:
        wanted = str(positive)
        if column.type == "BOOLEAN":
            if wanted.lower() not in _written.TRUE_WORDS + _written.FALSE_WORDS:
                raise InputError(f"`{column.name}` holds true and false, and `positive={wanted!r}` is neither.")
            return f"({name} = {'true' if wanted.lower() in _written.TRUE_WORDS else 'false'})"
        if not column.is_number:
            return f"(CAST({name} AS VARCHAR) = {literal(wanted)})"
        try:
            return f"({name} = {float(wanted)!r})"
        except ValueError:
            raise InputError(f"`{column.name}` holds numbers, and `positive={wanted!r}` is not one.") from None
    if column.is_number:
        return f"CAST({name} AS {'BOOLEAN' if column.type == 'BOOLEAN' else 'DOUBLE'})"
    values = [str(v) for v in table.values(f"CAST({name} AS VARCHAR)", where, MOST_WORDS) if v is not None]
    how = _written.said_words(values, column.name)
    if not values or (how is not None and len(values) < MOST_WORDS):
        table.said += [how] if how else []
        ones, zeros = (", ".join(map(literal, w)) for w in (_written.TRUE_WORDS, _written.FALSE_WORDS))
        plain = f"lower(trim(CAST({name} AS VARCHAR)))"
        return f"CAST(CASE WHEN {plain} IN ({ones}) THEN 1 WHEN {plain} IN ({zeros}) THEN 0 END AS DOUBLE)"
    shown = _validate.some(values, 6)
    from howsure.engines.logs.answers import ANSWER_KEYS, GOLD_KEYS

    there = {plain_name(c.name) for c in table.columns}
    answers = (
        there & set(ANSWER_KEYS)
        and plain_name(column.name) in GOLD_KEYS
        and table.files
        and table.files[0].kind == "json"
    )
    or_else = ", or mark a language model's answers by them with `log='llm'`" if answers else ""
    raise InputError(f"`{column.name}` holds {shown}: say which value counts as 1 with `positive=`{or_else}.")


def probability_sql(table: Table, column: Column, scale: str | None, where: str | None) -> str:
    """A probability as a number. Text is read as people write it, 64% and 0,64; what it cannot be is an error now."""
    if column.type != "VARCHAR":
        return number_sql(column.name)
    text = f"trim({quoted(column.name)})"
    number = f"TRY_CAST(replace(rtrim({text}, '% '), ',', '.') AS DOUBLE)"
    lost = ", ".join(map(literal, _written.MISSING_WORDS))
    way = (
        f"CASE WHEN {text} IS NULL OR lower({text}) IN ({lost}) THEN 'missing' WHEN {number} IS NULL THEN 'text' "
        f"WHEN ends_with({text}, '%') THEN 'percent' WHEN contains({text}, ',') THEN 'comma' ELSE 'plain' END"
    )
    ways = table.values(way, where)
    if "text" in ways:
        raise InputError(f"`{column.name}` must hold numbers; got {_first_text(table, way, text, where)}.")
    table.said += _written.how_written(ways, column.name)
    if "percent" not in ways or scale == "percent":
        return number
    if scale in ("logit", "logprob"):
        raise InputError(f"`{column.name}` is written with a percent sign: it is no {scale}.")
    return f"({number} / CASE WHEN ends_with({text}, '%') THEN 100.0 ELSE 1.0 END)"


def _first_text(table: Table, way: str, text: str, where: str | None) -> str:
    """What the first value that is not a number is, and where it is if rows are numbered."""
    first = 0
    for record in table.batches([way, text], where) if type(table) is Table else ():
        found = record.column(0).to_pylist()
        if "text" in found:
            i = found.index("text")
            return f"{record.column(1)[i].as_py()!r} in row {first + i + 1:,}"
        first += record.num_rows
    return repr(next(iter(table.values(f"CASE WHEN ({way}) = 'text' THEN {text} END", where, 1)), "text"))


def check_positive(table: Table, true: str, positive: Any, where: str | None) -> None:
    """Refuses a --positive value that no row has; names those there are."""
    values = [str(v) for v in table.values(quoted(true), where)]
    raise InputError(f"no row has `{true}` = {positive!r}.{_validate.nearest(str(positive), values)}")


def value_sql(column: str) -> str:
    """A value as text."""
    return f"CAST({quoted(column)} AS VARCHAR)"


def number_sql(column: str) -> str:
    """A number, or NULL where the value is none."""
    return f"TRY_CAST({quoted(column)} AS DOUBLE)"


def group_sql(column: str) -> str:
    """A 64-bit hash stands for the group: among 10⁷ groups two share one with probability 3e-6."""
    name = quoted(column)
    return f"CASE WHEN {name} IS NULL THEN NULL ELSE hash({name}) END"


def text_sql(column: Column) -> str:
    """Labels as text; 1 and 1.0 are one label, however the columns are stored."""
    name = quoted(column.name)
    if column.is_nested:
        lists = column.type.endswith("]")
        raise InputError(
            f"`{column.name}` holds a list in each row (the labels of a sentence?); a table has a row for each token or item: "
            "unnest the lists first."
            if lists
            else f"`{column.name}` holds {column.type.split('(')[0].lower()} values, not one label a row."
        )
    if column.type in ("DOUBLE", "FLOAT", "REAL") or column.type.startswith("DECIMAL"):
        whole = f"{name} = floor({name}) AND abs({name}) < 1e15"
        return (
            f"CASE WHEN {name} IS NULL OR isnan(CAST({name} AS DOUBLE)) THEN NULL "
            f"WHEN {whole} THEN CAST(CAST({name} AS BIGINT) AS VARCHAR) ELSE CAST({name} AS VARCHAR) END"
        )
    return f"CAST({name} AS VARCHAR)"


PREDICTIONS = ["pred", "preds", "prediction", "predicted", "ypred", "system", "output", "predictedlabel"]


def predicted_column(table: Table, true: str | None, pred: str | None = None) -> Column:
    """The column of predictions, named or guessed."""
    return guessed_column(table, PREDICTIONS, "prediction", "`pred=`", {true}, given=pred)


def is_classes(prob: str | Sequence[str]) -> bool:
    """Whether it is a pattern or a list, for the columns of many classes, not the name of one column."""
    return not isinstance(prob, str) or any(c in prob for c in "*?[,")


def class_columns(table: Table, pattern: str | Sequence[str], skip: str | None = None) -> dict[str, Column]:
    """The columns that a glob with one `*` names, by class: what `*` stands for. Or a list of columns, by what is left
    of their names without the beginning that they share, up to a mark such as _."""
    if not isinstance(pattern, str) or "," in pattern:
        names = _validate.listed(pattern)
        if len(set(names)) < max(len(names), 2):
            raise InputError(f"`prob=` needs two columns at least, each named once; got {', '.join(names)}.")
        shared = next((i for i, c in enumerate(zip(*names, strict=False)) if len(set(c)) > 1), min(map(len, names)))
        start = max((i + 1 for i in range(shared) if not names[0][i].isalnum()), default=0)
        return {name[start:]: table.column(name) for name in names}
    if pattern.count("*") != 1:
        raise InputError(f"`prob={pattern!r}` must hold one * that stands for the class.")
    wanted = re.compile("(.+)".join(re.escape(part) for part in pattern.split("*")))
    found = [(c, m[1]) for c in table.columns if c.name != skip and (m := wanted.fullmatch(c.name))]
    if len(found) < 2:
        there = _validate.nearest(pattern, [c.name for c in table.columns])
        raise InputError(
            f"`prob={pattern!r}` names {len(found)} of the columns of {table.name}; it takes two at least.{there}"
        )
    return {name: column for column, name in found}


def forecast_columns(
    table: Table, true: str | None, draws: str | None = None, quantiles: str | None = None
) -> tuple[Column, list[Column], list[float] | None]:
    """Outcome, draws or quantiles that a glob names, and the quantiles' levels: the number at the end of each name."""
    glob, option = (draws, "draws") if draws is not None else (quantiles, "quantiles")
    assert glob is not None
    label = table.column(true).name if true else None
    found = [c.name for c in table.columns if fnmatchcase(c.name, glob) and c.name != label]
    if not found:
        hint = _validate.nearest(glob.strip("*?"), [c.name for c in table.columns])
        raise InputError(f"no column of {table.name} matches `{option}={glob!r}`.{hint}")
    if label is None:
        label = guessed_column(table, TRUE_NAMES, "outcome", "`true=`", skip=()).name
        found = [name for name in found if name != label]
    if len(found) < 2:
        raise InputError(f"`{option}={glob!r}` names one column of {table.name}; two at least are needed.")
    if draws is not None:
        return table.column(label), [table.column(name) for name in found], None
    by_level = sorted((level_of(name), name) for name in found)
    for (one, a), (two, b) in pairwise(by_level):
        if one == two:
            raise InputError(f"`{a}` and `{b}` are both the quantile of level {one:.6g}; `quantiles=` must name one.")
    return table.column(label), [table.column(name) for _, name in by_level], [level for level, _ in by_level]


def level_of(name: str) -> float:
    """The number at the end of a column's name: below 1 a level, from 1 up a percentage (q0.05, q05, q_5 and q5)."""
    match = re.search(r"(\d+(?:\.\d*)?|\.\d+)\D*$", name)
    value = float(match[1]) if match else 0.0
    level = value if value < 1.0 else round(value / 100.0, 12)
    if not 0.0 < level < 1.0:
        raise InputError(
            f"`{name}` does not tell its level: a column of quantiles ends in a number, "
            "below 1 a level (q0.05), from 1 to 99 a percentage (q5)."
        )
    return level
