"""A gRPC service on a unix socket that says what a test wants: what real servers lack, refuse or never answer.

    with serving(path, SERVICE, METHODS, {"List": reply, "Get": HANG}) as server: ...

A method that is not in the script is UNIMPLEMENTED, as with an old server. ``METHODS`` tells the messages.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from google.protobuf.message import Message
from grpclib.const import Cardinality, Handler, Status
from grpclib.exceptions import GRPCError
from grpclib.protocol import H2Protocol
from grpclib.server import Server, Stream

HANG = "hang"
Script = Message | GRPCError | str | Callable[[Message], Message]
"""What a method says: a reply, a refusal, nothing for ever, or a reply made of the request."""
Methods = Mapping[str, tuple[type[Message], type[Message]]]
"""Request and reply by method."""


class _Server(Server):
    """One that can drop its connections, as a killed process does; grpclib's lets them be served to the end."""

    def __init__(self, handlers: list[object]) -> None:
        super().__init__(handlers)  # type: ignore[arg-type]
        self._connections: list[H2Protocol] = []

    def _protocol_factory(self) -> H2Protocol:
        made = super()._protocol_factory()
        self._connections.append(made)
        return made

    def drop(self) -> None:
        for made in self._connections:
            if hasattr(made, "processor"):
                made.processor.close()


class ScriptedServer:
    """``script`` may be changed while it serves; ``asked`` are the methods in the order of their calls."""

    def __init__(self, path: Path, service: str, methods: Methods, script: Mapping[str, Script]) -> None:
        self.path = path
        self._service = service
        self._methods = methods
        self.script = dict(script)
        self.asked: list[str] = []
        self._loop = asyncio.new_event_loop()
        self._server: _Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def __mapping__(self) -> Mapping[str, Handler]:
        return {
            f"/{self._service}/{method}": Handler(self._handler(method), Cardinality.UNARY_UNARY, request, reply)
            for method, (request, reply) in self._methods.items()
        }

    def _handler(self, method: str) -> Callable[[Stream[Message, Message]], object]:
        async def handle(stream: Stream[Message, Message]) -> None:
            request = await stream.recv_message()
            assert request is not None
            self.asked.append(method)
            # grpclib's own answer to an unknown method lacks the content type that Go's has.
            said = self.script.get(method, GRPCError(Status.UNIMPLEMENTED, "unknown method"))
            if isinstance(said, GRPCError):
                raise said
            if isinstance(said, str):
                await asyncio.Event().wait()
            else:
                await stream.send_message(said(request) if callable(said) else said)

        return handle

    def start(self) -> None:
        """Serve on the socket. Again after a stop: a kubelet that restarted."""

        async def start() -> None:
            self.path.unlink(missing_ok=True)
            self._server = _Server([self])
            await self._server.start(path=str(self.path))

        asyncio.run_coroutine_threadsafe(start(), self._loop).result(10)

    def stop(self) -> None:
        """Drop every connection and stop listening. The socket's file stays, as it does when a kubelet is killed."""

        async def stop() -> None:
            if self._server is not None:
                self._server.close()
                self._server.drop()
                await self._server.wait_closed()
                self._server = None

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(10)

    def end(self) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@contextmanager
def serving(path: Path, service: str, methods: Methods, script: Mapping[str, Script]) -> Iterator[ScriptedServer]:
    server = ScriptedServer(path, service, methods, script)
    server.start()
    try:
        yield server
    finally:
        server.end()
