"""Fetching the locked jars, from a real HTTP server, into a cache of the test's own."""

from __future__ import annotations

import errno
import gc
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_assignors.broker.jars import fetch, fetch_jars
from kafka_assignors.broker.jars.lock import Jar
from kafka_assignors.broker.progress import Progress
from kafka_assignors.errors import BrokerError, MissingExtraError
from tests.support.waiting import PATIENCE_S, until
from tests.unit.broker.jars.mirror import Mirror

CONTENTS = {name: name.encode() * 20_000 for name in ("alpha", "beta", "gamma")}

CHILD = """
import sys
from kafka_assignors.broker.jars import fetch_jars
from kafka_assignors.broker.jars.lock import Jar
from kafka_assignors.errors import KafkaAssignorsError
jars = tuple(Jar(*row.split()) for row in sys.argv[1:])
try:
    print(len(fetch_jars("test", jars=jars)))
except KafkaAssignorsError as error:
    sys.exit(str(error))
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_ASSIGNORS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def mirror(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mirror]:
    with Mirror(CONTENTS) as running:
        monkeypatch.setenv("KAFKA_ASSIGNORS_MAVEN_URL", running.url + "/")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        yield running
    gc.collect()  # while the filter above holds


def child(
    jars: tuple[Jar, ...], prelude: str = "", limit: Callable[[], None] | None = None
) -> subprocess.Popen[str]:
    """Fetch in another process."""
    rows = [f"{jar.group} {jar.artifact} {jar.version} {jar.sha256}" for jar in jars]
    return subprocess.Popen(
        [sys.executable, "-c", prelude + CHILD, *rows],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        preexec_fn=limit,  # noqa: PLW1509  nothing of ours runs in another thread here that holds a lock
    )


def test_every_jar_is_fetched_under_its_own_name(mirror: Mirror) -> None:
    files = fetch_jars("test", jars=mirror.jars)
    assert [file.name for file in files] == ["alpha-1.0.jar", "beta-1.0.jar", "gamma-1.0.jar"]
    assert [file.read_bytes() for file in files] == list(CONTENTS.values())


def test_progress_counts_fetched_jars(mirror: Mirror) -> None:
    fetch_jars("test", jars=mirror.jars[:1])
    seen: list[Progress] = []
    fetch_jars("test", jars=mirror.jars, on_progress=seen.append)
    assert [(p.step, p.done, p.total) for p in seen] == [("fetching jars", n, 3) for n in range(4)]


def test_second_call_needs_neither_network_nor_jgo(mirror: Mirror) -> None:
    files = fetch_jars("test", jars=mirror.jars)
    mirror.close()
    seen: list[Progress] = []
    assert fetch_jars("test", jars=mirror.jars, on_progress=seen.append) == files
    assert seen == []
    out, err = child(mirror.jars, "import sys; sys.modules['jgo'] = None\n").communicate(timeout=PATIENCE_S)
    assert (out.strip(), err) == ("3", "")


@pytest.mark.parametrize("damage", [b"short", b"x" * len(CONTENTS["beta"])], ids=["truncated", "same size"])
def test_only_a_damaged_jar_is_fetched_again(mirror: Mirror, damage: bytes) -> None:
    files = fetch_jars("test", jars=mirror.jars)
    files[1].write_bytes(damage)
    mirror.asked.clear()
    fetch_jars("test", jars=mirror.jars)
    assert files[1].read_bytes() == CONTENTS["beta"]
    assert mirror.asked == ["beta"]


def test_broken_stamp_causes_hashing_but_no_fetching(mirror: Mirror) -> None:
    files = fetch_jars("test", jars=mirror.jars)
    stamp = files[0].with_name("verified.json")
    for text in ("", "[]", '{"alpha-1.0.jar": 3}', "{"):
        stamp.write_text(text)
        mirror.asked.clear()
        fetch_jars("test", jars=mirror.jars)
        assert mirror.asked == []


def test_wrong_bytes_are_refused_and_not_kept(mirror: Mirror, cache: Path) -> None:
    mirror.contents["/maven/test/group/beta/1.0/beta-1.0.jar"] = b"something else"
    with pytest.raises(
        BrokerError, match=r"^beta-1\.0\.jar: sha256 is .*KAFKA_ASSIGNORS_MAVEN_URL to another mirror$"
    ) as caught:
        fetch_jars("test", jars=mirror.jars)
    assert "\n" not in str(caught.value)
    assert not list(cache.rglob("beta*"))
    assert not list(cache.rglob(".partial-*"))


def test_jar_missing_on_the_mirror_is_named(mirror: Mirror) -> None:
    absent = Jar("test.group", "delta", "1.0", "0" * 64)
    with pytest.raises(BrokerError, match=r"cannot fetch delta-1\.0\.jar .*did not return .*MAVEN_URL"):
        fetch_jars("test", jars=(absent,))


def test_busy_mirror_is_asked_again(mirror: Mirror) -> None:
    mirror.busy.add("beta")
    assert fetch_jars("test", jars=mirror.jars)
    assert mirror.asked.count("beta") == 2


@pytest.mark.parametrize("login", ["me:se@", "me:s'e"])
@pytest.mark.parametrize("scheme", ["http", "htp"], ids=["refused", "an error with the URL"])
def test_password_in_the_url_of_the_mirror_is_not_shown(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, scheme: str, login: str
) -> None:
    mirror.close()
    address = mirror.url.partition("://")[2]
    monkeypatch.setenv("KAFKA_ASSIGNORS_MAVEN_URL", f"{scheme}://{login}{'cret' * 100}@{address}")
    with pytest.raises(BrokerError, match=rf"from the mirror {scheme}://{address} \(") as caught:
        fetch_jars("test", jars=mirror.jars)
    assert "cret" not in str(caught.value)


def test_password_without_a_scheme_is_not_shown(monkeypatch: pytest.MonkeyPatch, mirror: Mirror) -> None:
    monkeypatch.setenv("KAFKA_ASSIGNORS_MAVEN_URL", "me:se/cret@mirror.example/maven")
    with pytest.raises(BrokerError, match=r"from the mirror mirror\.example/maven \(") as caught:
        fetch_jars("test", jars=mirror.jars)
    assert "cret" not in str(caught.value)


@pytest.mark.parametrize("url", ["not a url", "mirror.example/maven", "http://[::1/maven"])
def test_malformed_url_of_the_mirror_is_named(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str
) -> None:
    """With a file of passwords, requests parses the URL before it checks it."""
    passwords = tmp_path / "netrc"
    passwords.write_text("machine other login me password secret\n")
    monkeypatch.setenv("NETRC", str(passwords))
    monkeypatch.setenv("KAFKA_ASSIGNORS_MAVEN_URL", url)
    with pytest.raises(
        BrokerError, match=rf"from the mirror {re.escape(url)} \((Invalid|Failed to parse).*MAVEN_URL"
    ):
        fetch_jars("test", jars=mirror.jars)


def test_missing_network_is_one_line_with_advice(mirror: Mirror) -> None:
    mirror.close()
    with pytest.raises(
        BrokerError, match=r"cannot fetch \w+-1\.0\.jar .*refused.*KAFKA_ASSIGNORS_MAVEN_URL"
    ) as caught:
        fetch_jars("test", jars=mirror.jars)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_one_dropped_connection_is_retried(mirror: Mirror) -> None:
    mirror.drop = {"alpha"}
    files = fetch_jars("test", jars=mirror.jars)
    assert files[0].read_bytes() == CONTENTS["alpha"]
    assert mirror.asked.count("alpha") == 2


def test_concurrent_processes_do_not_interfere(mirror: Mirror, cache: Path) -> None:
    children = [child(mirror.jars) for _ in range(4)]
    for each in children:
        assert each.communicate(timeout=PATIENCE_S) == ("3\n", "")
    mirror.close()
    files = fetch_jars("test", jars=mirror.jars)
    assert [file.read_bytes() for file in files] == list(CONTENTS.values())
    assert not list(cache.rglob(".partial-*"))


def test_partial_files_of_a_killed_process_are_removed_later(mirror: Mirror, cache: Path) -> None:
    mirror.hang = {"beta"}
    killed = child(mirror.jars)
    until(lambda: list(cache.rglob("beta-1.0.jar")), "the download to begin")
    killed.kill()
    killed.communicate()
    mirror.release.set()
    mirror.hang.clear()
    (left,) = cache.rglob(".partial-*")
    assert [file.read_bytes() for file in fetch_jars("test", jars=mirror.jars)] == list(CONTENTS.values())
    assert left.exists()  # it might be that of a process at work
    os.utime(left, (0, 0))
    fetch_jars("test", jars=mirror.jars)[0].unlink()
    fetch_jars("test", jars=mirror.jars)
    assert not left.exists()


def test_stamp_that_cannot_be_written_is_no_error(
    mirror: Mirror, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The jars may be in a read-only image, which has cut their times to seconds."""
    for jar in fetch_jars("test", jars=mirror.jars):
        os.utime(jar, (0, 0))
    written: list[Path] = []

    def refuse(path: Path, *_args: Any, **_kwargs: Any) -> None:
        written.append(path)
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(fetch, "atomic_write", refuse)
    assert [file.read_bytes() for file in fetch_jars("test", jars=mirror.jars)] == list(CONTENTS.values())
    assert written


def test_full_disk_is_one_line_with_advice(mirror: Mirror) -> None:
    def no_large_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    out, err = child(mirror.jars, limit=no_large_files).communicate(timeout=PATIENCE_S)
    assert out == ""
    assert err.startswith("cannot write the jars to ")
    advice = "set KAFKA_ASSIGNORS_CACHE to a writable directory with 100 MB free"
    assert err.rstrip().endswith(f"File too large; {advice}")


def test_impossible_cache_directory_is_named(mirror: Mirror, cache: Path) -> None:
    cache.write_text("a file")
    with pytest.raises(
        BrokerError, match=r"cannot write the jars to .*: Not a directory; set KAFKA_ASSIGNORS_CACHE"
    ):
        fetch_jars("test", jars=mirror.jars)


def test_missing_jgo_names_the_extra(mirror: Mirror) -> None:
    _, err = child(mirror.jars, "import sys; sys.modules['jgo'] = None\n").communicate(timeout=PATIENCE_S)
    assert err.strip() == str(MissingExtraError("broker", "jgo"))
