# Everything runs in .venv, made on first use. Only Python 3.11, pip, make and git are needed.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
EXTRAS ?= torch,jax,tensorflow,testing,accuracy,report,llm,docs
SHELL := /bin/bash

MLX := examples/mlx_target

.PHONY: run test test-all lint types lines unit old-python pythons cluster soak example elsewhere bench docs wheel clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip

# Stamps say what is installed; they are older than pyproject.toml whenever that changes.
$(VENV)/.run: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[torch]"
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS),dev]"
	touch $@ $(VENV)/.run

run: $(VENV)/.run  ## fuzz PyTorch for a minute on all cores and write the report
	$(BIN)/gradfuzz run torch --time 1m || test $$? -eq 1
	$(BIN)/gradfuzz findings
	$(BIN)/gradfuzz report

test: $(VENV)/.test lint types lines old-python unit example  ## lint, types, the rooms, the oldest Python, all tests

test-all: test  ## and those that take minutes each
	$(BIN)/pytest -n 2 -m slow

lint: $(VENV)/.test
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples

types: $(VENV)/.test
	$(BIN)/mypy

lines: $(VENV)/.test
	$(BIN)/lint-imports --no-logo 2>/dev/null || $(BIN)/lint-imports

old-python: $(VENV)/.test
	$(BIN)/python tests/old_python.py

pythons: $(VENV)/.test  ## the worker's side under every Python that is installed, 3.9 and newer
	$(BIN)/python tests/old_python.py --all

# What fails beside another test is run once more by itself: a test that starves on a slow machine passes then, and both runs are shown.
unit: $(VENV)/.test
	$(BIN)/pytest -n 2 --durations=15 || { echo "Once more, one at a time, what failed:"; $(BIN)/pytest --last-failed --last-failed-no-failures=none; }

cluster: $(VENV)/.test  ## campaigns on a Ray cluster of two nodes on this machine, whose nodes and driver are killed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[ray]"
	$(BIN)/pytest -m slow tests/cluster

# In an environment of its own: with it installed, MLX would be one of the targets of the tests above.
$(MLX)/.venv/.test: pyproject.toml constraints.txt $(MLX)/pyproject.toml
	$(PYTHON) -m venv $(MLX)/.venv
	$(MLX)/.venv/bin/pip install --quiet --constraint constraints.txt 'mlx[cpu]' pytest --editable '.[testing,accuracy]' --editable $(MLX)
	touch $@

example: $(MLX)/.venv/.test  ## the tests of the target that comes from a package of its own
	cd $(MLX) && .venv/bin/python -m pytest

# Libraries that cannot live beside the others have interpreters of their own, made once and outside the clone (gigabytes): `make test` uses
# them where they are and says so where they are not.
ELSEWHERE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/gradfuzz/tests

$(ELSEWHERE)/paddle/.made:
	$(PYTHON) -m venv $(ELSEWHERE)/paddle
	$(ELSEWHERE)/paddle/bin/pip install --quiet paddlepaddle==3.3.1 numpy pytest
	touch $@

$(ELSEWHERE)/oneflow/.made:
	python3.10 -m venv $(ELSEWHERE)/oneflow
	$(ELSEWHERE)/oneflow/bin/pip install --quiet oneflow==0.9.0 'numpy<2' nvidia-cublas-cu11==11.10.3.66 nvidia-cudnn-cu11==8.5.0.96 pytest
	touch $@

elsewhere: $(ELSEWHERE)/paddle/.made $(ELSEWHERE)/oneflow/.made  ## interpreters with PaddlePaddle and OneFlow, for their targets' tests

bench: $(VENV)/.test  ## the tables of docs/benchmarks.md
	$(BIN)/python benchmarks/gradcheck_ratio.py
	$(BIN)/python benchmarks/torch_share.py
	$(BIN)/python benchmarks/sensitivity.py
	$(BIN)/python benchmarks/record_cost.py
	$(BIN)/python benchmarks/report_size.py
	-$(BIN)/python benchmarks/throughput.py 44903aa 6000 0.7
	-$(BIN)/python benchmarks/campaign_rate.py 96a2eaa
	$(BIN)/python benchmarks/minigrad_alarms.py 10000
	-$(BIN)/python benchmarks/check_gradients_cost.py
	$(BIN)/python benchmarks/jax_check_grads_ratio.py 12
	$(BIN)/python benchmarks/tensorflow_compute_gradient_ratio.py 8 50
	$(BIN)/python benchmarks/scale_simulation.py record build/costs.jsonl
	$(BIN)/python benchmarks/scale_simulation.py simulate build/costs.jsonl 1 10 100 1000 10000

soak: $(VENV)/.test  ## an hour in which nothing may grow
	$(BIN)/python benchmarks/soak.py torch 1h

$(VENV)/.docs: $(BIN)/python pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[docs]" \
		|| { echo "make docs needs mkdocs-material and mkdocstrings-python: pip install 'gradfuzz[docs]'" >&2; exit 1; }
	touch $@

docs: $(VENV)/.docs  ## the documentation as a site, in build/site; every link is followed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m tests.house.links build/site

wheel: $(VENV)/.test
	$(BIN)/python -m build --wheel

clean:
	rm -rf $(VENV) $(MLX)/.venv build dist *.egg-info
