"""When to answer: the confidence above which the share of wrong answers is shown to be small."""
