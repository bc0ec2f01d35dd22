"""The page of the claims in Markdown, from their results."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import tables  # noqa: E402

BEGINNING = """# Claims, put to the test

Written by `examples/studies/claims.sh` on a text of {bytes} bytes. Flags of all trainings with `char_lm`,
unless a command says otherwise:

    {flags}

Numbers are bits per character on the held-out end of the text, unless the table says otherwise: a mean, its
deviation over the seeds, and in brackets their number. One comparison, named before the trainings, decides each
claim, and its models have the most seeds; the others are also asked. A setting in which a claim can show was sought
before that, with one to three seeds. The answer is yes if the difference has
p < 0.01 in a two-sided t-test, opposite if it has that with the other sign, and else no. The test is paired where
both scores are of the same runs, else Welch's. Brackets behind a comparison have the difference, its standard error
and p. With {asked} comparisons, about {chance:.1f} would be yes or opposite by
chance alone. `examples/studies/claims.sh --list` has the command of each training and score.
{programs}
| claim | | by |
|---|---|---|
{summary}
{sections}
"""
WORDS = {"yes": "holds", "no": "not at this size", "opposite": "the opposite holds"}


def finding(comparison):
    """The sentence of a comparison with its difference, standard error and p."""
    difference = comparison["difference"]
    difference = 0.0 if -0.0005 < difference < 0 else difference
    p = f"p = {comparison['p']:.4f}" if "p" in comparison else f"p < {comparison['p_below']:.4f}"
    return f"{comparison['sentence']} ({difference:+.3f} ± {comparison['error']:.3f}, {p})"


def section(claim):
    deciding, *others = sorted(claim["comparisons"], key=lambda comparison: not comparison.get("decides"))
    minutes = f", {claim['minutes']} min of one core" if "minutes" in claim else ""
    parts = [f"## {claim['title']}\n{claim['source']}\n{claim['trainings']} trainings{minutes}: "
             f"`examples/studies/claims.sh TEXT {claim['name']}`"]
    for table in claim["tables"]:
        columns = ["", *({"title": column, "form": table["form"]} for column in table["columns"])]
        parts += [table["text"], tables.table({"columns": columns, "rows": table["rows"]})]
    parts.append(f"**{WORDS[deciding['answer']]}**: {finding(deciding)}")
    parts.append("\n".join(f"- {other['answer']}: {finding(other)}" for other in others))
    return "\n\n".join(part for part in [*parts, claim.get("reason")] if part)


def summary(claim):
    [deciding] = [comparison for comparison in claim["comparisons"] if comparison.get("decides")]
    anchor = claim["title"].lower().replace(" ", "-").translate(dict.fromkeys(map(ord, ",.'():")))
    return f"| [{claim['title']}](#{anchor}) | {WORDS[deciding['answer']]} | {finding(deciding)} |"


def page(results):
    claims = results["claims"]
    asked = sum(len(claim["comparisons"]) for claim in claims)
    programs = f"\nThe programs were those of commit {results['commit']}.\n" if "commit" in results else ""
    return BEGINNING.format(
        bytes=results["bytes"], flags=results["flags"], asked=asked, chance=asked / 100, programs=programs,
        summary="\n".join(map(summary, claims)), sections="".join("\n" + section(claim) + "\n" for claim in claims)[:-1])
