"""A standalone cluster of Spark on loopback: the numbers of one machine, with an executor and a worker killed in mid-job."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench" / "robustness"))

pytestmark = pytest.mark.spark  # a cluster of its own beside the session of the other tests


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_a_lost_executor_and_a_lost_worker_change_no_number(tmp_path, monkeypatch):
    pytest.importorskip("pyspark")
    from howsure import InputError
    from howsure.engines.spark.session import java_version

    try:
        java_version()
    except InputError as error:
        pytest.skip(str(error))
    import cluster

    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))  # executors get this path
    monkeypatch.setitem(cluster.CONF, "spark.python.daemon.module", "tests.spark_daemon")
    cluster.tables(tmp_path, 16_000, parts=4)
    # All commands: bench/robustness/cluster.py. HOWSURE_CLUSTER=check,compare,… asks for them here.
    with cluster.cluster() as made:
        for name in os.environ.get("HOWSURE_CLUSTER", "check").split(","):
            difference, killed, _ = cluster.trial(made, name, tmp_path)
            assert difference <= 1e-12
            assert killed  # at least an executor
