"""Simulated machines: kernel files, driver answers and clocks made from a small declarative scenario.

A simulated host is a recording that is written while it is read: ReplayHost opens it like any bundle, and every real
source, the join and the findings run on it. Everything is a function of the scenario, a seed and the moment.
"""
