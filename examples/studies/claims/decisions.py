"""What decided a claim so far, and what all of it together says.

history.json has each comparison that decided a claim on a page of an earlier commit, in order. `setting` is what it
was asked in, `detail` is what else was other, and `also` means that it was asked again and decided nothing. Results
that the history has not are one comparison more. `told` says of each claim what was chosen when its numbers were known.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import tables  # noqa: E402

HISTORY = json.loads((HERE / "history.json").read_text())
WORDS = {"yes": "holds", "no": "not at this size", "opposite": "the opposite holds"}


def answer(p, difference):
    return "no" if p >= 0.01 else "yes" if difference > 0 else "opposite"


def bound(comparison):
    """Its p, or the bound that p is below."""
    return comparison["p"] if "p" in comparison else comparison["p_below"]


def holm(ps):
    """The p of each of these comparisons, corrected for their number by Holm's method."""
    corrected, worst = [0.0] * len(ps), 0.0
    for rank, n in enumerate(sorted(range(len(ps)), key=lambda n: ps[n])):
        worst = max(worst, min(1.0, ps[n] * (len(ps) - rank)))
        corrected[n] = worst
    return corrected


def p_text(comparison, p):
    return f"= {p:.4f}" if "p" in comparison else f"< {p:.4f}"


def difference_text(comparison):
    """The difference with its standard error; beside a margin, by how much the first of the two is worse."""
    difference, margin = comparison["difference"], comparison.get("margin", 0)
    difference = margin - difference if margin else difference
    difference = 0.0 if -0.0005 < difference < 0 else difference
    return f"{difference:+.3f} ± {comparison['error']:.3f}" + (f" against {margin:.3f}" if margin else "")


def setting_text(comparison):
    return ", ".join(filter(None, [comparison["setting"], comparison.get("detail")]))


def seeds_text(comparison):
    return "{} to {}".format(*comparison["seeds"])


def numbers_text(comparison):
    """Its difference, standard error and p."""
    return f"{difference_text(comparison)}, p {p_text(comparison, bound(comparison))}"


def by_holm(comparison, corrected):
    return f"by Holm {p_text(comparison, corrected).removeprefix('= ')}"


def finding(comparison, corrected=None):
    """The sentence of a comparison with its numbers, and with its p as it was corrected, if it was."""
    holm_text = "" if corrected is None else f", {by_holm(comparison, corrected)}"
    return f"{comparison['sentence']} ({numbers_text(comparison)}{holm_text})"


class Decisions:
    """The comparisons that decided a claim, those of HISTORY only for results of the same text and flags."""

    def __init__(self, claim, results):
        same = all(results[name] == HISTORY[name] for name in ("bytes", "flags"))
        self.rows = list(HISTORY["claims"].get(claim["name"], [])) if same else []
        self.told = HISTORY.get("told", {}).get(claim["name"]) if same else None
        [now] = [comparison for comparison in claim["comparisons"] if comparison.get("decides")]
        if not any(finding(row) == finding(now) for row in self.rows):
            settings = [row["setting"] for row in self.rows if row["sentence"] == now["sentence"]]
            setting = settings[-1] if settings else now["sentence"]
            self.rows.append({"commit": results.get("commit", "–"), "setting": setting, **now})
        self.ps = holm([bound(row) for row in self.rows])
        answers = [answer(p, row["difference"]) for row, p in zip(self.rows, self.ps)]
        self.now, self.answer = [(row, found) for row, found in zip(self.rows, answers) if not row.get("also")][-1]
        self.settings = list({row["setting"]: found for row, found in zip(self.rows, answers)}.values())

    def verdict(self, form="{}"):
        """The newest decision in words of this form, and in how many settings it holds if that is not all of them."""
        held, count = self.settings.count("yes"), len(self.settings)
        some = self.answer == "yes" and held < count
        return form.format(WORDS[self.answer]) + (f" in {held} of {count} settings" if some else "")

    def tried(self):
        """How many comparisons there were, and how many of these said no."""
        failed = [answer(bound(row), row["difference"]) for row in self.rows].count("no")
        return f"{len(self.rows)}" + (f", {failed} no" if failed else "")

    def earlier(self):
        """A line for each comparison but the newest decision."""
        for row, corrected in zip(self.rows, self.ps):
            if row is not self.now:
                asked = "also asked" if row.get("also") else "asked"
                where = f"{row['commit']} ({setting_text(row)}, seeds {seeds_text(row)})"
                yield f"- {asked} at {where}: {numbers_text(row)}, {by_holm(row, corrected)}"

    def corrected(self, other):
        """The p by Holm of another comparison that decided the claim once, with the same numbers, or nothing."""
        return next((p for row, p in zip(self.rows, self.ps)
                     if row is not self.now and numbers_text(row) == numbers_text(other)), None)

    def cells(self):
        """What the summary says of the newest decision: setting, seeds, commit, and p by Holm."""
        now = self.now
        setting = "–" if now["setting"] == now["sentence"] else setting_text(now)
        corrected = next(p for row, p in zip(self.rows, self.ps) if row is now)
        return [setting, seeds_text(now), now["commit"], p_text(now, corrected).removeprefix("= ")]
