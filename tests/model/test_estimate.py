"""The half-width of sampled shares: what 95 % of binomial samples stay within."""

from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numa_exporter.model.estimate import Part, half_width

SHARES = st.floats(0.0, 1.0)


def coverage(truth: float, samples: int) -> float:
    """Chance that the sample's half-width holds the truth, exactly."""
    held = (
        hits
        for hits in range(samples + 1)
        if abs(hits / samples - truth) <= half_width([Part(1.0, hits / samples, samples)])
    )
    return sum(comb(samples, hits) * truth**hits * (1 - truth) ** (samples - hits) for hits in held)


@pytest.mark.parametrize("truth", [0.01, 0.1, 0.35, 0.5, 0.9])
@pytest.mark.parametrize("samples", [60, 250])
def test_it_covers(truth: float, samples: int) -> None:
    assert coverage(truth, samples) >= 0.94


def test_it_does_not_collapse_where_every_sample_says_the_same() -> None:
    assert half_width([Part(1.0, 0.0, 250.0)]) == pytest.approx(0.0193, abs=0.0005)


@given(SHARES, st.floats(1, 1e5), st.floats(1, 1e5))
def test_more_samples_know_better(share: float, few: float, more: float) -> None:
    few, more = sorted((few, more))
    assert half_width([Part(1.0, share, more)]) <= half_width([Part(1.0, share, few)]) + 1e-12


@given(SHARES, SHARES)
def test_what_was_walked_has_no_error(fraction: float, share: float) -> None:
    assert half_width([Part(fraction, share, None)]) == 0
    sampled = half_width([Part(fraction, share, 100.0)])
    assert half_width([Part(fraction, share, 100.0), Part(1 - fraction, share, None)]) == sampled
