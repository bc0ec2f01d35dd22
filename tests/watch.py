#!/usr/bin/env python3
"""Ends tests that hang: watch.py PID

Each test below the process PID is a session of its own. One whose processes have taken no CPU time for ten minutes
waits for something that does not come. Time that passes does not count: a machine may be slow, and then takes its time
for others.
"""

import os
import signal
import sys
import time
from pathlib import Path

PATIENCE = 600  # seconds
EVERY = 20


def sessions():
    """The CPU time of each session's processes and of those that these waited for; and who started whom."""
    taken, parents = {}, {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parent, session = int(fields[1]), int(fields[3])
        parents[int(entry.name)] = parent
        taken[session] = taken.get(session, 0) + sum(map(int, fields[11:15]))
    return taken, parents


def is_below(process, root, parents):
    while process in parents and process != root:
        process = parents[process]
    return process == root


def main():
    root, own = int(sys.argv[1]), os.getsid(0)
    since = {}  # what a session had taken when it last took any, and when that was
    while Path(f"/proc/{root}").exists():
        taken, parents = sessions()
        now = time.monotonic()
        for session, time_taken in taken.items():
            if session == own or not is_below(session, root, parents):
                continue
            before, when = since.get(session, (None, now))
            since[session] = (time_taken, when if before == time_taken else now)
            if now - since[session][1] > PATIENCE:
                print(f"A test took no CPU time for {PATIENCE} s and is ended: process {session}", flush=True)
                os.killpg(session, signal.SIGKILL)
        since = {session: what for session, what in since.items() if session in taken}
        time.sleep(EVERY)


if __name__ == "__main__":
    main()
