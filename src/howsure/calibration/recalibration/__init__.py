"""Recalibrators: the methods, what they share, and how the best is chosen. Nothing here reads files."""
