#!/usr/bin/env python3
"""Writes the data of a task for its program, and says how well what is usual in the field does on the same.

    baselines.py digits DATA [SEED]             # needs numpy, scikit-learn and safetensors
    baselines.py sunspots DATA                  # needs numpy, statsmodels and safetensors
    baselines.py adding [T [STEPS [SEED]]]      # needs PyTorch
    baselines.py copying [T [STEPS [SEED]]]     # needs PyTorch
    baselines.py serving [CLIENTS]              # needs PyTorch and transformers
    baselines.py gaps TEXT                      # for ../masked_bytes
"""
import collections
import random
import sys

import numpy as np


def digits(path, seed=1):
    """A fifth of the 1797 images is the test part, and a fifth of the others the validation part, drawn by the seed."""
    from safetensors.numpy import save_file
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
    print(f"logistic regression {100 - best(make_pipeline(StandardScaler(), LogisticRegression(C=c, max_iter=5000)) for c in strengths):.1f} % wrong")
    print(f"SVC {100 - best(SVC(C=c, gamma=g) for c in (1, 10, 100) for g in (3e-4, 1e-3, 3e-3)):.1f} % wrong")


def sunspots(path):
    """The yearly numbers of 1700 to 2008, of which 1940 to 2008 are the test part."""
    import statsmodels.api as sm
    from safetensors.numpy import save_file

    years = sm.datasets.sunspots.load_pandas().data.SUNACTIVITY.to_numpy()
    save_file({"sunspots": years.astype(np.float32)}, path)
    order, begin = 9, 240
    for fitted in (200, 240):
        rows = np.array([np.r_[1, years[t - order:t][::-1]] for t in range(order, fitted)])
        weights = np.linalg.lstsq(rows, years[order:fitted], rcond=None)[0]
        for ahead in (1, 2, 5, 10):
            errors = []
            for t in range(begin, len(years)):
                past = list(years[:t - ahead + 1])
                for _ in range(ahead):
                    past.append(weights[0] + weights[1:] @ past[:-order - 1:-1])
                errors.append(past[-1] - years[t])
            print(f"AR(9) of 1700 to {1699 + fitted}, {ahead} ahead: {np.sqrt(np.mean(np.square(errors))):.1f}")
    print(f"the year 11 before: {np.sqrt(np.mean((years[begin:] - years[begin - 11:-11])**2)):.1f}")


def lstm(inputs, outputs, batch, loss, steps, seed):
    """Trains an LSTM of 96 channels at each of three rates, and prints its last losses."""
    import torch

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.LSTM(inputs, 96, num_layers=2, batch_first=True)
            self.output = torch.nn.Linear(96, outputs)

        def forward(self, x):
            return self.output(self.layers(x)[0])

    for rate in (1e-3, 4e-3, 1e-2):
        torch.manual_seed(seed)
        model, last = Model(), []
        optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps, pct_start=0.1)
        for _ in range(steps):
            x, target = batch()
            error = loss(model(x), target)
            optimizer.zero_grad()
            error.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
            optimizer.step()
            schedule.step()
            last = (last + [error.item()])[-100:]
        print(f"LSTM, rate {rate}: {sum(last) / len(last):.5f}, the mean of the last 100 steps", flush=True)


def adding(T=200, steps=1000, seed=1):
    import torch

    def batch():
        x = torch.zeros(16, T, 2)
        x[..., 0].uniform_()
        places = torch.stack([torch.randint(0, T // 2, (16,)), torch.randint(T // 2, T, (16,))], 1)
        x[..., 1].scatter_(1, places, 1)
        return x, (x[..., 0] * x[..., 1]).sum(1)

    lstm(2, 1, batch, lambda y, sums: torch.nn.functional.mse_loss(y[:, -1, 0], sums), steps, seed)


def copying(T=200, steps=1000, seed=1):
    import torch

    def batch():
        letters = torch.randint(1, 9, (16, 10))
        blanks = torch.zeros(16, T - 1, dtype=torch.long)
        given = torch.cat([letters, blanks, torch.full((16, 11), 9)], 1)
        return torch.nn.functional.one_hot(given, 10).float(), letters

    lstm(10, 9, batch, lambda y, letters: torch.nn.functional.cross_entropy(y[:, -10:].transpose(1, 2), letters),
         steps, seed)


def serving(clients=4):
    """A GPT-2 of the size that char_lm trains by default answers 5 lines of 200 tokens for each client, in threads."""
    import concurrent.futures
    import time
    import torch
    import transformers

    torch.set_num_threads(1)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=65, n_positions=256, n_embd=128, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=None)).eval()
    prompt = torch.randint(65, (1, 12))

    def answer(_):
        return sum(model.generate(prompt, max_new_tokens=200, do_sample=False, pad_token_id=0).shape[1] - prompt.shape[1]
                   for _ in range(5))
    answer(0)
    for count in (1, clients):
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            tokens = sum(pool.map(answer, range(count)))
        print(f"{count} clients: {tokens / (time.monotonic() - begin):.0f} tokens per second")


def gaps(path):
    """Fills each blank of the last tenth of a text by the byte that most often stood between its two neighbours."""
    text = open(path, "rb").read()
    begin, between = len(text) * 9 // 10, collections.defaultdict(collections.Counter)
    for before, byte, after in zip(text[:begin], text[1:begin], text[2:begin]):
        between[before, after][byte] += 1
    draw, right, blanks = random.Random(1), 0, 0
    for n in range(begin + 1, len(text) - 1):
        if draw.randrange(7) == 0:
            likeliest = between[text[n - 1], text[n + 1]].most_common(1)
            blanks, right = blanks + 1, right + (bool(likeliest) and likeliest[0][0] == text[n])
    print(f"the likeliest byte between two: {100 * right / blanks:.0f} % of the blanks are filled rightly")


if __name__ == "__main__":
    tasks = {"digits": digits, "sunspots": sunspots, "adding": adding, "copying": copying, "serving": serving, "gaps": gaps}
    if len(sys.argv) < 2 or sys.argv[1] not in tasks:
        sys.exit(__doc__)
    tasks[sys.argv[1]](*(int(word) if word.isdigit() else word for word in sys.argv[2:]))
