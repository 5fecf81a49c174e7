"""Documents with coreference: CoNLL-2012, GUM, OntoGUM, GAP, JSON lines."""
