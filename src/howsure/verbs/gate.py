"""The gate of `howsure check --fail-above`: an error held against a bound."""

from howsure.calibration.gate import RULES as RULES
from howsure.calibration.gate import Gate as Gate
