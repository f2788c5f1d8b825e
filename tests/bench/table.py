"""Every benchmark, in the order of docs/benchmarks.md."""

from tests.bench import fleet_scale, mmap_latency, numa_maps_fold, pod_resources, sampler_cost, sampler_simulate
from tests.bench.benchmark import Benchmark

BENCHMARKS: tuple[Benchmark, ...] = (
    sampler_cost.BENCHMARK,
    sampler_simulate.BENCHMARK,
    mmap_latency.BENCHMARK,
    numa_maps_fold.BENCHMARK,
    pod_resources.BENCHMARK,
    fleet_scale.BENCHMARK,
)
