"""Coreference scores, and the counts that all of them are made of."""
