"""One reader per format of annotated text, and the named corpora found through HOWSURE_DATA."""
