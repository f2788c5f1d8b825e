"""Accept and Accept-Encoding with their weights."""

import pytest

from numa_exporter.agent.negotiate import takes_gzip, wants_open_metrics

OPEN = "application/openmetrics-text"


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        ("", False),
        ("*/*", False),
        ("text/plain", False),
        (OPEN, True),
        (f"{OPEN};version=1.0.0,{OPEN};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", True),
        (f"text/plain;version=0.0.4, {OPEN}; q=0.5", False),
        (f"{OPEN};q=0", False),
        (f"{OPEN};q=0.5, */*;q=0.9", False),
        (f"{OPEN}; q=nonsense", False),
        ("APPLICATION/OpenMetrics-Text", True),
        (",;,=;q", False),
    ],
)
def test_open_metrics_where_nothing_is_liked_better(accept: str, wanted: bool) -> None:
    assert wants_open_metrics(accept) is wanted


@pytest.mark.parametrize(
    ("encoding", "taken"),
    [
        ("", False),
        ("gzip", True),
        ("gzip;q=0", False),
        ("br, *", True),
        ("*;q=0", False),
        ("identity, gzip; q=0.5", True),
    ],
)
def test_gzip_where_it_is_taken(encoding: str, taken: bool) -> None:
    assert takes_gzip(encoding) is taken
