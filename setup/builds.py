#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lets a checkout reuse what another checkout on this machine has built.

Cargo and kbuild decide by time stamps: a result is fresh if no source is newer than it. A second
checkout has the same sources with other time stamps, so it would build everything again.
Every build folder therefore keeps a list of the sources that it was built from (path, hash, time
stamp). The first command in a checkout copies the best other folder, and gives each source that
has the same hash the time stamp of the list, and each other source the present time. Cargo and
kbuild then build again just what differs. All of this runs in the root, where every checkout is
/rkfd, so that no result knows the path of its checkout.

    builds.py adopt        fill the build folder of a checkout that has none
    builds.py note         write the list of sources
    builds.py run COMMAND  run a command that builds, and write the list when it has ended
"""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

CHECKOUT = Path("/rkfd")
FOLDERS = Path("/cache/build")
LIST = "sources.json"
# What `adopt` leaves out: it is large, and useless where anything differs; or it is of one run.
LEFT_OUT = {"incremental", "tmp", "vm", "mutant", "sccache"}
# Only what compilers and linkers replace and never write to is shared by hard links.
SHARED = {".rlib", ".rmeta", ".so"}
LARGE = 1 << 16


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr)


def identity(checkout):
    """Another checkout at the same path has another one."""
    status = os.stat(checkout)
    return f"{status.st_dev}:{status.st_ino}"


def sources(checkout, known):
    """Path, hash, time stamp and size of every source; hashes that are known are not made again."""
    found = {}
    for folder, folders, files in os.walk(checkout):
        folders[:] = [name for name in folders if name not in (".git", "target")]
        for name in files:
            path = Path(folder, name)
            if path.is_symlink() or path.suffix == ".ko":
                continue
            with contextlib.suppress(FileNotFoundError):
                before = path.stat()
                key = str(path.relative_to(checkout))
                entry = known.get(key)
                stamp = [before.st_mtime_ns, before.st_size]
                if not entry or entry[1:] != stamp:
                    digest = hashlib.sha256(path.read_bytes()).hexdigest()
                    # A file that is being written is left out, and counts as different.
                    if path.stat().st_mtime_ns != before.st_mtime_ns:
                        continue
                    entry = [digest, *stamp]
                found[key] = entry
    return found


def read_list(folder):
    try:
        return json.loads((folder / LIST).read_text())
    except (OSError, ValueError):
        return None


def note(folder, checkout=CHECKOUT):
    """Write the list. What is built later than it was begun does not count as built from it."""
    taken = time.time_ns()
    old = read_list(folder) or {}
    new = {
        "taken": taken,
        "checkout": os.environ.get("RKFD_HOST_CHECKOUT", str(checkout)),
        "files": sources(checkout, old.get("files", {})),
    }
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{LIST}.{os.getpid()}"
    part.write_text(json.dumps(new))
    part.rename(folder / LIST)


def try_lock(file):
    """Whether a file could be locked, as one of several readers."""
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return True
    return False


@contextlib.contextmanager
def still(folder):
    """Hold the locks of cargo and of the module's build; yields False if one of them is busy. A command that finds
    everything built has them for a moment only."""
    locks = [*folder.glob("target/**/.cargo-lock"), *folder.glob("*.lock")]
    patience = time.monotonic() + 5
    with contextlib.ExitStack() as stack:
        try:
            for lock in locks:
                file = stack.enter_context(open(lock))
                while not try_lock(file) and time.monotonic() < patience:
                    time.sleep(0.1)
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True


def is_complete(folder):
    return all((folder / name).exists() for name in ("target/release/rkfd-vm", "rkfd.ko"))


def candidates(folders, own, mine):
    """Other folders with a list: complete ones first, then those with the fewest differences."""
    ranked = []
    for folder in folders.iterdir():
        listed = folder != own and folder.is_dir() and ".part" not in folder.name and read_list(folder)
        if listed:
            differ = sum(listed["files"].get(path, [None])[0] != entry[0] for path, entry in mine.items())
            ranked.append((not is_complete(folder), differ, -listed["taken"], folder.name))
    return [folders / name for *_, name in sorted(ranked)]


def newer(path, taken):
    return any(file.stat().st_mtime_ns > taken for file in path.rglob("*") if file.is_file())


def copy(source, target, taken):
    """A build folder, without what was built after its list was taken."""
    for entry in os.scandir(source):
        path, to = Path(entry.path), target / entry.name
        if entry.name in LEFT_OUT or entry.name == LIST:
            continue
        if entry.is_dir(follow_symlinks=False):
            module = path.with_name(f"{path.name}.lock").exists()
            unit = module or path.parent.name == ".fingerprint"
            if not (unit and newer(path, taken)):
                to.mkdir()
                copy(path, to, taken)
        elif entry.is_symlink():
            to.symlink_to(os.readlink(path))
        elif entry.is_file():
            status = entry.stat()
            program = not path.suffix and status.st_mode & 0o100 and status.st_size > LARGE
            if path.suffix in SHARED or program:
                os.link(path, to)
            elif not (path.suffix == ".ko" and status.st_mtime_ns > taken):
                shutil.copy2(path, to)


def align(checkout, mine, files):
    """Give equal sources the list's time stamps and the others the present; how many others."""
    others = 0
    for path, entry in mine.items():
        listed = files.get(path)
        same = listed and listed[0] == entry[0]
        stamp = listed[1] if same else time.time_ns()
        others += not same
        os.utime(checkout / path, ns=(stamp, stamp))
    return others


def adopt(own, checkout=CHECKOUT, folders=FOLDERS):
    """Fill the folder of a checkout that has none; or fit a folder to a new checkout at its path."""
    mark = own / "checkout"
    folders.mkdir(parents=True, exist_ok=True)
    with open(folders / f".{own.name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if mark.exists() and mark.read_text() == identity(checkout):
            return
        if own.exists() and not mark.exists():
            # Made before there were lists: it fits, or cargo finds out that it does not.
            mark.write_text(identity(checkout))
            return
        mine = sources(checkout, {})
        # The own folder goes first: it is of an earlier checkout at the same path.
        found = ([own] if own.exists() else []) + candidates(folders, own, mine)
        part = own.with_name(f"{own.name}.part")
        for folder in found:
            shutil.rmtree(part, ignore_errors=True)
            with still(folder) as quiet:
                listed = quiet and read_list(folder)
                if not listed:
                    continue
                part.mkdir()
                copy(folder, part, listed["taken"])
            others = align(checkout, mine, listed["files"])
            say(f"reusing what {listed['checkout']} has built; {others} of {len(mine)} files differ")
            break
        else:
            part.mkdir(exist_ok=True)
        shutil.rmtree(own, ignore_errors=True)
        (part / "checkout").write_text(identity(checkout))
        part.rename(own)


def run(command, folder):
    """Run it; what ends us by a signal ends it."""
    child = subprocess.Popen(command)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: child.send_signal(number))
    # The terminal sends it to both of us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    status = child.wait()
    with contextlib.suppress(OSError):
        note(folder)
    return status if status >= 0 else 128 - status


def main(verb, *command):
    folder = Path(os.environ["RKFD_BUILD"])
    if verb == "adopt":
        adopt(folder)
    elif verb == "note":
        note(folder)
    elif verb == "run":
        return run(command, folder)
    else:
        sys.exit(f"builds.py: no verb is called '{verb}'")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
