"""What is drawn: bins, smooth curves and the consistency band."""
