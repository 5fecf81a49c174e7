"""Models made to do harm: what does not fit together is refused when it is opened, in one line."""

import json

import numpy as np
import pytest

import howsure.verbs.lm as lm
from howsure.errors import InputError
from howsure.models.classifiers import TextClassifier
from howsure.models.coreference.features import DIMENSIONS, templates
from howsure.models.coreference.network import Network
from howsure.models.coreference.ranker import CorefModel
from howsure.models.ngrams.model import LanguageModel
from howsure.models.saved import HEADER
from howsure.models.taggers.crf import Crf
from howsure.verbs.load import load
from howsure.verbs.tagger import train_tagger

SENTENCES = "the\tDT\nblue\tJJ\ndog\tNN\nsees\tVB\n\na\tDT\nriver\tNN\nsings\tVB\n\n" * 6


def words_and_starts():
    return ["the", "blue", "river", "sees", "unknown"], [0, 5]


KINDS = {
    "crf": load,
    "hmm": load,
    "classifier": TextClassifier.load,
    "coref": CorefModel.load,
    "ngrams": LanguageModel.load,
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "a.txt").write_text(SENTENCES)
    for kind in ("crf", "hmm"):
        train_tagger(
            folder / "a.txt", method=kind, l2=1.0 if kind == "crf" else None, pseudocount=None if kind == "crf" else 1.0
        ).save(folder / f"{kind}.npz")
    rng = np.random.default_rng(0)
    about = {"method": "logistic", "tokens": "words"}
    TextClassifier(("a", "b", "c"), ("no", "yes"), rng.normal(size=(3, 2)), rng.normal(size=2), about).save(
        folder / "classifier.npz"
    )
    weights = rng.normal(size=1 << 10).astype(np.float32)
    network = Network.started(DIMENSIONS, len(templates().relation), 2, rng)
    CorefModel(weights, network, frozenset(["dog", "river"]), templates(), settings={}).save(folder / "coref.npz")
    (folder / "b.txt").write_text("the dog sees the river\nthe river sings\na dog sings\n" * 3)
    lm.train(str(folder / "b.txt"), order=3).save(folder / "ngrams.npz")
    return folder


def opened(models, kind):
    with np.load(models / f"{kind}.npz") as file:
        arrays = {n: file[n] for n in file.files}
    return json.loads(bytes(arrays.pop(HEADER))), arrays


def refused(folder, kind, about, arrays, what=""):
    path = folder / "crafted.npz"
    np.savez(path, **{HEADER: np.frombuffer(json.dumps(about).encode(), np.uint8)}, **arrays)
    said = None
    try:
        KINDS[kind](path)
    except InputError as error:
        said = str(error)
    assert said is not None, f"{what} was taken"
    assert "\n" not in said


@pytest.mark.parametrize("kind", KINDS)
def test_models_that_are_whole_come_back(models, kind):
    made = KINDS[kind](models / f"{kind}.npz")
    if kind in ("crf", "hmm"):
        assert np.isfinite(made.posterior(*words_and_starts()).marginals()).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_array_is_checked(models, tmp_path, kind):
    about, arrays = opened(models, kind)
    tried = 0
    for name, array in arrays.items():
        wrong = {
            "another axis": array[None],
            "objects of text": array.astype(str),
            "complex": array.astype(complex),
            "wide": array.astype(np.longdouble),
            "the other order of bytes": array.astype(
                array.dtype.newbyteorder(">" if array.dtype.itemsize > 1 else "=")
            ),
            "flags": array.astype(bool),
        }
        if array.dtype.itemsize == 1:
            wrong.pop("the other order of bytes")
        if array.dtype.kind == "f":
            for value in (np.nan, np.inf, 1e35):
                wrong[f"{value}"] = np.where(
                    np.arange(array.size).reshape(array.shape) == array.size // 2, value, array.astype(np.float64)
                )
            wrong["whole numbers"] = np.zeros(array.shape, np.int64)
        elif array.dtype.itemsize > 1 and name != "count":
            for value in (-1, 2**31 - 1):
                changed = array.astype(np.int64)
                changed[len(changed) // 2] = value
                wrong[f"{value}"] = changed
        longer = np.concatenate([array, array[-1:]])
        if not (kind == "coref" and name == "known") and name != "lexicon_words" and len(array):
            wrong |= {"shorter": array[:-1], "longer": longer, "empty": array[:0]}
        if name == "features":
            del wrong["longer"]  # one more name, without a weight
        for what, value in wrong.items():
            refused(tmp_path, kind, about, arrays | {name: value}, f"{name}: {what}")
            tried += 1
        refused(tmp_path, kind, about, {n: a for n, a in arrays.items() if n != name})
    assert tried > 10


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_that_matters_is_checked(models, tmp_path, kind):
    about, arrays = opened(models, kind)
    needed = {
        "crf": ["tags", "templates"],
        "hmm": ["tags"],
        "classifier": ["classes", "tokens", "shares", "unknown", "ngrams"],
        "coref": ["mention_templates", "relation_templates", "crosses", "mentions"],
        "ngrams": ["order", "padding"],
    }[kind]
    for name in needed:
        for value in (None, 7.5, "x", {"a": 1}, [1], ["x", "x"], -1, [["a"]]):
            refused(tmp_path, kind, about | {"settings": about["settings"] | {name: value}}, arrays, f"{name} {value}")
    if kind != "ngrams":
        for value in (0, -1.0, "hot", None, True, [], 1e300, float("nan")):
            refused(tmp_path, kind, about | {"settings": about["settings"] | {"temperature": value}}, arrays)
    for header in (None, [], "x", 7, {}, {"kind": kind}, about | {"settings": None}, about | {"settings": []}):
        refused(tmp_path, kind, header, arrays)


def test_pairs_of_a_crf_are_in_order_and_there_once(models, tmp_path):
    """As it was met: features and tags outside, twice, or out of order made a kernel read elsewhere."""
    about, arrays = opened(models, "crf")
    for name in ("pair_feature", "pair_tag"):
        for at, value in ((0, -1), (-1, 30_000), (3, 2**31 - 1)):
            changed = arrays[name].astype(np.int64)
            changed[at] = value
            refused(tmp_path, "crf", about, arrays | {name: changed})
        refused(tmp_path, "crf", about, arrays | {name: arrays[name][::-1]})
        refused(tmp_path, "crf", about, arrays | {name: np.zeros_like(arrays[name])})


def test_children_of_a_trie_are_of_the_next_order(models, tmp_path):
    about, arrays = opened(models, "ngrams")
    start = arrays["start"]
    for changed in (start[::-1], np.zeros_like(start), np.full_like(start, start[-1]), start + 1):
        refused(tmp_path, "ngrams", about, arrays | {"start": changed})
    for name in ("ends", "bases", "word"):
        refused(tmp_path, "ngrams", about, arrays | {name: arrays[name][::-1].copy()})
        refused(tmp_path, "ngrams", about, arrays | {name: arrays[name] + 1000})


def test_a_damaged_crfsuite_model_is_refused(tmp_path):
    from howsure.models.taggers.crf import read_crfsuite

    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    for _ in range(4):
        trainer.append([["a"], ["b"], ["c"]], ["X", "Y", "X"])
    trainer.train(str(tmp_path / "m.crfsuite"))
    whole = (tmp_path / "m.crfsuite").read_bytes()
    assert isinstance(read_crfsuite(tmp_path / "m.crfsuite"), Crf)
    rng = np.random.default_rng(0)
    n_refused = 0
    for _ in range(300):
        made = bytearray(whole)
        for at in rng.integers(len(made), size=rng.integers(1, 5)):
            made[at] = rng.integers(256)
        (tmp_path / "d.crfsuite").write_bytes(made)
        try:
            found = read_crfsuite(tmp_path / "d.crfsuite")
            made_of = found.posterior_of_features([[["a"], ["b"]]])
            assert np.isfinite(made_of.marginals()).all()
        except InputError:
            n_refused += 1
    assert n_refused


@pytest.mark.parametrize(
    "fitted",
    [
        {"method": "temperature", "fitted": {"slope_": float("nan")}},
        {"method": "temperature", "fitted": {"slope_": "1"}},
        {"method": "isotonic", "fitted": {"x_": [0.0, 1.0], "y_": [0.0, 1.08]}},
        {"method": "isotonic", "fitted": {"x_": [0.0, 1.0], "y_": [-0.5, 1.0]}},
        {"method": "platt", "fitted": {"slope_": [1.0, 2.0], "intercept_": 0.0}},
        {"method": "vector", "n_classes": 10**12, "fitted": {"scale_": [1.0], "shift_": [0.0]}},
        {"method": "temperature", "n_classes": -3, "fitted": {"slope_": 1.0}},
    ],
)
def test_a_recalibrator_yields_probabilities_or_is_refused(tmp_path, fitted):
    from howsure.calibration.recalibration.methods import load

    saved = {"format": "howsure recalibrator", "version": 1, "n_classes": 2, "settings": {}} | fitted
    (tmp_path / "c.json").write_text(json.dumps(saved))
    with pytest.raises(InputError, match="damaged recalibrator"):
        load(tmp_path / "c.json")
