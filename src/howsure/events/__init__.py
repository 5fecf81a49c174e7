"""From parsed documents to counts over time: lexicons, event rules, document posteriors, periods."""
