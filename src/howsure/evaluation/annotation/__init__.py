"""Annotators: agreement, disagreement, crowds, whom to trust, and how many labels are enough."""
