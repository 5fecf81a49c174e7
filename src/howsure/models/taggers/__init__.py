"""HMM and CRF taggers: features, training, files, and the temperature of a chain."""
