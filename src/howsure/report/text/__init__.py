"""Results in words and tables, at most 80 columns wide: what the shell prints."""
