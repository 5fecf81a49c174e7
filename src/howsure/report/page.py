"""A self-contained page: no network, nothing from the data run as markup or code.

Templates escape every value; charts travel as JSON with `<`, `>` and `&` escaped; a Content-Security-Policy admits
the page's own scripts by their hash and nothing else.
"""

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from howsure._version import __version__
from howsure.errors import InputError
from howsure.files import user_cache, write_whole
from howsure.plots.vega import drawable


def render(
    template: str,
    charts: dict[str, dict[str, Any]],
    *,
    scripts: Sequence[str] = (),
    styles: Sequence[str] = (),
    connect: str = "'none'",
    **values: Any,
) -> bytes:
    """Fill a template of this folder; `charts` are drawn into the elements of those ids.

    A page may bring files of its own: `scripts` (which may draw as well) and `styles`; `connect` is whom it may ask.
    """
    code = [*([_bundle()] if charts or scripts else []), *map(_own, ("page.js", *scripts))]
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in code)
    policy = f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    style = Markup("".join(_own(name) for name in ("page.css", *styles)))
    own = {"policy": policy, "style": style, "scripts": [Markup(s) for s in code], "version": __version__}
    html = _environment().get_template(template).render(**values, **own, charts=embedded(drawable(charts)))
    return html.encode()


def embedded(value: Any) -> Markup:
    """JSON that is safe inside a script element."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=True)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


@cache
def _environment() -> jinja2.Environment:
    loader, strict = jinja2.FunctionLoader(_own), jinja2.StrictUndefined
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=strict, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(number=number, percent=lambda x: f"{100 * x:g}%", commas=lambda x: f"{x:,}")
    environment.filters.update(headline=headline, statistic=statistic, signed=lambda x: f"{x:+z.4f}")
    return environment


def number(value: float | None, places: int = 4) -> str:
    """A number for people, never -0.0000; a dash where there is none."""
    return "–" if value is None else f"{value:z.{places}f}"


def headline(verdict: str) -> Markup:
    """The first sentence as the heading, the others as a list below it."""
    first, *rest = re.split(r"(?<=\.)\s+", verdict.strip())
    points = Markup("").join(Markup("<li>{}</li>").format(sentence) for sentence in rest)
    return Markup("<h1>{}</h1>").format(first) + (Markup('<ul class="said">{}</ul>').format(points) if rest else "")


def statistic(value: float | None) -> str:
    """A test's statistic; beyond a million only that it is beyond."""
    if value is None:
        return "beyond measure"
    return f"{value:.4g}" if abs(value) <= 1e6 else "> 1e6" if value > 0 else "< -1e6"


@cache
def _own(name: str) -> str:
    return (files("howsure.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, from vl-convert: it takes seconds to make, so that it is kept."""
    kept = user_cache("pages") / f"vega-{version('vl-convert-python')}.js"
    with suppress(OSError, ValueError):
        return kept.read_text(encoding="utf-8")
    import vl_convert

    # A closing tag inside the bundle would end the script element early.
    bundle: str = vl_convert.javascript_bundle().replace("</script", "<\\/script")  # type: ignore[call-arg]
    with suppress(OSError, InputError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, bundle.encode())
    return bundle
