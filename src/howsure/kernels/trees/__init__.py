"""Kernels of trees: spanning trees, projective trees, charts of a grammar, and the features of a parser.

Each kernel is written once: compiled for real work, interpreted for a little of it on a fresh machine.
"""
