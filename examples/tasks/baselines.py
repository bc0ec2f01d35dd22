#!/usr/bin/env python3
"""Writes the data of a task for its program, and says how well what is usual in the field does on the same split.

    data.py digits digits.safetensors [SEED]    # needs numpy, scikit-learn and safetensors
    data.py sunspots sunspots.safetensors       # needs numpy, statsmodels and safetensors
"""
import sys

import numpy as np
from safetensors.numpy import save_file


def digits(path, seed=1):
    """A fifth of the 1797 images is the test part, and a fifth of the others the validation part, drawn by the seed."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    images, labels = load_digits(return_X_y=True)
    rest, test, rest_labels, test_labels = train_test_split(
        images, labels, test_size=0.2, random_state=seed, stratify=labels)
    train, validation, train_labels, validation_labels = train_test_split(
        rest, rest_labels, test_size=0.2, random_state=seed, stratify=rest_labels)
    parts = {"train": (train, train_labels), "validation": (validation, validation_labels), "test": (test, test_labels)}
    save_file({name: array for part, (pixels, digit) in parts.items() for name, array in [
        (part + ".images", pixels.astype(np.uint8).reshape(-1, 8, 8)), (part + ".labels", digit.astype(np.int64))]}, path)

    def best(models):
        """The test score of the model that the validation part likes best."""
        fitted = [model.fit(train, train_labels) for model in models]
        return 100 * max(fitted, key=lambda model: model.score(validation, validation_labels)).score(test, test_labels)

    strengths = [10.0**n for n in range(-4, 4)]
    print(f"logistic regression {best(make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=5000)) for c in strengths):.1f} %")
    print(f"SVC {best(SVC(C=c, gamma=g) for c in (1, 10, 100) for g in (3e-4, 1e-3, 3e-3)):.1f} %")


def sunspots(path):
    """The yearly numbers of 1700 to 2008. AR(9) is fitted to 1700 to 1939, and tested on 1940 to 2008."""
    import statsmodels.api as sm

    years = sm.datasets.sunspots.load_pandas().data.SUNACTIVITY.to_numpy()
    save_file({"sunspots": years.astype(np.float32)}, path)
    order, begin = 9, 240
    rows = np.array([np.r_[1, years[t - order:t][::-1]] for t in range(order, begin)])
    weights = np.linalg.lstsq(rows, years[order:begin], rcond=None)[0]
    for ahead in (1, 10):
        errors = []
        for t in range(begin, len(years)):
            past = list(years[:t - ahead + 1])
            for _ in range(ahead):
                past.append(weights[0] + weights[1:] @ past[:-order - 1:-1])
            errors.append(past[-1] - years[t])
        print(f"AR(9), {ahead} ahead: {np.sqrt(np.mean(np.square(errors))):.1f}")
    print(f"the year 11 before: {np.sqrt(np.mean((years[begin:] - years[begin - 11:-11])**2)):.1f}")


if __name__ == "__main__":
    {"digits": digits, "sunspots": sunspots}[sys.argv[1]](sys.argv[2], *map(int, sys.argv[3:]))
