# `make` or `make help` lists the targets.

PYTHON ?= python3
BIN := .venv/bin
WAREHOUSE := demo
HIVE := tests/integration/hive
HIVE_BUILD := build/hive

# What the caller's shell says about other Pythons and Sparks must not reach ours.
unexport PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX
unexport SPARK_HOME SPARK_CONF_DIR PYSPARK_PYTHON PYSPARK_DRIVER_PYTHON

.DEFAULT_GOAL := help
.PHONY: help demo demo-tpch test check unit unit-first unit-second interop interop-hive3 interop-hive4 interop-trino interop-soak goldens bench bench-txn soak picture clean java

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: java .venv/.installed ## Change a small table step by step, and see what each statement does on disk
	@rm -rf '$(WAREHOUSE)' && mkdir -p '$(WAREHOUSE)'
	@# What Java and Spark say while they start goes to a file; after a failure it is shown.
	@$(BIN)/acidsql run --show-layout --warehouse '$(WAREHOUSE)' examples/employee.sql \
	  2>'$(WAREHOUSE)/_stderr' || { status=$$?; cat '$(WAREHOUSE)/_stderr' >&2; exit $$status; }
	@echo 'Nobody needs the old directories any more. The cleaner removes them:'
	@echo
	@echo "> acidsql service --once --warehouse $(WAREHOUSE)"
	@$(BIN)/acidsql service --once --warehouse '$(WAREHOUSE)'
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
	@echo '- A compaction joined the directories, and the cleaner removed those that no reader needs.'

demo-tpch: java .venv/.installed ## Load TPC-H lineitem, change 1 % of it, compare the answers with DuckDB's
	$(BIN)/python examples/tpch.py

test: java check ## Run the checks and all tests
	$(BIN)/python -m pytest -q

check: .venv/.installed ## Format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: .venv/.installed ## Run the tests that need no Spark, no Java and no database
	@$(MAKE) -s -j 2 unit-first unit-second

# One beside the other: about as long as each other.
UNIT := $(BIN)/python -m pytest -q --hypothesis-profile=unit -m "not postgres and not sqlite and not thorough"
FIRST := $(addprefix tests/unit/,backends/metastore engines grammar layout orc planner)

unit-first:
	$(UNIT) acidsql $(FIRST)

unit-second:
	$(UNIT) grammar_tests tests/unit $(addprefix --ignore ,$(FIRST))

interop: java .venv/.installed $(HIVE_BUILD)/4/.built $(HIVE_BUILD)/3/.built build/trino/.built ## Share tables with Hive 4.0.1, Hive 3.1.3 and Trino 476; needs Maven
	$(MAKE) -j 2 interop-hive3 interop-hive4
	$(MAKE) interop-trino

# One beside the other: each has one statement at work at a time, in its Hive or its Spark.
interop-hive3:
	$(BIN)/python -m pytest -q -m "hive and not thorough" -k hive3 --durations 12 $(HIVE)

interop-hive4:
	$(BIN)/python -m pytest -q -m "hive and not thorough" -k "not hive3" --durations 12 $(HIVE)

interop-trino: java .venv/.installed $(HIVE_BUILD)/4/.built build/trino/.built
	$(BIN)/python -m pytest -q -m trino $(HIVE)

interop-soak: java .venv/.installed $(HIVE_BUILD)/4/.built $(HIVE_BUILD)/3/.built ## Run every test of make interop on both Hives
	$(BIN)/python -m pytest -q -m hive $(HIVE)

build/trino/.built: $(HIVE)/runner/trino.sh
	$(HIVE)/runner/trino.sh '$(CURDIR)/build/trino' '$(CURDIR)/$(BIN)/python'
	@touch $@

$(HIVE_BUILD)/%/.built: $(wildcard $(HIVE)/runner/* $(HIVE)/runner/hive*/*)
	@command -v mvn >/dev/null && command -v javac >/dev/null || { \
	  echo "Maven and a JDK are needed: install maven and openjdk-17-jdk-headless." >&2; \
	  exit 1; }
	$(HIVE)/runner/build.sh $* '$(CURDIR)/$(HIVE_BUILD)/$*'
	@touch $@

goldens: java .venv/.installed ## Rewrite the goldens of grammar_tests and tests/logic; review the diff
	ACIDSQL_REWRITE_GOLDENS=1 $(BIN)/python -m pytest -q grammar_tests tests/logic

soak: java .venv/.installed ## Run random statements, processes and faults for a long time
	ACIDSQL_SOAK_STEPS=100 $(BIN)/python -m pytest -q tests/property/test_*_machine.py
	ACIDSQL_SOAK_STEPS=60 $(BIN)/python -m pytest -q -m "thorough or not thorough" tests/history
	$(BIN)/python -m pytest -q -m "thorough and not hive" --ignore tests/history tests

bench: java .venv/.installed ## Measure against plain ORC, Delta and Iceberg; rewrite the table of the docs
	$(BIN)/python benchmarks/bench.py

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
	$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[test]'
	@touch $@
