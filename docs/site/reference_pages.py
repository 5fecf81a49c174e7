"""The reference: what can be imported, from docstrings. They are numpydoc sections around plain prose and formulas."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import howsure

MODELS = {
    "howsure.models.taggers.hmm": ["HmmCounts", "Hmm"],
    "howsure.models.taggers.crf": ["Crf", "read_crfsuite"],
    "howsure.models.taggers.temperature": ["fit_temperature"],
    "howsure.models.parsers.arcs": ["train_arcs", "ArcParser"],
    "howsure.models.parsers.pcfg": ["train_pcfg", "Pcfg"],
    "howsure.models.classifiers": ["TextClassifier"],
    "howsure": ["CorefModel"],
}
RECALIBRATION = {
    "howsure": ["CalibratedClassifier"],
    "howsure.calibration.recalibration.platt": ["Temperature", "Platt", "Beta", "Vector"],
    "howsure.calibration.recalibration.isotonic": ["Isotonic", "IsotonicPlatt"],
    "howsure.calibration.recalibration.histogram": ["Histogram", "HistogramPlatt"],
    "howsure.calibration.recalibration.methods": ["load"],
}
PAPER = {
    "howsure.calibration.paper": ["adaptive_bins", "calibration_mse", "calibration_error", "calibration_interval"],
}
SECTION = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", re.M)


def pages() -> dict[str, str]:
    """Name of page -> Markdown."""
    public = [n for n in howsure.__all__ if n != "__version__"]
    verbs = [n for n in public if inspect.isfunction(getattr(howsure, n))]
    errors = [n for n in public if inspect.isclass(getattr(howsure, n)) and issubclass(getattr(howsure, n), Exception)]
    posteriors = [n for n in public if n.endswith("Posterior")]
    models = {"CorefModel", "CalibratedClassifier"}
    results = [n for n in public if inspect.isclass(getattr(howsure, n)) and n not in {*errors, *posteriors, *models}]
    lm = [
        "train",
        "load",
        "perplexity",
        "compare",
        "prob",
        "next",
        "rank",
        "study",
        "generate",
        "corrector",
        "check",
    ]
    made = {
        "verbs": ("Verbs", "The functions of `import howsure`; the shell has the same.", {"howsure": verbs}),
        "results": ("Results", "What the verbs return. All are frozen; `to_dict()` is what `--json` prints.", {"howsure": results}),
        "posteriors": ("Posteriors", "Things one can ask, whatever made their scores.", {"howsure": posteriors}),
        "language-models": ("howsure.lm and howsure.english", "Verbs with verbs of their own.", {"howsure.lm": lm, "howsure.english": list(howsure.english.__all__)}),
        "models": ("Models", "What the training verbs return and load.", MODELS),
        "recalibrators": ("Recalibrators", "With scikit-learn's interface.", RECALIBRATION),
        "paper": ("The paper to the letter", "To reproduce published numbers; [theory](../theory.md) says why they are not the default.", PAPER),
        "errors": ("Errors", "One line each; the shell prints it and exits with status 2.", {"howsure": errors}),
    }  # fmt: skip
    texts = {f"reference/{name}": page(*given) for name, given in made.items()}
    lines = ["# Reference", "", "```python", "import howsure", "```", ""]
    lines += [
        f"- [{title}]({name}.md): {said.replace('../theory', '../theory')}" for name, (title, said, _) in made.items()
    ]
    lines += ["", "```{toctree}", ":hidden:", "", *made, "```"]
    return texts | {"reference/index": "\n".join(lines) + "\n"}


def page(title: str, said: str, members: dict[str, list[str]]) -> str:
    """A page with the members of some modules."""
    parts = [f"# {title}\n\n{said}\n"]
    for module, names in members.items():
        home: Any = howsure.lm if module == "howsure.lm" else import_module(module)
        for name in names:
            thing = getattr(home, name)
            parts.append(
                class_entry(module, name, thing)
                if inspect.isclass(thing)
                else entry("function", f"{module}.{name}", thing)
            )
    return "\n".join(parts)


def class_entry(module: str, name: str, cls: type) -> str:
    """A class with its fields, and its public methods and properties in the order of the source."""
    body = prose(inspect.getdoc(cls) or "") if cls.__doc__ and not cls.__doc__.startswith(f"{name}(") else ""
    if is_dataclass(cls):
        body += "\n\nFields: " + ", ".join(f"`{f.name}`" for f in fields(cls) if not f.name.startswith("_")) + ".\n"
    for inner, thing in vars(cls).items():
        if inner.startswith("_"):
            continue
        if isinstance(thing, property) or type(thing).__name__ == "cached_property":
            if inspect.getdoc(thing):
                body += "\n" + directive("property", inner, prose(inspect.getdoc(thing) or ""), 5)
        elif isinstance(thing, classmethod | staticmethod) or inspect.isfunction(thing):
            function = getattr(thing, "__func__", thing)
            if inspect.getdoc(function):
                body += "\n" + entry("method", inner, function, 5, bound=not isinstance(thing, staticmethod))
    constructed = "" if is_dataclass(cls) or issubclass(cls, Exception) else signature(cls.__init__, True)  # type: ignore[misc]
    return directive("class", f"{module}.{name}{constructed}", body, 7)


def entry(kind: str, name: str, function: Any, fence: int = 6, *, bound: bool = False) -> str:
    """A function or method: its signature and docstring."""
    return directive(kind, name + signature(function, bound), prose(inspect.getdoc(function) or ""), fence)


def directive(kind: str, signature: str, body: str, fence: int) -> str:
    """A description that the index and the search know."""
    return f"{'`' * fence}{{py:{kind}}} {signature}\n\n{body}\n{'`' * fence}\n"


def signature(function: Any, bound: bool) -> str:
    """Names and defaults, without types: the docstring says what goes in."""
    given = list(inspect.signature(function).parameters.values())[1 if bound else 0 :]
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in given]
    return str(inspect.Signature(plain)).replace("\n", " ")


def prose(docstring: str) -> str:
    """Markdown of a docstring: sections as headings in bold, parameters as definitions, examples as code."""
    pieces = SECTION.split(docstring)
    made = [paragraphs(pieces[0])]
    for name, text in zip(pieces[1::2], pieces[2::2], strict=True):
        if name == "Examples":
            body = f"```pycon\n{text.strip()}\n```"
        elif name in {"Parameters", "Returns", "Attributes", "Raises"}:
            body = definitions(text)
        else:
            body = paragraphs(text)
        made.append(f"**{name}**\n\n{body}")
    return "\n\n".join(made)


def definitions(text: str) -> str:
    """`name : type` with an indented description, as a definition list."""
    made = []
    for block in re.split(r"\n(?=\S)", text.strip("\n")):
        head, _, rest = block.partition("\n")
        name, colon, kind = head.partition(" : ")
        term = f"`{name}`" + (f": {escaped(kind)}" if colon else "")
        said = " ".join(escaped(rest).split())
        made.append(f"{term}\n: {said}\n" if said else f"- {escaped(head)}\n")
    return "\n".join(made)


def paragraphs(text: str) -> str:
    """Prose, with indented lines kept as they are: formulas and examples."""
    blocks = re.split(r"\n\s*\n", text.strip("\n"))
    return "\n\n".join(b if b.startswith("    ") else escaped(b.strip()) for b in blocks)


def escaped(text: str) -> str:
    """Stars, brackets and angle brackets mean themselves, outside of `code`."""
    pieces = re.split(r"(`[^`\n]*`)", text)
    pieces[::2] = [re.sub(r"([*<\[\]|])", r"\\\1", p) for p in pieces[::2]]
    return "".join(pieces)
