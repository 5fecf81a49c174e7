"""Compiles every kernel that this machine has not compiled yet, on two cores: tests in two processes would compile most of them twice."""

from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pkgutil import iter_modules

PARTS = ("trees", "chains", "ngrams", "coreference", "")  # what takes longest comes first; "": kernels in no folder


def compiled(part):
    """Compile a folder's kernels, those it shares with others once."""
    package = import_module("howsure.kernels" + (part and f".{part}"))
    names = [module.name for module in iter_modules(package.__path__, f"{package.__name__}.") if not module.ispkg]
    for name in names:
        import_module(name)
    from howsure.kernels.compiling import KERNELS, is_cached, ready

    missing = [k for name in names for k in KERNELS.get(name, ()) if not is_cached(k)]
    ready(*missing)
    return len(missing)


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        done = sum(pool.map(compiled, PARTS))
    if done:
        print(f"{done} kernels compiled")
