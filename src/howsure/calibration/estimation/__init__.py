"""From estimation bins to numbers: the calibration error, its interval, tests, bias and decompositions."""
