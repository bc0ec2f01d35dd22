"""The statistics of scores, one for each seed."""

import numpy
from scipy import stats


def deviation(scores):
    """The standard deviation over the seeds, 0 for a single one."""
    return float(numpy.std(scores, ddof=1)) if len(scores) > 1 else 0.0


def t_test(less, more, paired, margin=0.0):
    """How far the mean of `more` is above that of `less`, plus the margin; its standard error; and p, two-sided.

    Scores of the same runs are paired, others take Welch's test.
    """
    less, more = numpy.array(less, float), numpy.array(more, float)
    difference = float(more.mean() - less.mean() + margin)
    if min(len(less), len(more)) < 2:
        return difference, 0.0, 1.0
    if paired:
        squares = [numpy.var(more - less, ddof=1) / len(less)]
        degrees = len(less) - 1
    else:
        squares = [numpy.var(scores, ddof=1) / len(scores) for scores in (less, more)]
        parts = sum(s * s / (len(scores) - 1) for s, scores in zip(squares, (less, more)))
        degrees = sum(squares) ** 2 / parts if parts else 1
    error = float(numpy.sqrt(sum(squares)))
    if error < 1e-9:  # All scores are equal but for rounding.
        return difference, 0.0, float(abs(difference) <= 1e-9)
    return difference, error, float(2 * stats.t.sf(abs(difference) / error, degrees))
