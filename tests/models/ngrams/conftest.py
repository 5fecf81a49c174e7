"""A little text of our own."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

NOUNS = ["fox", "hen", "farmer", "barn", "moon", "river", "old fox", "red hen"]
VERBS = ["saw", "chased", "left", "liked", "met"]


@pytest.fixture(scope="session")
def sentences():
    import numpy as np

    rng = np.random.default_rng(11)
    made = []
    for _ in range(150):
        a, b = (NOUNS[int(i)] for i in np.minimum(rng.geometric(0.3, 2) - 1, len(NOUNS) - 1))
        verb = VERBS[int(min(rng.geometric(0.4) - 1, len(VERBS) - 1))]
        made.append(f"the {a} {verb} a {b}" if rng.random() < 0.7 else f"a {b} {verb}")
    return made
