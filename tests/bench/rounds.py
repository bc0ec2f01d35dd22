"""How PyTorch's steps are timed: each a few times in a round, in turn with what they are compared with."""
import ctypes
import sys
import time

SLOWER = 1.5  # than the fastest of its precision: what is not timed in rounds
WARM = 3  # calls until a step is as it stays: torch.compile compiles again for the memory that a first call returns


def keep_large_blocks():
    """Lets glibc give no large block back, as MALLOC_MMAP_MAX_=0, MALLOC_TRIM_THRESHOLD_ and MALLOC_TOP_PAD_ do.

    What PyTorch makes anew in each step is then no page fault, which nearly halves what some steps cost."""
    if sys.platform == "linux":
        for option, value in {"M_MMAP_MAX": (-4, 0), "M_TRIM_THRESHOLD": (-1, -1), "M_TOP_PAD": (-2, 2**28)}.items():
            if ctypes.CDLL(None).mallopt(*value) != 1:
                sys.exit(f"mallopt refuses {option}")


def warm(step):
    for _ in range(WARM):
        step()


def timed(step, runs):
    """Milliseconds of each of `runs` steps, sorted, after one that is not counted, where there are several."""
    if runs > 1:
        step()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    return sorted(times)


def screened(steps, precision, always):
    """Of named steps, how often each is timed in a round, and a list with the time of each that is not.

    Those take SLOWER times as long as the fastest of their `precision`, and are not the fastest of `always`."""
    first = {}
    for name, step in steps.items():
        warm(step)
        [first[name]] = timed(step, 1)
    fastest = {}
    for name, milliseconds in first.items():
        fastest[precision(name)] = min(milliseconds, fastest.get(precision(name), milliseconds))
    named = min((name for name in first if always(name)), key=first.get, default=None)
    kept = {name: max(1, min(9, int(300 / milliseconds))) for name, milliseconds in first.items()
            if name == named or milliseconds <= SLOWER * fastest[precision(name)]}
    return kept, {name: [milliseconds] for name, milliseconds in first.items() if name not in kept}
