#!/usr/bin/env python3
"""Says how a step's milliseconds on one thread divide into kinds of work, as `scaling --threads 1` times them.

    tests/bench/kinds.py BUILD_FOLDER [--rounds N] [--only TEXT] [--before WORDS] [--results FILE]

Each parallel region is of the kind below in whose list its function is. What runs between regions is `alone`. Of several
rounds the one with the shortest step counts.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import sizes  # noqa: E402

CASES = ["transformer L6 H6 d384 T256 B8", "transformer_xl L4 H4 d256 T128 M128 B16", "aft local s32 T1024 B2"]
KINDS = {
    "products": ["multiply_blocks", "blas_product"],
    "packing, rounding": ["Packed::pack", "copy_to_rows", "HeadFactors"],
    "attention, AFT": ["attention_forward", "attention_backward", "forward_in", "backward_in", "multiply_in_parts", "AftProducts",
                       "add_bias_gradient", "Diagonals"],
    "norms": ["normalized"],
    "activations, additions": ["unary", "zipped", "write_weighted"],
    "sums of gradients": ["accumulate", "sum_slices", "fill", "scatter_add", "add_shifted"],
    "AdamW, clipping": ["gradient_norm", "Optimizer::step"],
}
REGION = re.compile(r" +[\d.]+ +([\d.]+) +([\d.]+) +\S+ +\d+ x (.*)")


def kind_of(name):
    return next((kind for kind, functions in KINDS.items() if any(function in name for function in functions)), "the rest")


def divided(options, case, precision):
    """Milliseconds of each kind of work."""
    lines, *_ = sizes.lines_of(options, options.build / "tests/bench/scaling", "--only", case, "--precision", precision,
                               "--threads", 1)
    spent = dict.fromkeys([*KINDS, "the rest", "alone"], 0)
    for found in filter(None, (REGION.match(line) for line, _ in lines)):
        alone, work, name = found.groups()
        spent["alone"] += float(alone)
        spent[kind_of(name)] += float(work)
    return spent


def row(options, case, precision):
    spent = min((divided(options, case, precision) for _ in range(options.rounds)), key=lambda one: sum(one.values()))
    return [f"{case}, {precision}", round(sum(spent.values()), 1), *(round(each, 1) for each in spent.values())]


def main():
    options = sizes.parser_of(__doc__, None, "cases").parse_args()
    columns = ["milliseconds", *({"title": title, "form": "{:.1f}"} for title in ["step", *KINDS, "the rest", "alone"])]
    sizes.print_rows(options, "kinds", columns, (row(options, case, precision) for case in CASES if options.only in case
                                                 for precision in ("float32", "bfloat16")))


if __name__ == "__main__":
    main()
