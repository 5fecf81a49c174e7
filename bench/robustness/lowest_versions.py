"""The lowest versions of all packages that the metadata allow, installed together, and the quick tests of the main paths with them.

python bench/robustness/lowest_versions.py [FOLDER]      (a virtual environment is made there; build/lowest by default)
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = [
    "tests/verbs/test_scales.py",
    "tests/verbs/test_classes_as_given.py",
    "tests/verbs/test_compare_files.py",
    "tests/cli/test_lm.py",
    "tests/cli/test_tagger.py",
    "tests/cli/test_classify.py",
    "tests/cli/test_recalibrate.py",
    "tests/plots",
    "tests/report/test_calibration_page.py",
    "tests/engines/test_shapes.py",
    "tests/engines/test_files.py",
    "tests/models/test_saved.py",
    "tests/english/test_parsing.py",
    "tests/events/test_export.py",
    "tests/verbs/test_calibrated_classifier.py",
    "tests/kernels",
    "tests/posteriors",
]
# The check of weights that scikit-learn 1.6 brings makes other labels of shuffled rows; SciPy 1.13 has its functions in other modules.
NOT = ["test_scikit_learns_checks_of_recalibrators", "test_what_is_used_does_not_import_the_package"]


def pins():
    """Every package of the base and of the extras for one machine, at its lower bound; what tests need beside them, free."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    bounded = [*project["dependencies"], *extras["plot"], *extras["models"], *extras["text"]]
    free = ["pytest", "pytest-xdist", "hypothesis", "pandas>=2.2.2,<2.3", "polars"]
    return [d.replace(">=", "==") for d in bounded] + free


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "lowest"
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "--quiet", *pins()], check=True)
    marks = "not spark and not browser and not corpus and not simulation"
    chosen = ["-m", marks, "-k", " and ".join(f"not {t}" for t in NOT)]
    command = [python, "-m", "pytest", *chosen, "-W", "ignore::DeprecationWarning", *TESTS]
    return subprocess.run(command, cwd=ROOT, env={"PYTHONPATH": "src", "PATH": "/usr/bin:/bin"}).returncode


if __name__ == "__main__":
    sys.exit(main())
