"""Benchmarks against named peers, each a ratio measured in one run: `python -m tests.bench [NAME…]`.

A benchmark is one file with a BENCHMARK in it, and one line in table.py. What it measured is kept in
docs/benchmarks.json, from which docs/benchmarks.md is printed.
"""
