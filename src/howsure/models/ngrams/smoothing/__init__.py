"""One file a family of smoothings; each writes its probabilities in back-off form (see `form.py`)."""
