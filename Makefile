# Two commands matter: `make run` serves this host, `make test` proves the tree. `make help` lists the rest.

VENV   ?= .venv
PYTHON ?= python3
BIN    := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help run demo dashboards test unit lab image-test e2e-kubernetes lint bench sampler-simulate docs proto lock tools clean

help: ## this list
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

run: $(VENV)/.run ## serve this host on :10062
	$(BIN)/numa-exporter serve

demo: $(VENV)/.run ## a simulated machine where a placement drifts, with Prometheus and Alertmanager if installed
	$(BIN)/python -m deploy.demo

test: $(VENV)/.test tools lint ## everything that proves the tree (as root it installs Debian's test tools)
	$(PYTEST) -n 3 --dist loadgroup -m "not image and not e2e"

unit: $(VENV)/.test ## the fast tests: no virtual machine, no browser, no servers
	$(PYTEST) -m "not lab and not real and not browser and not image and not e2e" -n 2

lab: $(VENV)/.test tools ## the virtual NUMA machines alone
	$(PYTEST) tests/lab -m lab

image-test: $(VENV)/.test ## build the image with buildah and run it by podman with the DaemonSet's rights (root)
	@tests/tools.sh tests/apt-packages tests/apt-packages-image
	$(PYTEST) tests/deploy -m image

e2e-kubernetes: $(VENV)/.test ## the chart on a real node (root); builds Kubernetes once from Debian's source package
	@tests/tools.sh tests/apt-packages tests/apt-packages-e2e
	E2E=1 $(PYTEST) tests/kubernetes/e2e -m e2e

lint: $(VENV)/.test ## ruff and mypy --strict
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.test ## measure against named peers; writes docs/benchmarks.md (a quarter of an hour)
	@tests/tools.sh tests/apt-packages tests/apt-packages-bench
	$(BIN)/python -m tests.bench

sampler-simulate: $(VENV)/.test ## how far the page sampler errs on address spaces with known truth (20 minutes)
	$(BIN)/python -m tests.bench sampler_error

docs: $(VENV)/.test ## print docs/metrics.md, docs/findings.md and docs/flags.md from code
	$(BIN)/python -m numa_exporter.cli.docs docs

proto: $(VENV)/.test ## print the stubs of the kubelet's APIs from their .proto files
	$(BIN)/python -m pip install --quiet --editable '.[proto]'
	$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. numa_exporter/formats/podresources.proto \
		numa_exporter/formats/cri.proto tests/kubernetes/e2e/deviceplugin.proto

lock: $(VENV)/.test ## print requirements.lock, what the image installs, from pyproject.toml
	deploy/lock.sh $(BIN)/python

dashboards: $(VENV)/.test ## print grafana/*.json from code
	$(BIN)/python grafana/build.py

tools:
	@tests/tools.sh

clean: ## remove what make made
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[test,lint,browser,deploy,grafana,proto]'
	@touch $@ $(VENV)/.run
