"""Every benchmark, in the order of docs/benchmarks.md."""

from tests.bench import (
    fleet_scale,
    freshness,
    mmap_latency,
    numa_maps_fold,
    pod_resources,
    resident_memory,
    sampler_cost,
    sampler_simulate,
    scrape_latency,
    tick_cost,
)
from tests.bench.benchmark import Benchmark

BENCHMARKS: tuple[Benchmark, ...] = (
    tick_cost.BENCHMARK,
    scrape_latency.BENCHMARK,
    resident_memory.BENCHMARK,
    freshness.BENCHMARK,
    sampler_cost.BENCHMARK,
    sampler_simulate.BENCHMARK,
    mmap_latency.BENCHMARK,
    numa_maps_fold.BENCHMARK,
    pod_resources.BENCHMARK,
    fleet_scale.BENCHMARK,
)
