"""`make demo`: the simulated machine of `numa-exporter demo`, watched by a real Prometheus and Alertmanager."""
