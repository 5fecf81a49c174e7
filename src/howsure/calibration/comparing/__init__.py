"""Models on the same rows: paired differences, with or without groups, and their result."""
