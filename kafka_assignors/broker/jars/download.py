"""Downloads one jar at a time from a Maven repository.  Only this file knows ``jgo``."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

from kafka_assignors.broker.jars.lock import Jar
from kafka_assignors.errors import BrokerError, needs_extra

MIRROR = "KAFKA_ASSIGNORS_MAVEN_URL"  # a Maven repository that replaces the central one
_ADVICE = f"check the network and proxy, or set {MIRROR} to a Maven mirror"

Downloader = Callable[[Jar], Path]

NOT_WRITABLE = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
}
_TIMEOUT_S = 30  # limit for a connection that sends nothing
_ATTEMPTS = 2  # one dropped connection among 46 jars should not fail the start
# User and password in a URL, after its scheme if it has one.  No error may show them.
_LOGIN = re.compile(r"(\w+://)\S*@|(?<![^\s'\"(])[^\s'\"]*@")


def download(into: Path) -> Downloader:
    """Return a thread-safe function that downloads a jar below the empty directory ``into``.

    The function raises BrokerError if a jar cannot be downloaded, and OSError (with ``errno``) if the jar
    cannot be written.

    Raises:
        MissingExtraError: ``jgo`` is not installed.
    """
    with needs_extra("broker"):
        from jgo.maven import MavenContext
    mirror = os.environ.get(MIRROR, "").strip().rstrip("/")
    where = f"the mirror {_without_login(mirror)}" if mirror else "Maven's central repository"
    repos = {"mirror": mirror} if mirror else None

    def download_jar(jar: Jar) -> Path:
        why = ""
        for attempt in range(_ATTEMPTS):
            # jgo requires that its target does not exist, so each attempt has a folder of its own.
            context = MavenContext(repo_cache=into / str(attempt), remote_repos=repos, timeout=_TIMEOUT_S)
            try:
                return context.project(jar.group, jar.artifact).at_version(jar.version).artifact().resolve()
            except RuntimeError:  # jgo raises it for a missing file, and for errors that may pass
                why = "it did not return the file"
            except (OSError, ValueError) as error:  # requests' errors lack errno; ValueError: a bad URL
                if getattr(error, "errno", None) in NOT_WRITABLE:
                    raise
                why = _why(error)
        raise BrokerError(f"cannot fetch {jar.filename} from {where} ({why}); {_ADVICE}")

    return download_jar


def _why(failure: BaseException) -> str:
    """Return the innermost cause, because urllib3 wraps "connection refused" four times."""
    while isinstance(
        inner := failure.__cause__ or failure.__context__ or getattr(failure, "reason", None), BaseException
    ):
        failure = inner
    return _without_login(" ".join(str(getattr(failure, "strerror", None) or failure).split()))[:200]


def _without_login(text: str) -> str:
    return _LOGIN.sub(r"\1", text)
