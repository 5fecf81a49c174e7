"""How many, from a model's probabilities and a few labels: strata, sampling designs, shares and cells with intervals."""
