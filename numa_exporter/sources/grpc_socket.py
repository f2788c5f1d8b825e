"""A gRPC service behind a unix socket of this host: one method asked, the answer's bytes as they came.

grpclib is imported when a socket that is there is first asked, so that only hosts with a kubelet pay for it. Answers
are not decoded here: a recording keeps what a newer kubelet says beyond the fields that this version reads.
"""

import asyncio
import os
from typing import TYPE_CHECKING, Any

from numa_exporter.model.health import FailureWord
from numa_exporter.sources.host import HostError, word_of

if TYPE_CHECKING:
    from grpclib.client import Channel

DEADLINE = 2.0
"""Seconds for one answer, connecting included. It takes half a millisecond; a server that hangs is not waited for."""
POD_RESOURCES = "v1.PodResourcesLister"
"""Of the kubelet; the messages are in formats/podresources.proto."""
CRI = "runtime.v1.RuntimeService"
"""Of containerd or CRI-O; the messages are in formats/cri.proto."""


class GrpcSocket:
    """A client of one ``service`` at ``path`` (of this host, not logical) with one connection, kept between looks.
    ``door`` is what errors are told under: ``kubelet:List``.

    It has an event loop of its own, which turns only inside ``ask``: the source that asks has a thread of its own, and
    a server that hangs delays nobody else. To be asked by one thread at a time.
    """

    def __init__(self, path: str, service: str, door: str, deadline: float = DEADLINE) -> None:
        self._path = path
        self._service = service
        self._door = door
        self._deadline = deadline
        self._loop: asyncio.AbstractEventLoop | None = None
        self._channel: Channel | None = None

    def ask(self, method: str, request: bytes) -> bytes:
        """The serialised reply. HostError: ``absent`` for no socket or no such method, ``denied``, ``gone`` where
        nobody serves it now, ``stuck`` past the deadline, ``garbled`` for any other refusal."""
        if self._loop is None:
            try:
                os.stat(self._path)
            except OSError as error:
                raise HostError(word_of(error, self._path), f"{self._door}:{method}", error.strerror or "") from error
            self._loop = asyncio.new_event_loop()
            # The connection ends with the process: grpclib's complaint that nobody closed it is no news.
            self._loop.set_exception_handler(lambda *_: None)
        return self._loop.run_until_complete(self._ask(method, request))

    def close(self) -> None:
        """Drop the connection; the next question opens another."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._loop is not None:
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()
            self._loop = None

    async def _ask(self, method: str, request: bytes) -> bytes:
        from grpclib.exceptions import GRPCError, StreamTerminatedError

        told = f"{self._door}:{method}"
        kept = self._channel is not None
        try:
            async with asyncio.timeout(self._deadline):
                try:
                    return await self._call(method, request)
                except (StreamTerminatedError, ConnectionError):
                    if not kept:
                        raise
                    self._forget()  # the server was restarted since the last look
                    return await self._call(method, request)
        except TimeoutError as error:
            self._forget()
            raise HostError("stuck", told, f"no answer within {self._deadline:g} s") from error
        except GRPCError as error:
            raise HostError(_word(error.status.name, error.message), told, _said(error)) from error
        except StreamTerminatedError as error:
            self._forget()
            raise HostError("gone", told, str(error)) from error
        except OSError as error:
            self._forget()
            # A socket file whose server is down refuses the connection.
            word = "gone" if isinstance(error, ConnectionError) else word_of(error, self._path)
            raise HostError(word, told, error.strerror or str(error)) from error

    async def _call(self, method: str, request: bytes) -> bytes:
        from grpclib.client import UnaryUnaryMethod

        if self._channel is None:
            self._channel = _open(self._path)
        name = f"/{self._service}/{method}"
        call: UnaryUnaryMethod[bytes, bytes] = UnaryUnaryMethod(self._channel, name, bytes, bytes)
        return await call(request)

    def _forget(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None


def _open(path: str) -> "Channel":
    """A channel whose messages are bytes already; it connects with its first call."""
    from grpclib.client import Channel
    from grpclib.encoding.base import CodecBase

    class Raw(CodecBase):
        __content_subtype__ = "proto"

        def encode(self, message: Any, message_type: Any) -> bytes:
            return bytes(message)

        def decode(self, data: bytes, message_type: Any) -> bytes:
            return data

    return Channel(path=path, codec=Raw())


_WORDS: dict[str, FailureWord] = {
    "UNIMPLEMENTED": "absent",
    "PERMISSION_DENIED": "denied",
    "UNAUTHENTICATED": "denied",
    "UNAVAILABLE": "gone",
    "CANCELLED": "gone",
    "NOT_FOUND": "gone",
    "RESOURCE_EXHAUSTED": "gone",  # the kubelet limits how often it is asked, by all clients together
    "DEADLINE_EXCEEDED": "stuck",
}


def _word(status: str, message: str | None) -> FailureWord:
    # Kubelets answer UNKNOWN and tell in words: "PodResources API GetAllocatableResources disabled" where a feature
    # gate is off, "pod llm-0 in namespace prod not found".
    if status == "UNKNOWN" and message and message.endswith("disabled"):
        return "absent"
    if status == "UNKNOWN" and message and message.endswith("not found"):
        return "gone"
    return _WORDS.get(status, "garbled")


def _said(error: Any) -> str:
    return f"{error.status.name}: {error.message}" if error.message else str(error.status.name)
