"""Predictive distributions of continuous outcomes: PIT values, bands, shift and spread, and their result."""
