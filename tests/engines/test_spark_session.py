"""A session of Spark: found or made, quiet, and errors of its executors in one line."""

import os
import stat
import sys
import warnings

import pyarrow as pa
import pytest

from howsure.engines.spark import session as spark_session
from howsure.engines.spark.session import Jobs, checked_master, explained, java_version, map_in_arrow, session
from howsure.errors import InputError, MissingExtra

LETTERS = pa.table({"a": ["x", "y", "z"]})


def mapped(spark, function, schema="a string"):
    with Jobs(spark) as jobs:
        return jobs.result(map_in_arrow(spark.createDataFrame(LETTERS), function, schema).collect)


def told(spark, function):
    with pytest.raises(InputError) as caught:
        mapped(spark, function)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def test_workers_have_this_python_and_this_howsure(spark):
    def where(batches):
        import howsure

        for _ in batches:
            yield pa.RecordBatch.from_pydict(
                {"a": [f"{sys.executable} {howsure.__file__} {os.environ['OMP_NUM_THREADS']}"]}
            )

    import howsure

    assert {row.a for row in mapped(spark, where)} == {f"{sys.executable} {howsure.__file__} 1"}


def test_workers_collect_no_garbage_among_what_they_imported(monkeypatch):
    done = []
    monkeypatch.setattr(spark_session.atexit, "register", lambda at_end: done.append("at the end"))
    for frozen in (0, 7):
        for name in ("collect", "freeze"):
            monkeypatch.setattr(spark_session.gc, name, lambda name=name: done.append(name))
        monkeypatch.setattr(spark_session.gc, "get_freeze_count", lambda frozen=frozen: frozen)
        assert list(spark_session._on_worker(reversed, [1, 2])) == [2, 1]
        assert done == ["collect", "freeze", "at the end"]


def test_the_running_session_is_used_and_left_running(spark):
    with session() as found, session("local[2]") as named:
        assert found.sparkContext is spark.sparkContext
        assert named.sparkContext is spark.sparkContext
    assert spark.range(3).count() == 3
    with (
        pytest.raises(
            InputError, match=r"`master='local\[1\]'`: a Spark session with the master local\[2,2\] is running"
        ),
        session("local[1]"),
    ):
        pass


def test_nothing_of_the_session_is_open_to_the_network(spark):
    conf = dict(spark.sparkContext.getConf().getAll())
    assert conf["spark.driver.host"] == conf["spark.driver.bindAddress"] == "127.0.0.1"
    assert spark.sparkContext.uiWebUrl is None


def test_an_input_error_of_a_worker_is_told_as_if_it_was_raised_here(spark):
    def bad(batches):
        raise InputError('`y_prob` must lie in [0, 1]; got 1.3 in row 17 (column "score").')
        yield from batches

    assert told(spark, bad) == '`y_prob` must lie in [0, 1]; got 1.3 in row 17 (column "score").'


def test_other_errors_of_a_worker_are_one_line(spark):
    def broken(batches):
        for batch in batches:
            yield 1 // (len(batch) - len(batch))

    def absent(batches):
        import no_such_package

        yield no_such_package

    assert told(spark, broken) == "a task failed on Spark: ZeroDivisionError: integer division or modulo by zero."
    assert (
        told(spark, absent) == "the Python of Spark's executors has no no_such_package; install howsure there as here."
    )


def test_a_worker_that_always_dies_is_told(spark):
    def dying(batches):
        os.kill(os.getpid(), 9)
        yield from batches

    assert told(spark, dying) == (
        "Spark gave up: a Python worker ended 2 times while it worked on the same task (out of memory?)."
    )


def test_a_path_that_is_not_there_is_told(spark, tmp_path):
    with Jobs(spark) as jobs, pytest.raises(InputError, match=r"Spark failed: \[PATH_NOT_FOUND\].*nowhere\.$"):
        jobs.result(lambda: spark.read.parquet(str(tmp_path / "nowhere")))


def test_an_error_of_our_own_in_a_job_is_not_hidden(spark):
    with Jobs(spark) as jobs, pytest.raises(KeyError, match="mistake"):
        jobs.result(lambda: {}["mistake"])


def test_what_runs_is_cancelled_at_the_end(spark):
    def slow(batches):
        import time

        for batch in batches:
            time.sleep(60)
            yield batch

    with Jobs(spark, 2) as jobs:
        running = jobs.submit(map_in_arrow(spark.createDataFrame(LETTERS), slow, "a string").collect)
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            assert not running.done()
    with pytest.raises(InputError, match="cancelled"):
        running.result()


def test_lost_executors_are_told():
    class Py4JJavaError(Exception):
        pass

    said = (
        "An error occurred while calling o1.collectToPython.\n: org.apache.spark.SparkException: Job aborted due to stage failure: Task 3 in stage 1.0 "
        "failed 4 times, most recent failure: Lost task 3.3 in stage 1.0 (TID 9) (10.0.0.7 executor 2): ExecutorLostFailure (executor 2 exited)\n\tat x"
    )
    assert str(explained(Py4JJavaError(said))) == (
        "Spark gave up: an executor was lost 4 times while it worked on the same task (out of memory?)."
    )


def test_the_message_is_found_wherever_it_is_wrapped():
    java = "An error occurred while calling o9.x.\n: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 2.0 failed 2 times, most recent "
    java += "failure: Lost task 0.1 in stage 2.0 (TID 5) (10.0.0.7 executor 1): org.apache.spark.api.python.PythonException: [PYTHON_EXCEPTION] An exception was thrown "
    java += 'from the Python worker: Traceback (most recent call last):\n  File "a.py", line 11, in g\n    raise E\n{}\n SQLSTATE: 38000\n\tat org.apache.Spark(x.scala:1)\n'
    assert str(explained(Exception(java.format("howsure.errors.InputError: row 17 is bad")))) == "row 17 is bad"
    assert (
        str(explained(Exception(java.format("ValueError: one\ntwo")))) == "a task failed on Spark: ValueError: one two."
    )
    plain = "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File x\n"
    assert (
        str(explained(Exception(plain + "a.b.OddError: one\ntwo"))) == "a task failed on Spark: a.b.OddError: one two."
    )
    assert (
        str(explained(Exception("\n[SOME_CLASS] It is so. SQLSTATE: 42K03"))) == "Spark failed: [SOME_CLASS] It is so."
    )
    assert str(explained(Exception(""))) == "Spark failed: Exception."


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("local", "local[1,4]"),
        ("local[2]", "local[2,4]"),
        ("local[*]", "local[*,4]"),
        ("local[2, 1]", "local[2,1]"),
        ("yarn", "yarn"),
        ("spark://a:7077,b:7077", "spark://a:7077,b:7077"),
    ],
)
def test_masters(given, taken):
    assert checked_master(given) == taken


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("locl[2]", "`master=` must be"),
        ("local[0]", "a core"),
        ("sc://host", "Spark Connect"),
        ("", "`master=` must be"),
    ],
)
def test_masters_that_are_none(given, said):
    with pytest.raises(InputError, match=said):
        checked_master(given)


def test_a_master_that_is_not_there_is_told_at_once():
    with pytest.raises(InputError, match=r"`master='spark://127.0.0.1:9'` cannot be reached: Connection refused\."):
        spark_session._check_reachable("spark://127.0.0.1:9")
    with pytest.raises(InputError, match="must be spark://host:port"):
        spark_session._check_reachable("spark://nowhere")


def test_java_that_is_missing_or_too_old(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"needs Java 17 or later, and JAVA_HOME \(.*\) holds no bin/java"):
        java_version()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    for version, major in (('java version "1.8.0_292"', 8), ('openjdk version "11.0.2" 2019-01-15', 11)):
        java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
        java.chmod(java.stat().st_mode | stat.S_IXUSR)
        with pytest.raises(InputError, match=f"bin/java is Java {major}"):
            java_version()
    java.write_text("#!/bin/sh\necho 'openjdk version \"21.0.1\"' >&2\n")
    assert java_version()[1] == 21
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="there is no `java` on the PATH"):
        java_version()


@pytest.mark.parametrize("package", ["pyspark", "pandas"])
def test_a_package_that_is_missing(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"needs {package}: pip install 'howsure\[spark\]'"), session():
        pass


def test_only_the_warning_about_pandas_is_silenced():
    with warnings.catch_warnings(record=True) as said, spark_session.quiet():
        warnings.warn("PySpark does not yet fully support pandas >= 3.0.0.", FutureWarning, stacklevel=1)
    assert said == []
    with pytest.warns(FutureWarning, match="another"), spark_session.quiet():
        warnings.warn("another", FutureWarning, stacklevel=1)
