"""Samples with the moments at which they were true: OpenMetrics for `promtool tsdb create-blocks-from openmetrics`."""

from collections.abc import Iterator, Mapping

from numa_exporter.metrics.exposition import Families

END = b"# EOF\n"


def samples(found: Families, at: float, target: Mapping[str, str]) -> bytes:
    """Every sample of one look, stamped ``at`` (unix time), with the labels that a scrape would have given its target.

    Without HELP and TYPE, which a block does not keep.
    """
    return "".join(_lines(found, f"{at:.3f}", target)).encode()


def _lines(found: Families, stamp: str, target: Mapping[str, str]) -> Iterator[str]:
    yield _line("up", target, 1, stamp)
    for metric in found.metrics:
        for sample in metric.samples:
            yield _line(sample.name, {**sample.labels, **target}, sample.value, stamp)


def _line(name: str, labels: Mapping[str, str], value: float, stamp: str) -> str:
    text = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
    return f"{name}{{{text}}} {float(value)!r} {stamp}\n"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
