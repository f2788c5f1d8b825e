import pytest

from numa_exporter.model.ids import ProcessKey
from numa_exporter.model.recording import Frame, Recording
from numa_exporter.sources.host import HostError
from numa_exporter.sources.identity import alive, same_process
from numa_exporter.sources.replay import RecordingHost, ReplayHost
from tests.fakehost import DENIED, GONE, fake_host
from tests.sources.proc_tree import stat

KEY = ProcessKey(pid=7, start_ticks=5000)


def test_the_same_process_before_and_after() -> None:
    host = fake_host({"/proc/7/stat": stat(7)})
    with same_process(host, KEY, "test"):
        seen = host.read("/proc/7/stat")
    assert seen


def test_a_reused_pid_is_gone() -> None:
    host = fake_host({"/proc/7/stat": stat(7, start=6000)})
    with pytest.raises(HostError) as caught, same_process(host, KEY, "test"):
        pytest.fail("must not read a stranger")
    assert caught.value.word == "gone"
    assert not alive(host, KEY, "test")


def test_a_pid_reused_in_the_middle_is_gone() -> None:
    host = fake_host({"/proc/7/stat": stat(7)}, later=[{"/proc/7/stat": stat(7, start=6000)}])
    with pytest.raises(HostError) as caught, same_process(host, KEY, "test"):
        host.advance()
    assert caught.value.word == "gone"


def test_exit_and_refusal_are_two_outcomes() -> None:
    for refusal, word in ((GONE, "gone"), (DENIED, "denied")):
        with pytest.raises(HostError) as caught, same_process(fake_host({"/proc/7/stat": refusal}), KEY, "test"):
            pytest.fail("must not get here")
        assert caught.value.word == word
    with pytest.raises(HostError):
        alive(fake_host({"/proc/7/stat": DENIED}), KEY, "test")


def test_a_replay_sees_each_moment_as_it_was() -> None:
    """The stat of one reader and the start times of others are different answers, though of one file."""
    live = fake_host({"/proc/7/stat": stat(7)}, later=[{"/proc/7/stat": stat(7, start=6000)}])
    recorder = RecordingHost(live)
    assert recorder.started(7, "before") == 5000
    live.advance()
    assert recorder.started(7, "after") == 6000
    frames = tuple(recorder.frames())
    again = ReplayHost(Recording(nodename="x", simulated=False, exporter="t", frames=frames, settings={}))
    assert (again.started(7, "before"), again.started(7, "after")) == (5000, 6000)


def test_a_bundle_without_moments_falls_back_to_the_stat() -> None:
    frame = Frame(taken_at=0, monotonic=0, answers={("file", "/proc/7/stat"): stat(7).encode()})
    host = ReplayHost(Recording(nodename="x", simulated=False, exporter="t", frames=(frame,), settings={}))
    assert host.started(7, "anything") == 5000
