"""Write the goldens again, after a change that is meant to show in them:

    python -m tests.goldens --write                  (all but Spark's lines of errors)
    python -m tests.goldens --write check compare    (those whose names begin so)
    python -m tests.goldens --write "errors spark"   (needs Spark)

Run it from the repository's folder, and look at what `git diff tests/goldens` shows.
"""

import sys
import tempfile
from contextlib import nullcontext

from tests.goldens import frozen

if "--write" not in sys.argv:
    sys.exit(__doc__)
wanted = tuple(a for a in sys.argv[1:] if a != "--write") or ("",)
on_spark = "errors spark" in wanted
if on_spark:
    from howsure.engines.spark.session import session

with tempfile.TemporaryDirectory() as folder, session("local[2,2]") if on_spark else nullcontext():
    frozen.write(folder, wanted, on_spark)
