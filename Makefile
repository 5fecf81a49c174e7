# make demo   set everything up and run the main job        make test   set everything up and run the tests
# make env    only set up                                    make bench  speed beside the peers, one run
# make docs   the site, in build/site                          make fuzz   100,000 mutated inputs for every reader (an hour)
# make lint   format, lint and type checks                   make coverage  the simulations of docs/evidence/theory.md (hours)
# make minimal   every command that needs no extra, in an environment without any
# make synthetic-docs    docs/evidence/synthetic.md and its figures
# make reproduction-docs    every experiment, and docs/evidence/reproduction.md (an hour; what is done is not done again)
# Studies on the corpora of HOWSURE_DATA:
# make classifier-study  the table of docs/guides/classify.md
# make tagger-study      docs/studies/taggers-study.md
# make coref-study       docs/studies/coref-study.md
# make english-model     train the English pipeline (about an hour on a core; goes on where it stopped); english-scores  score it
# make english-coref     train the coreference weights that ship, on automatic parses, and score them
# make count-study     the tables of counts in docs/evidence/theory.md, and docs/tutorial-count.md (an hour)
# make lm-study          docs/studies/lm-study.md
# make muc-study         docs/studies/muc-study.md                  make stories  the embedded stories' parses, after a new model
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: env demo test quick minimal fuzz lint docs bench coverage synthetic-docs reproduction-docs clean
.PHONY: classifier-study
.PHONY: tagger-study
.PHONY: coref-study
.PHONY: english-model english-vectors english-scores english-coref
.PHONY: muc-study stories
.PHONY: lm-study count-study

# A stamp per set of packages: a second run installs nothing, a changed pyproject.toml installs again.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("howsure needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[test]'
	@touch $@ $(VENV)/.base

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[docs]'
	@touch $@ $(VENV)/.base

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[bench]'
	@touch $@ $(VENV)/.base

env: $(VENV)/.base

demo: $(VENV)/.base
	@echo "Report: howsure-report.html (open it in a browser)"
	@$(BIN)/howsure check --demo --groups document --by tag --html howsure-report.html
	@$(BIN)/howsure explore

test: $(VENV)/.test
	$(BIN)/python tests/compiled.py
	$(BIN)/python -m pytest -n 2 --durations 15 -rs

fuzz: $(VENV)/.test
	$(BIN)/python -m tests.fuzzing

# Without extras, in an environment of its own.
minimal:
	rm -rf build/lib build/minimal
	$(PYTHON) -m venv build/minimal
	build/minimal/bin/python -m pip install --quiet --disable-pip-version-check .
	build/minimal/bin/python tests/minimal.py

# The habit while working: neither Spark, nor a browser, corpora, simulations or what took over 0.15 s (tests/slow.txt).
quick: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --quick

lint: $(VENV)/.test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

docs: $(VENV)/.docs
	$(BIN)/python docs/site/make_site.py

bench: $(VENV)/.bench
	$(BIN)/python bench/speed/check_speed.py
	$(BIN)/python bench/speed/crowd_speed.py
	$(BIN)/python bench/speed/evaluation_speed.py
	$(BIN)/python bench/speed/chain_speed.py
	$(BIN)/python bench/speed/tree_speed.py
	$(BIN)/python bench/speed/coref_speed.py
	$(BIN)/python bench/speed/explore_speed.py
	$(BIN)/python bench/speed/lm_speed.py

coverage: $(VENV)/.test
	$(BIN)/python bench/coverage/interval_coverage.py --write
	$(BIN)/python bench/coverage/few_and_unequal.py --write
	$(BIN)/python bench/coverage/gate_rates.py --write
	$(BIN)/python bench/coverage/comparison_level.py --write
	$(BIN)/python bench/coverage/pit_coverage.py --write
	$(BIN)/python bench/coverage/agreement_coverage.py --write
	$(BIN)/python bench/coverage/curve_bands.py 200 --write
	$(BIN)/python bench/coverage/recalibration_gain.py 400 --write
	$(BIN)/python bench/coverage/significance_level.py --small --write
	$(BIN)/python bench/coverage/crowd_posteriors.py --write
	$(BIN)/python bench/coverage/significance_level.py --write

synthetic-docs: $(VENV)/.base
	$(BIN)/python bench/writers/write_experiment_page.py synthetic

reproduction-docs: $(VENV)/.test
	$(BIN)/howsure reproduce all --out build/reproduction
	$(BIN)/python bench/writers/write_reproduction_page.py build/reproduction

classifier-study: $(VENV)/.test
	$(BIN)/python bench/studies/classifier_study.py --write

tagger-study: $(VENV)/.base
	$(BIN)/python bench/studies/tagger_study.py

coref-study: $(VENV)/.base
	$(BIN)/python bench/studies/coref_study.py

english-model: $(VENV)/.test
	$(BIN)/python bench/studies/english_training.py build/english --export src/howsure/english/model

# The word vectors that ship, from GloVe under HOWSURE_DATA.
english-vectors: $(VENV)/.test
	$(BIN)/python bench/studies/english_vectors.py

english-scores: $(VENV)/.test
	$(BIN)/python bench/studies/english_scores.py --write

english-coref: $(VENV)/.test
	$(BIN)/python bench/studies/coref_training.py src/howsure/english/model/coref.npz
	$(BIN)/python bench/studies/english_coref.py --write
	$(BIN)/python bench/studies/english_gap.py --write

# The study of docs/studies/muc-study.md, and the parses of the embedded stories after a new English model.
muc-study: $(VENV)/.test
	$(BIN)/python bench/studies/muc_study.py

stories: $(VENV)/.test
	$(BIN)/python bench/writers/write_stories.py

count-study: $(VENV)/.test
	$(BIN)/python bench/coverage/count_coverage.py overall stopping cells groups --write
	$(BIN)/python bench/writers/write_count_tutorial.py

lm-study: $(VENV)/.base
	$(BIN)/python bench/studies/lm_study.py

clean:
	rm -rf $(VENV) build dist
