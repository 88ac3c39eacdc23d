PYTHON ?= python3
BIN := .venv/bin

.PHONY: on-linux run package test fast-tests test-live test-browser test-client test-deploy test-failover test-hosts test-machines lint schema settings messages texts lock upgrade wheels bench figures
.DEFAULT_GOAL := run
# The tests start many programs: each module of them is compiled once.
unexport PYTHONDONTWRITEBYTECODE
# One process more than there are cores, since some wait for seconds. The tests of a file that starts
# servers stay in one process, which starts them once.
PROCESSES := -n $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n < 4 ? n + 1 : 4)))
PARALLEL := $(PROCESSES) --dist loadfile

run: .venv/.installed
	@exec $(BIN)/python -m config.run

# The linters beside the tests that need no server of their own.
test: .venv/.installed-tests
	@$(MAKE) --no-print-directory -j2 lint fast-tests

fast-tests: .venv/.installed-tests
	$(BIN)/python -m pytest $(PROCESSES) --dist worksteal $(COVERAGE)

# What starts servers, waits out an outage or fills tables by the hundred thousand.
test-live: .venv/.installed-tests
	$(BIN)/python -m pytest $(PARALLEL) -m live $(COVERAGE)

# A person's walk through the pages, in Debian's chromium; screenshots/ shows what it saw.
test-browser: .venv/.installed-browser
	$(BIN)/python -m pytest $(PARALLEL) -m browser tests/browser

# The npm package of the pages' client, as a tarball in dist/; its types come from docs/openapi.json.
package:
	rm -rf dist && mkdir dist
	cd tests/client && npm ci --no-audit --no-fund --silent && npm run --silent package

# The pages' scripts compiled and checked by a linter; a typed client made from the schema, walking against
# a running server; a front-end on an origin of its own, in Debian's chromium; the npm package, installed.
# (package.json overrides rollup by its WebAssembly build: one package, where the other has one for each platform.)
test-client: .venv/.installed-browser package
	cd tests/client && npm run --silent use-package
	cd tests/client/mcp && npm ci --no-audit --no-fund --silent
	cd tests/client/scripts && npm ci --no-audit --no-fund --silent
	node --test tests/client/*.test.mjs
	$(BIN)/python -m pytest $(PARALLEL) -m client tests/client

# The files of deploy/ at work: nginx in front of two processes, and the systemd units.
test-deploy: on-linux .venv/.installed-tests
	$(BIN)/python -m pytest -m deploy tests/deploy

# Servers die and others take over; Debian's pgbouncer stands in between, its redis-server speaks TLS.
test-failover: on-linux .venv/.installed-tests
	$(BIN)/python -m pytest -m failover tests/failover

# Three hosts in network namespaces of their own, over one PostgreSQL and one Redis.
test-hosts: on-linux .venv/.installed-tests
	$(BIN)/python -m pytest -m hosts tests/hosts

# Fresh Debians with systemd, on which the guides' commands are typed as they stand. DEBIAN=bookworm is Debian 12;
# a folder named by MACHINES keeps what debootstrap made.
test-machines: on-linux .venv/.installed-tests
	$(BIN)/python -m pytest -m machines tests/machines

on-linux:
	@$(if $(filter Linux,$(shell uname)),,$(error $(MAKECMDGOALS) needs Linux))

# The schema as a file; a test fails while it differs from what the code says.
schema: .venv/.installed
	$(BIN)/python manage.py shell --no-imports -c "from api.schema import openapi_json; print(openapi_json().decode(), end='')" > docs/openapi.json

# The settings' values and defaults in docs/configuration.md; a test fails while they differ from the code's.
settings: .venv/.installed
	$(BIN)/python -m tests.config.settings_table

# Compile every translation, after a change of a .po file; a test fails while they differ.
messages: .venv/.installed-tests
	$(BIN)/python -c "import pathlib, polib; [polib.pofile(str(po)).save_as_mofile(str(po.with_suffix('.mo'))) for top in ('locale', 'pages', 'assistants') for po in pathlib.Path(top).rglob('*.po')]"

# Every text of the mails and pages in three languages, side by side, for proofreading.
texts: .venv/.installed-tests
	@$(BIN)/python -m tests.texts

# Pin what pyproject.toml asks for, and what that needs, with hashes. `make lock` keeps the other pins that still fit,
# which uv reads from the file that it writes; `make upgrade` takes the newest release of each.
lock upgrade: .venv/.installed-tests
	cp requirements.txt .venv/requirements.txt
	$(BIN)/uv pip compile --universal --generate-hashes --python-version 3.11 --no-header --annotation-style line --quiet $(if $(filter upgrade,$@),--upgrade) --output-file .venv/requirements.txt pyproject.toml
	(echo "# The full set for running. Made by \`make lock\` from pyproject.toml."; cat .venv/requirements.txt) > requirements.new
	mv requirements.new requirements.txt

# Check that every pinned package has a wheel for each Python and platform that is supported.
wheels: .venv/.installed-tests
	@set -e; for python in 3.11 3.12 3.13 3.14; do for platform in x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu aarch64-apple-darwin; do \
	    echo "Python $$python on $$platform"; wheels="--quiet --only-binary :all: --python-version $$python --python-platform $$platform"; \
	    $(BIN)/uv pip install --dry-run --target .venv/none --no-deps --require-hashes $$wheels -r requirements.txt; \
	    $(BIN)/uv pip compile --output-file .venv/wheels.txt $$wheels .venv/tests.txt; done; done

# A few minutes; `make bench OPTIONS=--json` for a machine, `OPTIONS=--help` for the rest.
bench: .venv/.installed-tests
	@$(BIN)/python -m benchmarks $(OPTIONS)

# The table of releases in docs/performance.md, from what `make bench` has saved in benchmarks/figures.
figures: .venv/.installed-tests
	@$(BIN)/python -m benchmarks.releases

# The full set for running, again only when the pins change. Nothing else is needed (--no-deps): of a package with
# hashes, pip finds `pydantic` and `pydantic[email]` to be two.
.venv/.installed: requirements.txt
	@echo "Installing what requirements.txt names into .venv. This takes about a minute."
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.txt
	touch $@

# What the tests add stands in pyproject.toml, in the dependency group `test`.
.venv/.installed-tests: .venv/.installed pyproject.toml
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['test'], sep='\n')" > .venv/tests.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r .venv/tests.txt
	touch $@

.venv/.installed-browser: .venv/.installed-tests
	$(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['browser'], sep='\n')" > .venv/browser.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r .venv/browser.txt
	touch $@

lint: .venv/.installed-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy .
	$(BIN)/lint-imports || (echo "An app imports from one above it: see the layers in docs/architecture.md."; exit 1)
	$(BIN)/python -W error manage.py makemigrations --check --dry-run || (echo "A model has changed: run .venv/bin/python manage.py makemigrations, and see CONTRIBUTING.md."; exit 1)
