import pytest

from numa_exporter.formats import nvidia_params
from numa_exporter.formats.parse_error import ParseError

TEXT = b'ResmanDebugLevel: 4294967295\nDeviceFileMode: 438\nCoherentGPUMemoryMode: "driver"\nRmMsg: "a: b"\n'


def test_options_by_name() -> None:
    params = nvidia_params.parse(TEXT, "params")
    assert params["DeviceFileMode"] == "438"
    assert params["RmMsg"] == "a: b"


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        (TEXT, "driver"),
        (b'CoherentGPUMemoryMode: "numa"\n', "numa"),
        (b'CoherentGPUMemoryMode: ""\n', None),
        (b"DeviceFileMode: 438\n", None),
        (b"", None),
    ],
)
def test_where_the_memory_of_a_coherent_gpu_goes(text: bytes, mode: str | None) -> None:
    assert nvidia_params.coherent_memory_mode(nvidia_params.parse(text, "params")) == mode


@pytest.mark.parametrize("line", [b"no colon", b": value"])
def test_broken_lines_are_named(line: bytes) -> None:
    with pytest.raises(ParseError) as caught:
        nvidia_params.parse(TEXT + line + b"\n", "/proc/driver/nvidia/params")
    assert (caught.value.line_number, caught.value.line) == (5, line)
