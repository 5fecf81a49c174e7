"""Text, n-gram counts, tries and edits, compiled."""
