"""numa_exporter: which GPU workloads run against the grain of their machine."""

__version__ = "0.1.0"
