"""A TCP proxy that delays, stalls or cuts what goes through it."""

from __future__ import annotations

import select
import socket
import threading
import time
from types import TracebackType
from typing import Literal

from kafka_assignors.broker.ports import HOST

_LOOK_S = 0.02
Mode = Literal["pass", "stall", "cut"]


class Proxy:
    """Stands between clients and a port of this machine.

    Args:
        port: where it listens.
        target: where it connects to.

    Attributes:
        mode: ``pass``; ``stall``: connections are accepted and nothing goes through; ``cut``: they are
            closed.
        delay_s: how long each piece from the target is held back.
        stall_after: the mode becomes ``stall`` once so many pieces came from the target; None: never.
        pieces: how many came from the target.
    """

    def __init__(self, port: int, target: int) -> None:
        self.mode: Mode = "pass"
        self.delay_s = 0.0
        self.stall_after: int | None = None
        self.pieces = 0
        self._target = target
        self._ended = False
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server((HOST, port))
        self._listener.settimeout(_LOOK_S)
        self._start(self._accept)

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        for thread in self._threads:
            thread.join()
        self._listener.close()

    def reset(self) -> None:
        """Let everything pass."""
        self.mode, self.delay_s, self.stall_after = "pass", 0.0, None

    def _start(self, work: object, *args: object) -> None:
        thread = threading.Thread(target=work, args=args, name="proxy", daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._ended:
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            self._start(self._carry, client)

    def _carry(self, client: socket.socket) -> None:
        with client, socket.create_connection((HOST, self._target)) as server:
            other = {client: server, server: client}
            while not self._ended and self.mode != "cut":
                ready, _, _ = select.select([client, server], [], [], _LOOK_S)
                if self.mode == "stall":
                    time.sleep(_LOOK_S)
                    continue
                going_on = [self._pass_on(source, other[source], source is server) for source in ready]
                if not all(going_on):
                    return

    def _pass_on(self, source: socket.socket, sink: socket.socket, answer: bool) -> bool:
        """Whether there may be more to come."""
        try:
            piece = source.recv(1 << 16)
            if answer:
                self._count()
            if self.mode == "pass":
                sink.sendall(piece)
        except OSError:
            return False
        return bool(piece)

    def _count(self) -> None:
        time.sleep(self.delay_s)
        self.pieces += 1
        if self.stall_after is not None and self.pieces >= self.stall_after:
            self.mode = "stall"
