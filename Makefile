# Every rule is one command that also works without make.
PYTHON ?= python3
ARGS ?=

.PHONY: demo test test-all docs bench clean

demo:   ## real data, a real broker, real consumers, strategies compared; a back-test
	@$(PYTHON) tools/bootstrap.py demo $(ARGS)

test:   ## the checks of every change: lint, types, layers, docs, unit, laws, real broker, Spark, browser
	@$(PYTHON) tools/bootstrap.py test $(ARGS)

test-all: ## all checks: also every Python, long searches, the full demo, kill points, calibration
	@$(PYTHON) tools/bootstrap.py test-all $(ARGS)

docs:   ## the documentation as a site: docs/_build/html/index.html
	@$(PYTHON) tools/bootstrap.py docs $(ARGS)

bench:  ## time to plan, compared with kafka-python and (with a JDK) Java, about 50 minutes; ARGS=pipeline: Spark
	@$(PYTHON) tools/bootstrap.py bench $(ARGS)

clean:  ## remove the files that the other rules made
	rm -rf .venv-demo .venv-tox .tox out build docs/_build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
