"""Lists claims, or makes their trainings and prints the report.

    main.py list|run CLAIM…

claims.sh calls it; it gives texts, programs and flags as variables, and in PLACE/words what the claims say.
"""

import sys

import listing
import page
import report
import study
import tables
import training


def main():
    task, *names = sys.argv[1:]
    claims = study.read_claims(names)
    if task == "list":
        print("\n".join(listing.lines(claims)))
        return
    training.train({run: what for claim in claims for run, what in claim.plan().items()})
    results = report.results(claims)
    tables.write(study.PLACE / "results.json", results)
    print(page.page(results), end="")


if __name__ == "__main__":
    main()
