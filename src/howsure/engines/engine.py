"""Where the work runs, as the user chooses it."""

import re
from dataclasses import dataclass

from howsure import _validate
from howsure.errors import InputError
from howsure.kernels.threads import cores, memory_size

KINDS = ("auto", "memory", "files", "spark")
_UNITS = {f"{p}{i}": base**k for i, base in (("", 1000), ("I", 1024)) for k, p in enumerate(("", *"KMGT"))}
LEAST_MEMORY = 256 * 10**6


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine and its settings.

    Parameters
    ----------
    kind : {"auto", "memory", "files", "spark"}
        "memory" reads the columns whole; "files" streams them, bigger than memory; "spark" leaves both to a cluster.
        "auto" takes arrays and frames as they are, streams files, and leaves a Spark data frame to Spark.
    master : str or None
        Of Spark: ``local[2]``, ``spark://host:7077``, ``yarn``. By default the session that is there, or all cores.
    memory : int, str or None
        A bound for what is held at once, such as ``"1GB"``; what exceeds it goes to the temporary folder.
    skip_bad_files : bool
        Leave out files that cannot be read, and say so. By default they are an error.
    """

    kind: str = "auto"
    master: str | None = None
    memory: int | str | None = None
    skip_bad_files: bool = False

    def __post_init__(self) -> None:
        _validate.known(self.kind, KINDS, f"there is no engine {self.kind!r}")
        if self.master is not None and self.kind not in ("auto", "spark"):
            raise InputError("`master=` goes with `engine='spark'`.")
        if self.memory is not None and self.kind == "spark":
            raise InputError("`memory=` bounds this process; Spark's is set by its own configuration.")
        if self.memory is not None:
            bound(self.memory)

    @property
    def is_spark(self) -> bool:
        """Whether Spark is asked for."""
        return self.kind == "spark" or self.master is not None

    @property
    def limit(self) -> int | None:
        """The memory bound in bytes."""
        return None if self.memory is None else bound(self.memory)

    @property
    def budget(self) -> int:
        """Bytes of records to hold before they go to disk."""
        half_of_all = (memory_size() or 1 << 31) // 2
        return (half_of_all if self.limit is None else self.limit) // 12

    @property
    def piece(self) -> int:
        """Bytes of records that a core works on at once; the work takes some ten times as much."""
        return self.budget // (4 * cores())


def bound(memory: int | str) -> int:
    """A number of bytes, from 1GB or 1GiB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?", str(memory).strip().upper())
    if match is None:
        raise InputError(f"`memory=` must be a size such as 500MB or 4GB; got {memory!r}.")
    size = int(float(match[1]) * _UNITS[match[2]])
    if size < LEAST_MEMORY:
        raise InputError(f"`memory=` must be 256MB at least; got {memory}.")
    return size


def engine_of(given: Engine | str | None) -> Engine:
    """An engine from its name, or as it is."""
    if given is None:
        return Engine()
    return given if isinstance(given, Engine) else Engine(given)
