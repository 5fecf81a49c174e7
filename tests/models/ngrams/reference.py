"""Language models the slow way: dictionaries and loops, to check the arrays against."""

import math
from collections import Counter, defaultdict


def grams(sentences, n, *, padding=1):
    """Counts of the n-grams of every order that end in a word or </s>."""
    made = [Counter() for _ in range(n + 1)]
    for s in sentences:
        words = ["<s>"] * padding + s.split() + ["</s>"]
        for i in range(padding, len(words)):
            for k in range(1, n + 1):
                if i - k + 1 >= 0:
                    made[k][tuple(words[i - k + 1 : i + 1])] += 1
    return made


class ModifiedKneserNey:
    """Chen & Goodman's recursion, written as in the paper."""

    def __init__(self, sentences, n):
        counts = grams(sentences, n)
        self.n = n
        self.events = sorted({g[0] for g in counts[1]} | {"<UNK>", "</s>"})
        self.adjusted = [None] * (n + 1)
        self.adjusted[n] = counts[n]
        for k in range(n - 1, 0, -1):
            left = defaultdict(set)
            for g in counts[k + 1]:
                left[g[1:]].add(g[0])
            self.adjusted[k] = {g: len(left[g]) if g in left else c for g, c in counts[k].items()}
        self.discounts = [None, *(self._discounts(self.adjusted[k]) for k in range(1, n + 1))]

    @staticmethod
    def _discounts(adjusted):
        n1, n2, n3, n4 = (sum(c == r for c in adjusted.values()) for r in (1, 2, 3, 4))
        if not (n1 and n2 and n3):
            return (0, 0.5, 1.0, 1.5)
        y = n1 / (n1 + 2 * n2)
        d = (0, 1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        return d if all(0 <= d[i] <= i for i in (1, 2, 3)) else (0, 0.5, 1.0, 1.5)

    def p(self, word, history):
        history = tuple(history)[-(self.n - 1) :] if self.n > 1 else ()
        return self._p(word, history)

    def _p(self, word, history):
        k = len(history) + 1
        d = self.discounts[k]
        after = {g[-1]: c for g, c in self.adjusted[k].items() if g[:-1] == history}
        total = sum(after.values())
        lower = self._p(word, history[1:]) if history else 1 / len(self.events)
        if total == 0:
            return lower
        gamma = sum(d[min(c, 3)] for c in after.values()) / total
        c = after.get(word, 0)
        return (c - d[min(c, 3)]) / total + gamma * lower


def log_prob(model, sentence):
    words = ["<s>", *sentence.split(), "</s>"]
    return sum(math.log(model.p(words[i], words[:i])) for i in range(1, len(words)))
