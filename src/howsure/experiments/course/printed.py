"""The tables of numbers that the course notes print, as printed: their digits say how far agreement can be asked for."""

from __future__ import annotations

import numpy as np

from howsure.kernels.cells import Floats, Ints

CLASSES = ("urgent", "normal", "spam")
CONFUSION = ((8, 10, 1), (5, 60, 50), (3, 30, 200))  # system down, gold across (§2.3)
PRECISION = ("0.42", "0.52", "0.86")
POOLED = (268, 99, 99, 635)

# §2.4: items 1, 3 and 8 both have right; A has 70% right and B 50%, so four only A, two only B and one neither.
BOTH, ONLY_A, ONLY_B, NEITHER = 3, 4, 2, 1

WORDS = ("i", "want", "to", "eat", "chinese", "food", "lunch", "spend")
CONTEXTS = (2533, 927, 2417, 746, 158, 1093, 341, 278)  # of the textbook that the notes follow, which print no unigrams
VOCABULARY = 1446
SENTENCE = (-6.9381, -11.0546, -3.1699, -4.2362, -5.0, -2.4426, -8.4246)  # log2 p of each word (figure 2)
BY_ORDER = (962, 170, 109)  # perplexity of orders 1, 2, 3 (§4.5)

COUNTS = """
5 827 0 9 0 0 0 2
2 0 608 1 6 6 5 1
2 0 4 686 2 0 6 211
0 0 2 0 16 2 42 0
1 0 0 0 0 82 1 0
15 0 15 0 1 4 0 0
2 0 0 0 0 1 0 0
1 0 1 0 0 0 0 0
"""
LIKELIEST = """
0.002 0.33 0 0.0036 0 0 0 0.00079
0.0022 0 0.66 0.0011 0.0065 0.0065 0.0054 0.0011
0.00083 0 0.0017 0.28 0.00083 0 0.0025 0.087
0 0 0.0027 0 0.021 0.0027 0.056 0
0.0063 0 0 0 0 0.52 0.0063 0
0.014 0 0.014 0 0.00092 0.0037 0 0
0.0059 0 0 0 0 0.0029 0 0
0.0036 0 0.0036 0 0 0 0 0
"""
LAPLACE = """
0.0015 0.21 0.00025 0.0025 0.00025 0.00025 0.00025 0.00075
0.0013 0.00042 0.26 0.00084 0.0029 0.0029 0.0025 0.00084
0.00078 0.00026 0.0013 0.18 0.00078 0.00026 0.0018 0.055
0.00046 0.00046 0.0014 0.00046 0.0078 0.0014 0.02 0.00046
0.0012 0.00062 0.00062 0.00062 0.00062 0.052 0.0012 0.00062
0.0063 0.00039 0.0063 0.00039 0.00079 0.002 0.00039 0.00039
0.0017 0.00056 0.00056 0.00056 0.00056 0.0011 0.00056 0.00056
0.0012 0.00058 0.0012 0.00058 0.00058 0.00058 0.00058 0.00058
"""
RECONSTITUTED = """
3.8 527 0.64 6.4 0.64 0.64 0.64 1.9
1.2 0.39 238 0.78 2.7 2.7 2.3 0.78
1.9 0.63 3.1 430 1.9 0.63 4.4 133
0.34 0.34 1 0.34 5.8 1 15 0.34
0.2 0.098 0.098 0.098 0.098 8.2 0.2 0.098
6.9 0.43 6.9 0.43 0.86 2.2 0.43 0.43
0.57 0.19 0.19 0.19 0.19 0.38 0.19 0.19
0.32 0.16 0.32 0.16 0.16 0.16 0.16 0.16
"""


def counts() -> Ints:
    """The bigram counts of figure 4."""
    return np.array(COUNTS.split(), dtype=np.int64).reshape(len(WORDS), len(WORDS))


def agreeing(printed: str, ours: Floats) -> tuple[int, list[tuple[str, str, str, float]]]:
    """How many cells are ours rounded; and those that are not: context, word, printed, ours.

    Half a unit of the last printed digit is allowed.

    >>> agreeing("0.33 0.5", np.array([0.3265, 0.56]))[0]
    1
    """
    cells = printed.split()
    right, wrong = 0, []
    for at, (text, value) in enumerate(zip(cells, ours.ravel().tolist(), strict=True)):
        digits = len(text.partition(".")[2])
        if abs(float(text) - value) <= 0.5 * 10.0**-digits * (1 + 1e-9):
            right += 1
        else:
            wrong.append((WORDS[at // len(WORDS)], WORDS[at % len(WORDS)], text, value))
    return right, wrong
