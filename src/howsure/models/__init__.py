"""Models that are fitted, saved without pickle, loaded, and give posteriors."""
