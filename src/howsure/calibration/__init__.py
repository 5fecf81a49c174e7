"""Everything computed from a sketch of (label, probability) pairs: bins, errors, decompositions, tests."""
