"""Rows that depend on one another: sums per group, and the cluster-robust estimates made from them."""
