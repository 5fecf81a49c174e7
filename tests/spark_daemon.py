"""Spark's parent of Python workers that has imported what they need: tests end many workers, and each would import it again."""

from pyspark.daemon import manager

import howsure.engines.scored
import howsure.engines.spark.rows  # noqa: F401

if __name__ == "__main__":
    manager()
