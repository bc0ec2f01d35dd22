"""What the tests of programs share: a test gives a program commands in an empty folder, and says what each of them
prints, writes or refuses. It goes on after what has failed, and counts what it has checked."""

import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zlib

# The programs say so if it keeps OpenBLAS from the CPU's best kernels.
os.environ.pop("OPENBLAS_CORETYPE", None)

# Where the tests are, and where a test is run.
TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

# The greatest number that 64 bits hold.
MOST = 9223372036854775807

# Nothing is read-only for root, but for a user without a name it is.
NOBODY = {} if os.getuid() else {"user": 65534, "group": 65534, "extra_groups": []}

checks = failures = 0


def check(holds, what):
    """Counts one check, and says what is wrong unless it holds."""
    global checks, failures
    checks += 1
    if not holds:
        failures += 1
        print("FAILED:", printable(what), flush=True)


def run(*parts):
    """Runs the parts of a test, which are functions, one after the other in a folder that disappears, and ends."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for part in parts:
                start = time.monotonic()
                part()
                print(f"{part.__name__}: {time.monotonic() - start:.1f} s", flush=True)
        finally:
            for process in Started.all:
                process.kill()
            os.chdir("/")
    print(f"{checks} checks, {failures} failed")
    sys.exit(failures > 0)


def printable(text):
    return str(text).encode("utf-8", "backslashreplace").decode()


# --- Files.


def write(path, text):
    """Bytes that are no UTF-8 stand in the text as Python has them in names of files."""
    with open(path, "wb") as file:
        file.write(as_bytes(text))


def read(path):
    with open(path, "rb") as file:
        return as_text(file.read())


def as_bytes(text):
    return text.encode("utf-8", "surrogateescape")


def as_text(content):
    return content.decode("utf-8", "surrogateescape")


def lines(count):
    """A text to train on."""
    return "".join(f"line {n * n % 100}\n" for n in range(count))


def all_files(folder="."):
    """Each regular file in the folder, with a checksum of what it holds."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as file:
                    found[path] = zlib.crc32(file.read())
    return found


def metrics(folder):
    """The lines of a run's metrics without its speeds."""
    return re.sub(r',"tokens_per_second[^}]*', "", read(f"{folder}/metrics.jsonl"))


def check_report(found, file="report.html"):
    """The report has what read_report.py finds in it by these words."""
    reader = [sys.executable, f"{TESTS}/examples/apps/runs/read_report.py", file, *shlex.split(found)]
    check(subprocess.run(reader).returncode == 0, f"the report {file}: {found}")


# --- Commands.


def changed(flags, changes):
    """The flags, but for those that the changes give anew, and then the changes."""
    anew = {word.partition("=")[0] for word in shlex.split(changes) if word.startswith("--")}
    kept, keeps = [], True
    for word in shlex.split(flags):
        if word.startswith("--"):
            keeps = word.partition("=")[0] not in anew
        if keeps:
            kept.append(word)
    return f"{shlex.join(kept)} {changes}"


class Ended:
    """What a program left: its status as a shell has it, and what it said."""

    def __init__(self, status, output, errors):
        self.status = status if status >= 0 else 128 - status
        self.output = as_text(output)
        self.errors = as_text(errors)


class Started:
    """A program that runs beside the test in a folder, where files have what it says, and may be stopped by signals.
    None outlives the test."""

    all = []

    def __init__(self, words, folder, **surroundings):
        self.files = [f"{folder}/output", f"{folder}/errors"]
        with open(self.files[0], "wb") as output, open(self.files[1], "wb") as errors:
            self.process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=errors,
                                            preexec_fn=default_signals, **surroundings)
        self.all.append(self.process)

    def awaits(self, condition):
        """Waits until it holds. False if the program has ended before, or done nothing for ten minutes."""
        idle, taken = 0, None
        while not condition():
            if self.process.poll() is not None:
                return condition()
            before, taken = taken, self.cpu_time()
            idle = idle + 1 if taken == before else 0
            if idle > 30000:
                return False
            time.sleep(0.02)
        return True

    def cpu_time(self):
        """In hundredths of a second, with that of processes that it has waited for; of one that has ended 0."""
        try:
            fields = read(f"/proc/{self.process.pid}/stat").rpartition(")")[2].split()
        except OSError:
            return 0
        return sum(map(int, fields[11:15]))

    def end(self, number=None):
        """Waits for it, after this signal, and returns how it ended."""
        if number:
            self.process.send_signal(number)
        status = self.process.wait()
        return Ended(status, *(as_bytes(read(file)) for file in self.files))


def default_signals():
    """Lets a program take the signals that are ignored in the background of a shell."""
    for number in "INT", "TERM", "HUP", "USR1", "XCPU":
        signal.signal(getattr(signal, f"SIG{number}"), signal.SIG_DFL)


class Program:
    """A program that is used as people do, by a command as a shell would get it."""

    def __init__(self, path):
        self.path = os.path.realpath(path)
        self.name = os.path.basename(path)

    def words(self, command):
        return [self.path, *shlex.split(command)]

    def is_for(self, user):
        """Whether that user may run it."""
        return subprocess.run(["test", "-x", self.path], **user).returncode == 0

    def start(self, command, folder=".", **surroundings):
        return Started(self.words(command), folder, **surroundings)

    def run(self, command, stdin="", **surroundings):
        """Does it, whatever comes of it. Standard input is a text or an open file."""
        if isinstance(stdin, str):
            surroundings["input"] = as_bytes(stdin)
        else:
            surroundings["stdin"] = stdin
        done = subprocess.run(self.words(command), capture_output=True, **surroundings)
        return Ended(done.returncode, done.stdout, done.stderr)

    def succeeds(self, command, **surroundings):
        """It ends with status 0, whatever it says. Returns how."""
        done = self.run(command, **surroundings)
        check(done.status == 0, f"{self.name} {command}: status {done.status}: {done.errors}")
        return done

    def runs(self, command, *expected, **surroundings):
        """It succeeds without a word on standard error, and some line of its output matches each regular expression
        that is expected. Returns the output."""
        done = self.succeeds(command, **surroundings)
        check(done.errors == "", f"{self.name} {command}: errors: {done.errors}")
        for line in expected:
            found = re.search(line, done.output, re.MULTILINE)
            check(found, f"{self.name} {command}: no line '{line}' in: {done.output}")
        return done.output

    def ends(self, command, status, *expected, **surroundings):
        """It ends with this status and one line of error, which has all texts in it that are expected. Returns how."""
        done = self.run(command, **surroundings)
        check(done.status == status, f"{self.name} {command}: status {done.status}, expected {status}: {done.errors}")
        check(done.errors.count("\n") == 1, f"{self.name} {command}: not one line: {done.errors}")
        for text in expected:
            check(text in done.errors, f"{self.name} {command}: no '{text}' in: {done.errors}")
        return done

    def fails(self, command, *expected, status=1, **surroundings):
        """It ends so, and changes no file."""
        before = all_files()
        done = self.ends(command, status, *expected, **surroundings)
        check(all_files() == before, f"{self.name} {command}: a file changed")
        return done

    def refuses(self, command, *expected, **surroundings):
        """It fails with status 2, before it has printed anything."""
        done = self.fails(command, *expected, status=2, **surroundings)
        check(done.output == "", f"{self.name} {command}: output: {done.output}")

    def refuses_each(self, cases):
        """Refuses each command with the text beside it."""
        for command, text in cases:
            self.refuses(command, text)

    def refuses_values(self, command, flags, value, text):
        """Refuses each of these flags with this value. The text has a place for the flag."""
        for flag in flags.split():
            self.refuses(changed(command, f"--{flag} {value}"), text.format(flag))

    def score(self, command):
        """What eval prints of a run, without the line that says how the training scored it."""
        return self.runs(f"eval {command}").splitlines()[:4]
