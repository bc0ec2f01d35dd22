#!/usr/bin/env python3
"""Makes the library wrong, one mistake at a time, and says which mistakes no test finds: mutants.py [NAME…]

    mutants.py                 # all of them: about an hour on two cores
    mutants.py attention clip  # those whose name or file has one of these words
    mutants.py --list          # shows them, and which no longer apply; builds nothing
    mutants.py --own           # the file's own tests alone, without those of others and the laws

Each is built in a copy of the project, build-mutants, where the sources lie as they are in the working tree. A mistake
that survives its file's own tests is tried on all tests in floats; what survives these, too, wants a test. The status is
1 where one survives. A new mistake is one more line of MUTANTS: a name, a file, a text that stands there once, and what
stands there in its place.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parent.parent
CPU_SECONDS = 900  # of one process: a mistake may go on for ever


class Mutant(NamedTuple):
    name: str
    file: str
    text: str
    wrong: str
    own: str = ""  # tests of this file, as tests/<file> where it is empty


ATTENTION = "ops/attention*"  # and the tests in that folder
MUTANTS = [
    # Attention: tiles, and what is carried from one to the next.
    Mutant("dropout's row offset", "ops/attention/pairs.cpp", "tile.row_number() + i;",
           "tile.row_number() - tile.first + i;", ATTENTION),
    Mutant("dropout's key offset", "ops/attention/pairs.cpp", "problem.K + tile.key_begin + begin,",
           "problem.K + begin,", ATTENTION),
    Mutant("dropout of the first row of a batch", "ops/attention/pairs.cpp",
           "a.dropout.first_row * tile.problem.H * tile.problem.T + ", "", ATTENTION),
    Mutant("sums of y are not rescaled", "ops/attention/forward.cpp",
           "{y.rows_from(first, count), by_clipped.rows_from(first, count)}",
           "{by_clipped.rows_from(first, count)}", ATTENTION),
    Mutant("sums by clipped distance are not rescaled", "ops/attention/forward.cpp",
           "{y.rows_from(first, count), by_clipped.rows_from(first, count)}",
           "{y.rows_from(first, count)}", ATTENTION),
    Mutant("the total is not rescaled", "ops/softmax_row.cpp", "  total *= kept;\n", "", "ops/*"),
    Mutant("a row that sees nothing but -inf", "ops/softmax_row.cpp",
           "sums[i] = rows[i].greatest == none ? 0 : not_a_number;", "sums[i] = not_a_number;", "ops/*"),
    Mutant("no gradient of key_scores", "ops/attention/block_gradients.cpp",
           "if (gradients.key_scores.wanted())\n", "if (false)\n", ATTENTION),
    Mutant("a sink that the factor scales", "ops/attention/forward.cpp",
           "SoftmaxRow::of(block.sink())", "SoftmaxRow::of(block.sink() * *block.problem.a.factor)", ATTENTION),
    Mutant("no gradient of keys by position_queries", "ops/attention/block_gradients.cpp",
           "if (!gradients.key.wanted() && !gradients.position_queries.wanted()) return;",
           "if (!gradients.position_queries.wanted()) return;", ATTENTION),
    Mutant("no gradient of position_queries alone", "ops/attention/block_gradients.cpp",
           "if (!gradients.key.wanted() && !gradients.position_queries.wanted()) return;",
           "if (!gradients.key.wanted()) return;", ATTENTION),
    Mutant("gradients in place where heads share elements", "core/interval.cpp",
           "return !both.is_broadcast() && !both.overlaps();", "return true;", "core/layout"),
    Mutant("gradients in place whatever other inputs share", "ops/attention/gradients.cpp",
           "return !x.shares_storage(*other) || layout.surely_disjoint(other->layout());", "return other != nullptr;",
           ATTENTION),
    Mutant("queries' gradients are sums of strips", "ops/attention/gradients.cpp",
           "  if (parts_ == Parts::rows) task %= input_.size(1) * input_.size(2) * input_.size(3);\n", "", ATTENTION),
    Mutant("too short a table of position_queries", "ops/attention_check.cpp",
           '  check_distances("position_queries", a.position_queries, a.visibility.sight.causal, T, K);\n', "", ATTENTION),
    Mutant("too short a table of position_rows", "ops/attention_check.cpp",
           '  check_distances("position_rows", a.position_rows, a.visibility.sight.causal, T, K);\n', "", ATTENTION),
    Mutant("a two-way table as short as a causal one", "ops/attention_check.cpp",
           "causal ? K : saturated_sum(K, std::max<int64_t>(T - 1, 0))", "K", ATTENTION),
    Mutant("rows of a block that sees nothing", "ops/attention/forward.cpp", "    if (!sees) clear_matrix(forward.y);\n", "",
           ATTENTION),
    Mutant("gradients of a block that sees nothing", "ops/attention/block_gradients.cpp", "  if (!sees) clear_matrix(dq);\n", "",
           ATTENTION),
    Mutant("a tile that one mask hides", "ops/attention/tile.cpp", "if (!b || !b[j]) return false;", "if (!b) return false;",
           ATTENTION),
    # Layers.
    Mutant("no clamp of distances to the future", "nn/transformer_xl_attention.cpp", "std::clamp(delta, -most, most)",
           "std::min(delta, most)", "nn/attention"),
    Mutant("the gradient of rotate is not added", "nn/positions.cpp", "(beta == 0 ? 0 : beta * to) + value", "value"),
    Mutant("ALiBi's slopes between powers of two", "nn/positions.cpp", "slope(2 * (h - power), 2 * power)",
           "slope(h - power, 2 * power)"),
    Mutant("AFT's cached values are not reordered", "nn/aft_cache.cpp", "  values_.reorder(members);\n", ""),
    Mutant("AFT's cached keys are not reordered", "nn/aft_cache.cpp", "  keys_.reorder(members);\n", ""),
    Mutant("AFT's sums are not reordered", "nn/aft_cache.cpp", "  if (!sums_.values.empty()) sums_ = members_of(sums_, members);\n", ""),
    Mutant("biases of AFT beyond their bound", "ops/aft/passes.cpp", "  if (!fit) return std::nullopt;\n", "", "ops/aft*"),
    Mutant("no dropout of the embedding", "nn/models/token_embedding.cpp", "return context.drop(x, config.dropout);",
           "return x;", "nn/models/*"),
    Mutant("no dropout before the output", "nn/models/language_model.cpp",
           "Tensor features = context.drop(y, config.dropout);", "Tensor features = y;", "nn/models/*"),
    Mutant("no dropout before the decoder's output", "nn/models/encoder_decoder.cpp", "output(own.drop(y, config.dropout))",
           "output(y)", "nn/models/*"),
    Mutant("no sinusoids in the embedding", "nn/models/token_embedding.cpp", "x = x + sinusoids(", "sinusoids(",
           "nn/models/*"),
    Mutant("repetition makes unlikely tokens likelier", "nn/models/sampling.cpp",
           "x < 0 ? x * sampling.repetition_penalty : x / sampling.repetition_penalty", "x / sampling.repetition_penalty"),
    Mutant("the order of equal scores of rows", "nn/models/beam_search.cpp",
           "std::tuple(-one.log_probability, one.next.row, one.next.token)",
           "std::tuple(-one.log_probability, -one.next.row, one.next.token)"),
    Mutant("the order of equal scores of tokens", "nn/models/beam_search.cpp",
           "std::tuple(-one.log_probability, one.next.row, one.next.token)",
           "std::tuple(-one.log_probability, one.next.row, -one.next.token)"),
    Mutant("a beam that is not reordered", "nn/models/beam_search.cpp", "cache->reorder(rows);", "{}"),
    # Core and ops.
    Mutant("zero_gradient of a column clears the whole", "core/tensor.cpp",
           "  bool whole = count() == storage_->value->count() &&", "  bool whole = true ||"),
    Mutant("zero_gradient of a part leaves it", "core/tensor.cpp",
           "  Walk<1>({&layout_}).each(0, count(), [&](const auto& at) { gradient[at[0]] = 0; });\n", ""),
    Mutant("zero_gradient of a part that is expanded", "core/tensor.cpp",
           "(count() == 0 || !layout_.is_broadcast())", "true"),
    Mutant("the rest of a gradient is not cleared", "core/tensor.cpp",
           "    fill(storage.gradient->data(), size, 0);\n", ""),
    Mutant("tapes of two threads train one tensor", "core/guards.cpp",
           "if (entries_of(now) > 0 && now >> 32 != this_thread()) return false;", "", "core/tape"),
    Mutant("a second recording on a spent tape", "core/tape.cpp",
           '  require(!spent_, "tape: recording after the backward pass; make a new Tape for each pass");\n', ""),
    Mutant("the gradient of dropout is not added", "ops/dropout.cpp", "beta == 0 ? nullptr : dx.data()", "nullptr"),
    Mutant("dropout's rows of a later member", "ops/dropout.cpp", "pattern.first_row * row", "0 * row"),
    # Training.
    Mutant("a gradient that is not finite is clipped", "optim/clip.cpp", " || !std::isfinite(norm)", ""),
    Mutant("gradients are not clipped", "optim/clip.cpp", "factor >= 1", "true"),
    Mutant("no save where patience ends", "optim/training_loop.cpp", "(stop || out_of_patience() || is_due(save_interval))",
           "(stop || is_due(save_interval))"),
    Mutant("patience of one evaluation more", "optim/training_loop.cpp", "evaluations_since_best >= config_.patience",
           "evaluations_since_best > config_.patience"),
]


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def run(*command, **more):
    return subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **more)


class Copy:
    """The project as it is now, and a build of its tests in floats."""

    def __init__(self, folder):
        self.sources, self.build = folder / "project", folder / "build"
        files = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=PROJECT).stdout.splitlines()
        for name in files:
            source, target = PROJECT / name, self.sources / name
            if source.is_file() and not (target.exists() and target.read_bytes() == source.read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        if not (self.build / "build.ninja").exists():
            # Less of the compiler's work, of which there is much, and the same answers.
            made = run("meson", "setup", self.build, self.sources, "--buildtype=release", "-Doptimization=1",
                       "-Ddefault_library=shared", "-Dmpi=disabled")
            if made.returncode:
                sys.exit(made.stdout)

    def make(self):
        made = run("ninja", "-C", self.build, "tests/tests-core", "tests/tests-f32")
        return made.returncode == 0, made.stdout

    def fails(self, files):
        """The first test that fails of those whose file is like one of these, or None."""
        for program in ("core", "f32"):
            chosen = f"--source-file={','.join(f'*tests/{file}.cpp' for file in files)}"
            tests = run(self.build / f"tests/tests-{program}", chosen, "--abort-after=1",
                        "--source-file-exclude=*tests/laws/learning.cpp", cwd=self.build, preexec_fn=limited)
            if tests.returncode:
                cases = [line.split(":", 1)[1].strip() for line in tests.stdout.splitlines() if line.startswith("TEST CASE:")]
                return cases[0] if cases else f"ends with status {tests.returncode}"
        return None


def own_tests(mutant):
    return [mutant.own or str(Path(mutant.file).with_suffix("")).replace("composed_", "")]


def try_one(copy, mutant, own_only):
    """Who finds it: a test's name, or None."""
    path = copy.sources / mutant.file
    right = path.read_text()
    path.write_text(right.replace(mutant.text, mutant.wrong))
    try:
        fine, said = copy.make()
        if not fine:
            errors = [line for line in said.splitlines() if "error:" in line]
            return f"the compiler: {errors[0] if errors else said[-200:]}"
        found = copy.fails(own_tests(mutant))
        return found if found or own_only else copy.fails(["*"])
    finally:
        path.write_text(right)


def main():
    parser = argparse.ArgumentParser(description="Says which mistakes in the library no test finds.")
    parser.add_argument("words", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--folder", type=Path, default=PROJECT / "build-mutants")
    options = parser.parse_args()
    chosen = [mutant for mutant in MUTANTS
              if not options.words or any(word in f"{mutant.name} {mutant.file}" for word in options.words)]
    lost = [mutant for mutant in chosen if (PROJECT / mutant.file).read_text().count(mutant.text) != 1]
    if options.list:
        for mutant in chosen:
            print(f"{mutant.file}: {mutant.name}" + ("  (does not apply)" if mutant in lost else ""))
        return 1 if lost else 0

    os.environ.pop("OPENBLAS_CORETYPE", None)
    begin = time.monotonic()
    copy = Copy(options.folder.absolute())
    print("building what is right", flush=True)
    fine, said = copy.make()
    if not fine:
        sys.exit(said)
    survivors = []
    for n, mutant in enumerate(chosen, 1):
        if mutant in lost:
            print(f"[{n}/{len(chosen)}] {mutant.file}: {mutant.name}: does not apply", flush=True)
            continue
        found = try_one(copy, mutant, options.own)
        print(f"[{n}/{len(chosen)}] {mutant.file}: {mutant.name}: {found or 'SURVIVES'}", flush=True)
        if not found:
            survivors.append(mutant)
    print(f"\n{len(survivors)} of {len(chosen) - len(lost)} survive, after {(time.monotonic() - begin) / 60:.0f} minutes"
          + (f"; {len(lost)} do not apply" if lost else ""))
    for mutant in survivors:
        print(f"  {mutant.file}: {mutant.name}")
    return 1 if survivors or lost else 0


if __name__ == "__main__":
    sys.exit(main())
