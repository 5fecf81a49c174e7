"""Text classifiers and how they are fitted."""
