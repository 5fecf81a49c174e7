"""Antecedent posteriors, clusterings and mention ranking."""
