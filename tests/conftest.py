"""Shared fixtures, and the reasons why a test is skipped."""

import atexit
import gc
import os
import shutil
import sys
from pathlib import Path

# Before NumPy loads: a worker for each core, whose matrices are small. Threads of BLAS would wait for one another, spinning.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("howsure", deadline=None, max_examples=60, derandomize=True, print_blob=True)
settings.load_profile("howsure")
# Hundreds of processes are started here: without bytecode each of them would compile all modules that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


collect_ignore = ["spark_daemon.py"]  # nothing to collect, and it loads all that Spark's workers need

SLOW, LONG = 0.15, 2  # seconds, of a test and of a group of tests
SLOW_LIST = Path(__file__).with_name("slow.txt")  # seconds of each long group; then files, with names of slow functions


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="neither Spark, browser, corpora, simulations nor slow tests")
    parser.addoption(
        "--write-slow",
        action="store_true",
        help=f"list tests that took over {SLOW} s as slow; with --quick, add to the list",
    )


def listed():
    """The seconds of long groups, and the functions that are slow: (file, name)."""
    lines = [line.split() for line in SLOW_LIST.read_text().splitlines()]
    seconds = {names[0]: int(first) for first, *names in lines if first.isdigit()}
    return seconds, {(file, name) for file, *names in lines if not file.isdigit() for name in names}


class Timing:
    """Adds up what each test takes, with what it sets up, and writes the list at the end; what was not run stays in it.

    Once a test is left out, another one has to set up what they share: with `adds`, the list grows until nothing slow is left.
    """

    def __init__(self, adds):
        self.adds, self.took = adds, {}

    def pytest_runtest_logreport(self, report):
        self.took[report.nodeid] = self.took.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self):
        seconds, slow = listed()
        found = {tuple(name.split("[")[0].split("::", 1)) for name, took in self.took.items() if took > SLOW}
        run = {name.split("::")[0] for name in self.took}
        found |= {(file, name) for file, name in slow if self.adds or file not in run}
        if not self.adds:
            groups = dict.fromkeys(map(group_of, self.took), 0.0)
            for name, took in self.took.items():
                groups[group_of(name)] += took
            seconds |= {group: round(took) for group, took in groups.items()}
        files = {}
        for file, name in sorted(found):
            files.setdefault(file, [file]).append(name)
        long = sorted(((took, group) for group, took in seconds.items() if took >= LONG), reverse=True)
        SLOW_LIST.write_text("".join(" ".join(map(str, line)) + "\n" for line in [*long, *files.values()]))


def pytest_configure(config):
    if config.option.write_slow and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Timing(adds=config.option.quick))


def group_of(nodeid):
    """What one worker gets: a file, whose tests share what they set up, or all tests that share the session of Spark."""
    return "spark" if "spark" in nodeid else nodeid.split("::")[0]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Modules and tests stay to the end: garbage is not looked for while they are made, and later not among them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)  # what is left at the end is told as a leak


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return group_of(nodeid)

    config.option.loadscopereorder = False  # in the order below
    return Groups(config, log)


def pytest_collection_modifyitems(config, items):
    data = os.environ.get("HOWSURE_DATA")
    present = data is not None and Path(data).is_dir()
    # What takes longest comes first, so that all workers end together; of what is not listed, these.
    slowest = ("spark", "browser", "corpus", "simulation")
    seconds, slow = listed()
    rank = {}
    for item in items:
        if item.get_closest_marker("corpus") and not present:
            item.add_marker(pytest.mark.skip(reason="HOWSURE_DATA does not name a folder of corpora"))
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
            assert "spark" in item.nodeid, f"{item.nodeid} must be named as a test on Spark: workers get it by its name"
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
        place = next((i for i, name in enumerate(slowest) if item.get_closest_marker(name)), len(slowest))
        group = group_of(item.nodeid)
        rank[group] = min(place, rank.get(group, place))
    items.sort(key=lambda item: (-seconds.get(group := group_of(item.nodeid), 0), rank[group], group))
    if config.option.quick:
        names = {"::".join(one) for one in slow}
        left_out = {i for i in items if i.nodeid.split("[")[0] in names or any(map(i.get_closest_marker, slowest))}
        config.hook.pytest_deselected(items=left_out)
        items[:] = [i for i in items if i not in left_out]


@pytest.fixture(scope="session")
def corpora():
    return Path(os.environ["HOWSURE_DATA"])


@pytest.fixture(scope="session")
def skewed():
    """33,306 pairs, as many as the paper's tokens: q from Beta(.3, .3), overconfident by a logit factor of 0.8."""
    rng = np.random.default_rng(2015)
    q = rng.beta(0.3, 0.3, 33_306)
    p = 1 / (1 + ((1 - q) / q) ** 0.8)
    return (rng.random(len(q)) < p).astype(np.int64), q


@pytest.fixture(scope="session")
def spark():
    """A real session of Spark on two cores of this machine, with two attempts a task, made as howsure makes it; started once, at first use."""
    pytest.importorskip("pyspark", reason="PySpark is not installed")
    from howsure.engines.spark.session import java_version, session
    from howsure.errors import InputError

    try:
        java_version()
    except InputError as error:
        pytest.skip(str(error))
    # Little is run often, and much of the start is spent on verifying the classes of Spark's own jars.
    flags = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    # Room from the start: growing would collect all garbage each time, and compiled code would be thrown out.
    flags += "-XX:MetaspaceSize=300m -Xms600m -Xmn350m -XX:ReservedCodeCacheSize=200m -XX:-UseCodeCacheFlushing"
    quick = f'--driver-java-options "{flags}" '
    quick += "--conf spark.python.daemon.module=tests.spark_daemon "
    # Queries of a few rows: Java is neither written nor compiled for each, and a shuffle has a few pieces.
    quick += "--conf spark.sql.codegen.wholeStage=false --conf spark.sql.codegen.factoryMode=NO_CODEGEN "
    quick += "--conf spark.sql.shuffle.partitions=4 pyspark-shell"
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1]))
        patch.setenv("PYTHONPATH", str(Path(__file__).parents[1]), prepend=os.pathsep)
        patch.setenv("PYSPARK_SUBMIT_ARGS", os.environ.get("PYSPARK_SUBMIT_ARGS", quick))
        with session("local[2,2]") as made:
            yield made


@pytest.fixture(scope="session")
def chromium():
    """A browser, started once, at first use; tests open contexts of their own in it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-sync", "--disable-component-update"]
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found, args=flags)
        yield made
        made.close()
