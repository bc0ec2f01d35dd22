"""The page of the claims in Markdown, from their results and from what decided them before."""

import textwrap

from decisions import Decisions, finding, tables

BEGINNING = """# Claims, put to the test

`examples/studies/claims.sh` wrote this page on a text of {bytes} bytes; `claims.sh --list` has the command of each
training and score. All trainings with `char_lm` have these flags, unless a command says otherwise:

    {flags}

Each number is a mean of bits per character on the whole held-out end of the text, unless its table says otherwise.
Behind it stand the deviation over the seeds and, in brackets, how many seeds. Behind a comparison stand its difference,
the standard error and p of a two-sided t-test, which is paired where both scores are of the same runs, and Welch's
elsewhere. The comparison says yes if p < 0.01 and the difference is as expected, opposite if p < 0.01 and it has the
other sign, and no otherwise. With {asked} comparisons, about {chance:.1f} would be yes or opposite by chance alone.{measured}

One comparison decides a claim, and its models have the most seeds. At first (ae65522) there was another rule: a
comparison held beyond three standard errors, and a claim held in part if some of its comparisons did. Of fourteen
claims, one held, eleven held in part, and two did not. With these scores of three seeds known, commit 2d03836 took
p < 0.01, named one deciding comparison for each claim, and cut two titles. Six of the fourteen said no. More seeds
turned two of the six into yes. The other four were asked again in a new setting, and so was the reach, which had said
yes. Finding such a setting took one to three seeds, which nobody kept. Eight titles promised more than their numbers
give, and now say less.

The page therefore keeps every comparison that ever decided a claim (`history.json`), with the commit that printed it
first: this table has the newest. The end of each section has the others, and what was chosen with results in view.
Where newer programs made a training again, its score moved by up to 0.005 bits, and once by 0.038. Seeds count from 1,
so ten contain the first three. Holm's method corrects p for all comparisons that decided a claim, and by that p the
newest gives the verdict. A claim whose older setting still says no holds in some settings only.

A new decision takes fresh seeds: name the claim in a commit, run `FIRST_SEED=1001 examples/studies/claims.sh TEXT CLAIM`
once, and add what it says to `history.json`. Two of the sixteen claims have had one, AFT's window and rotary positions.
All models of a claim have one rate, unless a row says otherwise, and no search of it is on record for any of them.

| claim | | decided in | seeds | commit | p by Holm | comparisons | trainings | minutes |
|---|---|---|---|---|---:|---|---:|---:|
{summary}
{sections}
"""
MEASURED = {"commit": "The programs were those of commit {commit}.", "cpu": "Minutes are processor time on {cpu}."}


def filled(text):
    """The words in lines of 120 characters; a null is a space at which no line ends."""
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def section(claim, decisions):
    parts = [f"## {claim['title']}\n" + filled(f"{claim['source']} (`claims.sh\0TEXT\0{claim['name']}`)")]
    for table in claim["tables"]:
        columns = ["", *({"title": column, "form": table["form"]} for column in table["columns"])]
        parts += [table["text"], tables.table({"columns": columns, "rows": table["rows"]})]
    others = [other for other in claim["comparisons"] if not other.get("decides")]
    parts.append("\n".join([f"{decisions.verdict('**{}**')}: {finding(decisions.now)}",
                            *(f"- {other['answer']}: {finding(other, decisions.corrected(other))}" for other in others),
                            *decisions.earlier()]))
    told = decisions.told and filled(f"*History.* {decisions.told}")
    return "\n\n".join(part for part in [*parts, claim.get("reason"), told] if part)


def summary(claim, decisions):
    anchor = claim["title"].lower().replace(" ", "-").translate(dict.fromkeys(map(ord, ",.'():")))
    cost = str(claim["trainings"]), str(claim.get("minutes", "–"))
    cells = [decisions.verdict(), *decisions.cells(), decisions.tried(), *cost]
    return f"| [{claim['title']}](#{anchor}) | {' | '.join(cells)} |"


def page(results):
    claims = [(claim, Decisions(claim, results)) for claim in results["claims"]]
    asked = sum(len(claim["comparisons"]) for claim in results["claims"])
    measured = [text.format(**results) for name, text in MEASURED.items() if name in results]
    return BEGINNING.format(
        bytes=results["bytes"], flags=results["flags"], asked=asked, chance=asked / 100,
        measured="\n" + filled(" ".join(measured)) if measured else "",
        summary="\n".join(summary(*claim) for claim in claims),
        sections="".join("\n" + section(*claim) + "\n" for claim in claims)[:-1])
