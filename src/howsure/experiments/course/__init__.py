"""The tables of the course notes."""
