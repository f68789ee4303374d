"""A Maven repository on 127.0.0.1, with test jars and faults on demand."""

from __future__ import annotations

import hashlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from kafka_assignors.broker.jars.lock import Jar


class Mirror:
    """Serves the bytes it was given; counts what was asked for.

    Args:
        jars: file contents by artifact name; each becomes ``test.group:NAME:1.0``.
    """

    def __init__(self, jars: dict[str, bytes]) -> None:
        self.contents = {self._path(name): content for name, content in jars.items()}
        self.jars = tuple(
            Jar("test.group", name, "1.0", hashlib.sha256(content).hexdigest())
            for name, content in sorted(jars.items())
        )
        self.asked: list[str] = []  # names of the jars, in order
        self.drop: set[str] = set()  # paths to cut off in the middle, once each
        self.hang: set[str] = set()  # paths to stop sending in the middle of
        self.busy: set[str] = set()  # paths to answer with 503, once each
        self.release = threading.Event()
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                mirror.answer(self)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = False
        self.url = f"http://127.0.0.1:{self.server.server_port}/maven"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})

    @staticmethod
    def _path(name: str) -> str:
        return f"/maven/test/group/{name}/1.0/{name}-1.0.jar"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Serve one request."""
        content = self.contents.get(request.path)
        if content is None:
            request.send_error(404)
            return
        name = request.path.split("/")[-3]
        self.asked.append(name)
        if name in self.busy:
            self.busy.remove(name)
            request.send_error(503)
            return
        request.send_response(200)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if name in self.drop:
            self.drop.remove(name)
            request.wfile.write(content[: len(content) // 2])
            request.close_connection = True
            return
        if name in self.hang:
            request.wfile.write(content[: len(content) // 2])
            request.wfile.flush()
            self.release.wait()
            return
        request.wfile.write(content)

    def __enter__(self) -> Mirror:
        self.thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop answering; doing so twice is fine."""
        self.release.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
