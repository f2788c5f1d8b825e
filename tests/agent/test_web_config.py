"""--web.config.file: exporter-toolkit's format, and one clear line for every way to get it wrong."""

import base64
import subprocess
from pathlib import Path

import bcrypt
import pytest

from numa_exporter.agent.web_config import Access, WebConfigError, load


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()


async def test_only_the_right_password_of_a_known_user_is_permitted() -> None:
    access = Access({"prometheus": HASH})
    for _ in range(2):  # the second time from memory
        assert await access.permits(basic("prometheus", "secret"))
        assert not await access.permits(basic("prometheus", "wrong"))
        assert not await access.permits(basic("nobody", "secret"))
    for odd in (None, "", "Basic", "Basic %%%", "Bearer x", basic("prometheus", "")):
        assert not await access.permits(odd)


async def test_failures_are_remembered_and_bounded() -> None:
    access = Access({"prometheus": HASH})
    for number in range(70):
        assert not await access.permits(basic("prometheus", f"wrong{number}"))
    assert len(access._answers) <= 64


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("basic_auth_users: {a: plain}", "basic_auth_users.a: expected a bcrypt hash"),
        ("basic_auth_users: {a: $2b$10$short}", "basic_auth_users.a: expected a bcrypt hash"),
        (f"basic_auth_users: {{a: $2b$99${'.' * 53}}}", "basic_auth_users.a: expected a bcrypt hash"),
        ("tls: {}", "unknown key tls"),
        ("[1]", "expected a mapping"),
        ("a: [", "not YAML"),
        ("a: 2026-13-45", "not YAML"),
        ("[" * 3000, "not YAML"),
        ("tls_server_config: {cert_file: a}", "needs cert_file and key_file"),
        ("tls_server_config: {cert_file: a, key_file: b, min_version: TLS10}", "expected TLS12 or TLS13"),
        ("tls_server_config: {cert_file: a, key_file: b}", "cannot be loaded"),
    ],
)
def test_a_broken_file_is_refused_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "web.yml"
    file.write_text(text)
    with pytest.raises(WebConfigError) as refused:
        load(str(file))
    assert str(refused.value).startswith(str(file))
    assert said in str(refused.value)


@pytest.mark.real
def test_promtool_accepts_what_we_accept(tmp_path: Path, need_tool) -> None:  # type: ignore[no-untyped-def]
    promtool, openssl = need_tool("promtool", "prometheus"), need_tool("openssl", "openssl")
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"),
            *("-subj", "/CN=localhost", "-keyout", tmp_path / "server.key", "-out", tmp_path / "server.crt"),
        ],
        check=True,
        capture_output=True,
    )
    file = tmp_path / "web.yml"
    file.write_text(
        "tls_server_config: {cert_file: server.crt, key_file: server.key, min_version: TLS13}\n"
        f"basic_auth_users: {{prometheus: {HASH}}}\n"
    )
    config = load(str(file))
    assert config.tls is not None and config.access is not None
    subprocess.run([promtool, "check", "web-config", file], check=True, capture_output=True)
