"""N-gram language models: vocabulary, counts, smoothing, evaluation and use, one idea a file."""
