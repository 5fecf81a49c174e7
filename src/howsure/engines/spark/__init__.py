"""Rows that stay with Spark: its session, tables, rows, jobs and errors."""
