"""Parsers that say how sure they are: arc-factored dependencies, and a probabilistic grammar."""
