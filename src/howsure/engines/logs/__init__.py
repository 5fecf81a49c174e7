"""Logs of language-model evaluations as tables: which files, which records, what each says, and the table they make."""
