"""--web.config.file in exporter-toolkit's format: TLS and basic auth.

tls_server_config: {cert_file: server.crt, key_file: server.key, min_version: TLS12}
basic_auth_users: {prometheus: $2b$10$...}       # bcrypt

Paths are relative to the file. Unknown keys are an error, as in exporter-toolkit; of its keys client certificates, HTTP
headers and cipher suites are not known here. A renewed certificate is served within a minute.
"""

import asyncio
import base64
import hashlib
import hmac
import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numa_exporter.agent.certificate import Certificate

KEEP_ANSWERS = 64
"""Passwords whose bcrypt answer is remembered. bcrypt takes 50 to 230 ms by design: without a memory of failures too,
one scraper with a wrong password would eat a core."""

BCRYPT = re.compile(r"\$2[aby]\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}")


class WebConfigError(ValueError):
    """What is wrong with the file, naming it and the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WebConfig:
    """How to listen: a TLS certificate, and who may read."""

    tls: Certificate | None = None
    access: "Access | None" = None


class Access:
    """Basic auth against bcrypt hashes. Checks run in a thread, one at a time, and are remembered by digest."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = dict(users)
        self._answers: dict[bytes, bool] = {}
        self._salt = os.urandom(16)
        self._lock = asyncio.Lock()

    async def permits(self, authorization: str | None) -> bool:
        """Whether an Authorization header names a user with the right password."""
        kind, _, text = (authorization or "").partition(" ")
        if kind.lower() != "basic":
            return False
        try:
            user, _, password = base64.b64decode(text, validate=True).decode().partition(":")
        except ValueError:  # no base64, no ASCII, no UTF-8
            return False
        digest = hmac.digest(self._salt, f"{user}\0{password}".encode(), hashlib.sha256)
        # Whoever is known does not stand in line behind those who guess.
        if digest not in self._answers:
            async with self._lock:
                if digest not in self._answers:
                    self._remember(digest, await asyncio.to_thread(self._check, user, password))
        return self._answers[digest]

    def _remember(self, digest: bytes, permitted: bool) -> None:
        if len(self._answers) >= KEEP_ANSWERS:
            wrong = (known for known, answer in self._answers.items() if not answer)
            del self._answers[next(wrong, next(iter(self._answers)))]  # guesses do not displace whom we know
        self._answers[digest] = permitted

    def _check(self, user: str, password: str) -> bool:
        import bcrypt

        hashed = self._users.get(user)
        # An unknown user costs the same as a wrong password.
        probe = hashed or "$2b$10$" + "." * 53
        matches = bcrypt.checkpw(password.encode()[:72], probe.encode())
        return matches and hashed is not None


def load(path: str) -> WebConfig:
    """Read and check the file. WebConfigError names it and what is wrong; OSError where it cannot be read."""
    import yaml

    with open(path, encoding="utf-8") as file:
        try:
            told = yaml.safe_load(file) or {}
        # Its constructors raise errors of their own too: a day 2026-13-45, bytes that are no UTF-8, endless brackets.
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            raise WebConfigError(f"{path}: not YAML: {' '.join(str(error).split())}") from error
    sections = _mapping(path, "the file", told)
    _only(path, "the file", sections, {"tls_server_config", "basic_auth_users"})
    users = _mapping(path, "basic_auth_users", sections.get("basic_auth_users") or {})
    for user, hashed in users.items():
        if not BCRYPT.fullmatch(str(hashed)):
            raise WebConfigError(f"{path}: basic_auth_users.{user}: expected a bcrypt hash ($2b$…)")
    return WebConfig(
        tls=_tls(path, _mapping(path, "tls_server_config", sections.get("tls_server_config") or {})),
        access=Access({str(user): str(hashed) for user, hashed in users.items()}) if users else None,
    )


def _tls(path: str, told: Mapping[str, Any]) -> Certificate | None:
    if not told:
        return None
    _only(path, "tls_server_config", told, {"cert_file", "key_file", "min_version"})
    versions = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
    version = str(told.get("min_version", "TLS12"))
    if version not in versions:
        raise WebConfigError(f"{path}: tls_server_config.min_version: expected TLS12 or TLS13, found {version}")
    if "cert_file" not in told or "key_file" not in told:
        raise WebConfigError(f"{path}: tls_server_config needs cert_file and key_file")
    folder = os.path.dirname(os.path.abspath(path))
    cert, key = (os.path.join(folder, str(told[name])) for name in ("cert_file", "key_file"))
    try:
        return Certificate(cert, key, versions[version])
    except (OSError, ssl.SSLError) as error:
        raise WebConfigError(f"{path}: tls_server_config: certificate and key cannot be loaded: {error}") from error


def _mapping(path: str, where: str, told: Any) -> Mapping[str, Any]:
    if not isinstance(told, dict):
        raise WebConfigError(f"{path}: {where}: expected a mapping")
    return told


def _only(path: str, where: str, told: Mapping[str, Any], known: set[str]) -> None:
    for key in told:
        if key not in known:
            raise WebConfigError(f"{path}: {where}: unknown key {key}")
