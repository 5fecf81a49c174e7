"""A posterior is a thing you can ask: classes, tag chains, antecedents; exact queries, samples, temperature."""
