"""From a corpus to the tables of an exploration: documents in, blocks done here, in processes or on Spark, parts of the results out."""
