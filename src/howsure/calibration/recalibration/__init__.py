"""Recalibrators: one file a method, what they share, and how the best is chosen. Nothing here reads files."""
