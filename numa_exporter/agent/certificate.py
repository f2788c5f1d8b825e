"""A server's TLS certificate, which follows its files: cert-manager and the like renew them while the agent runs."""

import asyncio
import logging
import os
import ssl
from collections.abc import Sequence

CHECK_SECONDS = 60.0

log = logging.getLogger("numa_exporter")


class Certificate:
    """``context`` serves what the files held when they were last read. OSError or ssl.SSLError where they cannot be."""

    def __init__(self, cert_file: str, key_file: str, minimum: ssl.TLSVersion) -> None:
        self._files = (cert_file, key_file)
        self._minimum = minimum
        self._stamps = self._stamped()
        self.context = self._made()

    def renew(self) -> bool:
        """Whether the files have changed and were read anew; connections from now on get the new certificate. OSError
        or ssl.SSLError where they cannot be read (a key that is not the certificate's yet): the old one stays."""
        stamps = self._stamped()
        if stamps == self._stamps:
            return False
        self._made()  # a context that failed half-way would serve one's certificate with another's key
        self._load(self.context)
        self._stamps = stamps
        return True

    async def follow(self) -> None:
        """Renew, for ever."""
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            try:
                if self.renew():
                    log.info("certificate renewed", extra={"path": self._files[0]})
            except (OSError, ssl.SSLError) as error:
                log.warning("certificate not renewed", extra={"path": self._files[0], "detail": str(error)})

    def _made(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = self._minimum
        self._load(context)
        return context

    def _load(self, context: ssl.SSLContext) -> None:
        # With a password, that of an encrypted key is not asked for on a terminal: nothing would turn until it comes.
        context.load_cert_chain(*self._files, password="")

    def _stamped(self) -> Sequence[tuple[int, int]]:
        """Kubernetes swaps a link to a new folder: another inode, whatever the time says."""
        found = [os.stat(path) for path in self._files]
        return [(one.st_ino, one.st_mtime_ns) for one in found]
