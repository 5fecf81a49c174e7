"""Compiles every kernel that this machine has not compiled yet, on two cores: tests in two processes would compile most of them twice."""

from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from pkgutil import iter_modules

import howsure.kernels


def compiled(package):
    """Compile the kernels of a package's own modules: kernels that share pieces stand together, and compile these once."""
    names = [m.name for m in iter_modules(import_module(package).__path__, f"{package}.") if not m.ispkg]
    for name in names:
        import_module(name)
    from howsure.kernels.compiling import KERNELS, is_cached, ready

    missing = [k for name in names for k in KERNELS.get(name, ()) if not is_cached(k)]
    ready(*missing)
    return len(missing)


if __name__ == "__main__":
    top = howsure.kernels
    packages = [m.name for m in iter_modules(top.__path__, f"{top.__name__}.") if m.ispkg]
    with ProcessPoolExecutor(2) as pool:
        done = sum(pool.map(compiled, [*reversed(packages), top.__name__]))  # those of trees, which take longest, first
    if done:
        print(f"{done} kernels compiled")
