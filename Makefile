# On Windows there is usually no make: `python tools/bootstrap.py lab` does the same.
PYTHON ?= $(shell command -v python3 || command -v python || command -v python3.13 || command -v python3.12 || command -v python3.11)

.PHONY: help lab test lock

help:
	@echo "make lab    set up, then open JupyterLab (ARGS=... is handed to labkit launch)"
	@echo "make test   set up with the test tools, then ruff, mypy, pytest and every notebook"
	@echo "make lock   maintainers: write the lock files from what is installed in .venv"

lab: python
	@"$(PYTHON)" tools/bootstrap.py lab $(ARGS)

test: python
	@"$(PYTHON)" tools/bootstrap.py test

lock:
	@.venv/bin/python -m tools.lock

.PHONY: python
python:
	@test -n "$(PYTHON)" || { echo "labkit needs Python 3.11 or newer, and this machine has no Python. Debian, Ubuntu: sudo apt install python3 python3-venv. macOS: python.org." >&2; exit 1; }
