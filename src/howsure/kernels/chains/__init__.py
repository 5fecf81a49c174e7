"""Linear chains and CRF training."""
