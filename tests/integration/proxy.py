"""A TCP proxy that delays, stalls or cuts connections, or refuses them."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Literal

from kafka_assignors.broker.ports import HOST

_LOOK_S = 0.05
Mode = Literal["pass", "stall", "cut", "shut"]


class Proxy:
    """Stands between clients and a port of this machine.

    Attributes:
        mode: ``pass``; ``stall``: accept connections, but transfer no bytes; ``cut``: close connections;
            ``shut``: close them and accept no more.
        delay_s: delay of each chunk from the target (s).
        stall_after: number of chunks from the target after which the mode becomes ``stall``; None: never.
        pieces: number of chunks from the target.
        reply: answers a client's request (Kafka's bytes without the size) instead of the target; its result
            is the framed answer, or None to pass the request on.  None: pass all on.
    """

    def __init__(self, port: int, target: int) -> None:
        self.mode: Mode = "pass"
        self.delay_s = 0.0
        self.stall_after: int | None = None
        self.pieces = 0
        self.reply: Callable[[bytes], bytes | None] | None = None
        self._target = target
        self._port = port
        self._end = threading.Event()
        self._threads: list[threading.Thread] = []
        self._start(self._listen, socket.create_server((HOST, port)))

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join()

    def reset(self) -> None:
        """Let everything pass."""
        self.mode, self.delay_s, self.stall_after, self.reply = "pass", 0.0, None, None

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, name="proxy", daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _listen(self, listener: socket.socket) -> None:
        while not self._end.is_set():
            with listener:
                listener.settimeout(_LOOK_S)
                while not self._end.is_set() and self.mode != "shut":
                    self._accept(listener)
            while not self._end.is_set() and self.mode == "shut":
                time.sleep(_LOOK_S)
            listener = socket.create_server((HOST, self._port))
        listener.close()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(TimeoutError):
            client, _ = listener.accept()
            self._start(self._carry, client)

    def _carry(self, client: socket.socket) -> None:
        with client, suppress(ConnectionError), socket.create_connection((HOST, self._target)) as server:
            other = {client: server, server: client}
            while not self._broken():
                ready, _, _ = select.select([client, server], [], [], _LOOK_S)
                if self.mode == "stall":
                    time.sleep(_LOOK_S)
                    continue
                if _was_aborted(client):
                    return
                going_on = [self._pass_on(source, other[source], source is server) for source in ready]
                if not all(going_on):
                    return

    @property
    def accepted(self) -> int:
        """The number of connections so far."""
        return len(self._threads) - 1

    @property
    def is_idle(self) -> bool:
        """Whether no connection is open."""
        return not any(thread.is_alive() for thread in self._threads[1:])

    def _broken(self) -> bool:
        return self._end.is_set() or self.mode in {"cut", "shut"}

    def _pass_on(self, source: socket.socket, sink: socket.socket, answer: bool) -> bool:
        """Forward a chunk; return False at the end of the connection."""
        try:
            piece = source.recv(1 << 16)
            if answer:
                self._count()
            while self.mode == "stall" and not self._end.is_set():  # a stalled chunk is delayed, not lost
                time.sleep(_LOOK_S)
            if self._broken() or (not answer and _was_aborted(source)):
                return False
            sink.sendall(piece if answer else self._unanswered(piece, source))
        except OSError:
            return False
        return bool(piece)

    def _unanswered(self, requests: bytes, client: socket.socket) -> bytes:
        """Answer requests with ``reply``; return the others.  Small requests come in whole chunks."""
        if (reply := self.reply) is None:
            return requests
        others = b""
        while requests:
            (size,) = struct.unpack_from(">i", requests)
            request, requests = requests[: 4 + size], requests[4 + size :]
            if (answer := reply(request[4:])) is None:
                others += request
            else:
                client.sendall(answer)
        return others

    def _count(self) -> None:
        time.sleep(self.delay_s)
        self.pieces += 1
        if self.stall_after is not None and self.pieces >= self.stall_after:
            self.mode = "stall"


def _was_aborted(client: socket.socket) -> bool:
    """Whether the client aborted the connection.  Its kernel drops unsent bytes then; so does the proxy."""
    poll = select.poll()
    poll.register(client, 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))
