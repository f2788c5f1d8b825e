import tarfile
from pathlib import Path

import pytest

from numa_exporter.formats import cpuinfo
from numa_exporter.formats.cpuinfo import Cpuinfo
from numa_exporter.formats.parse_error import ParseError

X86 = b"""processor\t: 0
vendor_id\t: AuthenticAMD
model\t\t: 1
model name\t: AMD EPYC 7451 24-Core Processor
flags\t\t: fpu vme %s lahf_lm
power management:

processor\t: 1
vendor_id\t: AuthenticAMD
"""


@pytest.mark.parametrize(("flag", "expected"), [(b"hypervisor", True), (b"hypervisor_like", False), (b"", False)])
def test_x86_says_whether_it_is_virtual(flag: bytes, expected: bool) -> None:
    assert cpuinfo.parse(X86 % flag, "/proc/cpuinfo") == Cpuinfo(
        vendor="AuthenticAMD", model="AMD EPYC 7451 24-Core Processor", hypervisor=expected
    )


@pytest.mark.parametrize("data", [b"", b"\n\n", b"nothing here\n"])
def test_a_file_without_fields_is_broken(data: bytes) -> None:
    with pytest.raises(ParseError):
        cpuinfo.parse(data, "/proc/cpuinfo")


@pytest.mark.parametrize(
    ("name", "vendor", "model", "hypervisor"),
    [
        ("arm-A510-A710-A715-X3", "0x41", None, None),
        ("armv7", "0x41", "ARMv7 Processor rev 4 (v7l)", None),
        ("ppc-qemu", None, "740/750", None),
        ("ppc64-POWER7-64cpu", None, "POWER7 (architected), altivec supported", None),
        ("rv64-linux", None, None, None),
        ("s390-kvm", "IBM/S390", None, None),
        ("s390-lpar", "IBM/S390", None, None),
        ("vmware_fpe", "AuthenticAMD", "AMD Opteron(tm) Processor 6328", False),
        ("x86_64-dell_e4310", "GenuineIntel", "Intel(R) Core(TM) i5 CPU       M 560  @ 2.67GHz", False),
        ("x86_64-epyc_7451", "AuthenticAMD", "AMD EPYC 7451 24-Core Processor", False),
    ],
)
def test_real_machines(
    shared_data: Path, name: str, vendor: str | None, model: str | None, hypervisor: bool | None
) -> None:
    with tarfile.open(shared_data / f"sysfs/lscpu-{name}/{name}.tar.gz") as tar:
        member = next(member for member in tar if member.name.endswith("proc/cpuinfo"))
        reader = tar.extractfile(member)
        assert reader is not None
        parsed = cpuinfo.parse(reader.read(), name)
    assert parsed == Cpuinfo(vendor=vendor, model=model, hypervisor=hypervisor)


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("cpuinfo_arm", "ARMv7 Processor rev 4 (v7l)"),
        ("cpuinfo_lower_case", "ICT Loongson-3A R3 (Loongson-3B3000) @ 1450MHz"),
    ],
)
def test_real_files_of_other_machines(shared_data: Path, name: str, model: str) -> None:
    parsed = cpuinfo.parse((shared_data / "node/cadvisor" / name).read_bytes(), name)
    assert (parsed.model, parsed.hypervisor) == (model, None)
