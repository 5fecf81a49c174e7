"""One system's labels against gold: confusion, metrics with intervals, spans, and their result."""
