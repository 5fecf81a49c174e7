"""Write docs/NAME.md and its figures in docs/images from an experiment: `python bench/writers/write_experiment_page.py NAME`."""

import sys
from pathlib import Path

import howsure
from howsure.experiments.overview import page
from howsure.files import write_whole
from howsure.plots.vega import rendered

DOCS = Path(__file__).parents[2] / "docs"


def main(name: str) -> None:
    made = howsure.reproduce(name)
    for figure in made.figures:
        write_whole(str(DOCS / "images" / f"{name}-{figure.name}.svg"), rendered(figure.specification, ".svg"))
    command = f"howsure reproduce {name}        # here by make {name}-docs"
    write_whole(str(DOCS / "evidence" / f"{name}.md"), page(made, command, images="../images/").encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
