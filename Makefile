# One command each; on a fresh clone they need Python 3.11 or newer, make and a package index.
#
#   make book        run every notebook that is out of date and build the site: _build/html/index.html
#   make check       fail if a number or a trend that a paper prints has moved
#   make test        style, then the tests that take seconds
#   make test-slow   the tests that take longer
#   make bench       compare accountants, denoisers and inversion with others, side by side (not part of the tests)
#   make train-public  train the public denoisers of PROFILE again, or go on where it stopped (hours on a CPU)
#   make train-clip  train the small model of icons and captions again, or go on where it stopped
#   make train-text-to-image  train the bundled text-to-image model again, or go on where it stopped (hours)
#   make emoji icons  make the bundled atlases again from npm packages, PACKAGES=.../node_modules
#   make serve       look at the site on this machine, port 8000
#   make sync        bring each notebook and its .py text together, the newer one wins
#   make lock        resolve requirements.lock again from pyproject.toml (LOCK_FLAGS=--upgrade for newer versions)
#   make clean       remove what builds leave behind, except .venv
#
# PROFILE=smoke|embedded|cifar10|paper picks the parameters, CORES=n the number of cores.

PYTHON ?= python3
PROFILE ?= embedded
CORES ?= $(shell n=$$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2); [ "$$n" -gt 8 ] && n=8; echo $$n)
LOCK_FLAGS ?=

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check
# A file that is touched is out of date, also where its content stayed the same; pages are rebuilt after an interruption.
SNAKEMAKE := $(BIN)/python -m privlib.pipeline.unlock && PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/snakemake -c$(CORES) \
	--max-checksum-file-size 0 --rerun-incomplete --quiet rules host --config profile=$(PROFILE) --

.DEFAULT_GOAL := book
.PHONY: book check test test-slow bench train-public train-clip train-text-to-image emoji icons serve sync lock clean

# The stamp is written last: an installation that was interrupted has none and starts over in an empty environment.
$(INSTALLED): requirements.lock
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed; set PYTHON=...")'
	@if [ -e $@ ]; then rm -f $@; else $(PYTHON) -m venv --clear $(VENV); fi
	$(PIP) install --requirement requirements.lock
	$(PIP) install --no-deps --editable .
	@touch $@

book: $(INSTALLED)
	$(SNAKEMAKE) book

check: $(INSTALLED)
	$(SNAKEMAKE) check

test: $(INSTALLED)
	$(BIN)/ruff check .
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow" -n $(CORES) --dist worksteal

test-slow: $(INSTALLED)
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m slow -n $(CORES) --dist worksteal

bench: $(INSTALLED)
	$(BIN)/python -m tests.benchmarks

train-public: $(INSTALLED)
	$(BIN)/python -m privlib.training $(PROFILE)

train-clip: $(INSTALLED)
	$(BIN)/python -m privlib.pipeline.train_clip

train-text-to-image: $(INSTALLED)
	$(BIN)/python -m privlib.training.text_to_image

emoji: $(INSTALLED)
	$(BIN)/python -m privlib.data.emoji_atlases $(PACKAGES) privlib/assets/emoji

icons: $(INSTALLED)
	$(BIN)/python -m privlib.data.icon_atlases $(PACKAGES) privlib/assets/icons

serve: book
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory _build/html 8000

sync: $(INSTALLED)
	$(BIN)/jupytext --quiet --sync notebooks/*/*.py
	$(BIN)/python -m privlib.pipeline.pairs --strip notebooks

# uv resolves for every platform at once, which pip cannot; it is needed only here and so is not in the lock file.
lock:
	$(PYTHON) -m venv _build/uv
	_build/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	_build/uv/bin/uv pip compile --universal --python-version 3.11 --all-extras --no-header $(LOCK_FLAGS) \
		--output-file requirements.lock pyproject.toml
	@{ echo "# Exact versions for every platform, resolved from pyproject.toml with all extras. Renew with: make lock"; \
		cat requirements.lock; } > _build/requirements.lock && mv _build/requirements.lock requirements.lock

clean:
	rm -rf _build .snakemake .pytest_cache .ruff_cache .hypothesis
