"""Spark's parent of Python workers that has imported what they need: tests end many workers, and each would import it again."""

import gc

import pandas  # noqa: F401  (which PyArrow asks for)
import pyarrow.compute  # noqa: F401
import scipy.sparse
import scipy.special  # noqa: F401
from pyspark.daemon import manager

import howsure.calibration.comparing.difference
import howsure.calibration.groups.estimates
import howsure.engines.scored
import howsure.engines.spark.rows
import howsure.evaluation
import howsure.exploring.spark  # noqa: F401

if __name__ == "__main__":
    gc.freeze()  # workers collect garbage after each task, and would look through all that was imported
    manager()
