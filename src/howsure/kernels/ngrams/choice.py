"""The n-gram kernels by name: `kernel(name, work)`, the work in bytes, tokens or nodes."""

from howsure.kernels.choice import by_name, chosen
from howsure.kernels.ngrams import counts_compiled, scores_compiled, text_ids_compiled

_KERNELS = by_name(text_ids_compiled, counts_compiled, scores_compiled)
kernel = chosen(_KERNELS, 2_000)
