"""Labels against labels: confusion, P/R/F, spans, significance, agreement, crowds, splits."""
