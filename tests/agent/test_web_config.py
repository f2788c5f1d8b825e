"""--web.config.file: exporter-toolkit's format, and one clear line for every way to get it wrong."""

import asyncio
import base64
import contextlib
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import bcrypt
import pytest

from numa_exporter.agent.web_config import Access, WebConfig, WebConfigError, load


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


HASH = bcrypt.hashpw(b"secret", bcrypt.gensalt(4)).decode()


async def test_only_the_right_password_of_a_known_user_is_permitted() -> None:
    access = Access({"prometheus": HASH})
    for _ in range(2):  # the second time from memory
        assert await access.permits(basic("prometheus", "secret"))
        assert not await access.permits(basic("prometheus", "wrong"))
        assert not await access.permits(basic("nobody", "secret"))
    for odd in (
        None,
        "",
        "Basic",
        "Basic %%%",
        "Basic \N{LATIN SMALL LETTER E WITH ACUTE}",
        "Bearer x",
        basic("prometheus", ""),
    ):
        assert not await access.permits(odd)


async def test_failures_are_remembered_and_bounded() -> None:
    access = Access({"prometheus": HASH})
    for number in range(70):
        assert not await access.permits(basic("prometheus", f"wrong{number}"))
    assert len(access._answers) <= 64


async def test_whoever_is_known_does_not_wait_behind_those_who_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    access = Access({"prometheus": HASH})
    assert await access.permits(basic("prometheus", "secret"))
    for number in range(70):  # more than is remembered
        assert not await access.permits(basic("prometheus", f"wrong{number}"))
    checking, finish = threading.Event(), threading.Event()

    def check(user: str, password: str) -> bool:
        checking.set()
        finish.wait()
        return False

    monkeypatch.setattr(access, "_check", check)
    guessing = asyncio.create_task(access.permits(basic("prometheus", "guess")))
    await asyncio.to_thread(checking.wait)
    knows = asyncio.create_task(access.permits(basic("prometheus", "secret")))
    await asyncio.sleep(0)
    try:
        assert knows.done() and await knows
    finally:
        finish.set()
        await asyncio.gather(guessing, knows)


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


def certificate(openssl: str, folder: Path, name: str) -> None:
    """server.crt and server.key for ``name`` in the folder, written in place."""
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"),
            *("-subj", f"/CN={name}", "-keyout", folder / "server.key", "-out", folder / "server.crt"),
        ],
        check=True,
        capture_output=True,
    )


def served(config: WebConfig) -> bytes:
    """The certificate that a client is shown now."""
    assert config.tls is not None
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    here, there = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(here, there)
    server = config.tls.context.wrap_bio(there, here, server_side=True)
    done = set[ssl.SSLObject]()
    while len(done) < 2:
        for side in {client, server} - done:
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
                done.add(side)
    shown = client.getpeercert(binary_form=True)
    assert shown is not None
    return shown


@pytest.mark.real
def test_a_renewed_certificate_is_served(tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    openssl = need_tool("openssl", "openssl")
    certificate(openssl, tmp_path, "first")
    file = tmp_path / "web.yml"
    file.write_text("tls_server_config: {cert_file: server.crt, key_file: server.key}\n")
    config = load(str(file))
    assert config.tls is not None
    first = served(config)
    assert config.tls.renew() is False
    certificate(openssl, tmp_path, "second")
    assert config.tls.renew() is True
    second = served(config)
    assert first != second
    (tmp_path / "server.crt").write_text("half a certifi")
    with pytest.raises(ssl.SSLError):
        config.tls.renew()
    assert served(config) == second


@pytest.mark.real
def test_the_password_of_a_key_is_not_asked_for(tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    openssl = need_tool("openssl", "openssl")
    certificate(openssl, tmp_path, "first")
    key = str(tmp_path / "server.key")
    subprocess.run([openssl, "ec", "-aes256", "-passout", "pass:secret", "-in", key, "-out", key], check=True)
    file = tmp_path / "web.yml"
    file.write_text("tls_server_config: {cert_file: server.crt, key_file: server.key}\n")
    with pytest.raises(WebConfigError) as refused:
        load(str(file))
    assert isinstance(refused.value.__cause__, ssl.SSLError), "and not what reading from no terminal ends in"


@pytest.mark.real
def test_promtool_accepts_what_we_accept(tmp_path: Path, need_tool: Callable[[str, str], str]) -> None:
    promtool, openssl = need_tool("promtool", "prometheus"), need_tool("openssl", "openssl")
    certificate(openssl, tmp_path, "localhost")
    file = tmp_path / "web.yml"
    file.write_text(
        "tls_server_config: {cert_file: server.crt, key_file: server.key, min_version: TLS13}\n"
        f"basic_auth_users: {{prometheus: {HASH}}}\n"
    )
    config = load(str(file))
    assert config.tls is not None and config.access is not None
    subprocess.run([promtool, "check", "web-config", file], check=True, capture_output=True)
