#!/usr/bin/env python3
"""Runs transformers' own tests of its models, with every model that they construct accelerated.

    transformers_tests.py CHECKOUT [MODEL …] [--pytest ARGUMENTS]

CHECKOUT is one of transformers in the version that is installed, since its packages have no such tests:

    git clone --depth 1 --branch v4.57.6 https://github.com/huggingface/transformers
    pip install pytest parameterized

MODEL is a folder of its tests/models, such as t5; without one, all are run whose attentions the package knows.
Tests run first as they are and then accelerated, at all lengths. Those that fail only then are listed, and the
exit status is 1.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path


_accelerated = []  # the numbers of attentions in models


def pytest_configure():
    """This file is the plugin of pytest, too: a model is accelerated where its construction ends."""
    import warnings

    import transformers

    import shiftgrad.torch as sg
    from shiftgrad.torch import accelerated

    accelerated.LEAST_SCORES = 0  # their models are small
    post_init = transformers.PreTrainedModel.post_init

    def accelerating(model):
        post_init(model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _accelerated.append(len(sg.accelerate(model)))

    transformers.PreTrainedModel.post_init = accelerating


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"{sum(_accelerated)} attentions were accelerated")


_summary = re.compile(r"^\d+ attentions were accelerated$", re.MULTILINE)


def known_models():
    from shiftgrad.torch.known_attentions import known
    return sorted({path.split(".")[-3] for path in known})


def outcomes(source, models, options, accelerates):
    """What became of each test, by its name, and a line with the sums."""
    files = [path for model in models for path in sorted((source / "tests/models" / model).glob("test_modeling_*.py"))]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        path = os.pathsep.join(filter(None, [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", f"--junitxml={report}",
                   *(["-p", "transformers_tests"] if accelerates else []), *options, *map(str, files)]
        run = subprocess.run(command, cwd=source, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env=os.environ | {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1"})
        if not report.exists():
            sys.exit(f"transformers_tests.py: pytest has not run:\n{run.stdout}")
        bad = {"failure": "failed", "error": "failed", "skipped": "skipped"}
        result = {f"{case.get('classname')}::{case.get('name')}": next(
            (bad[kind] for kind in bad if case.find(kind) is not None), "passed") for case in xml.parse(report).iter("testcase")}
    sums, said = Counter(result.values()), _summary.findall(run.stdout)
    return result, ", ".join([f"{sums[each]} {each}" for each in ("passed", "failed", "skipped")] + said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("checkout", type=Path, help="of transformers, in the version that is installed")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="folders of its tests/models")
    parser.add_argument("--pytest", default="", metavar="ARGUMENTS", help='for pytest, such as "-k generate"')
    arguments = parser.parse_args()
    source, options = arguments.checkout.resolve(), shlex.split(arguments.pytest)
    models = arguments.models or [each for each in known_models() if (source / "tests/models" / each).is_dir()]
    for model in models:
        if not (source / "tests/models" / model).is_dir():
            parser.error(f"{source} has no tests/models/{model}")
    before, sums = outcomes(source, models, options, False)
    print(f"as they are: {sums}", flush=True)
    if "passed" not in before.values():
        sys.exit(f"transformers_tests.py: none of {len(before)} tests passes as it is, so there is nothing to compare")
    after, sums = outcomes(source, models, options, True)
    print(f"accelerated: {sums}", flush=True)
    if sums.endswith(" 0 attentions were accelerated"):
        sys.exit("transformers_tests.py: these tests construct no model with an attention to accelerate")
    fails_only = lambda here, there: [name for name, each in here.items() if each == "failed" != there.get(name)]
    worse = fails_only(after, before)
    print(f"{len(fails_only(before, after))} of {len(before)} fail only as they are")
    print(f"{len(worse)} of {len(after)} fail only where the models are accelerated", *worse, sep="\n")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
