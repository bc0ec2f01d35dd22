"""Checks an installed wheel beside the PyTorch that is there.

.packaging/pythons.sh runs it where nothing else is installed.
"""

import contextlib
import importlib.metadata
import io
import platform
from pathlib import Path

import torch

import shiftgrad
import shiftgrad.torch as sg
from shiftgrad.torch import accelerated


def layer_and_gradients():
    """Transformer-XL's attention and its gradients are those of the formula, in both precisions."""
    for dtype in (torch.float32, torch.float64):
        torch.manual_seed(1)
        B, H, T, D = 2, 3, 17, 8
        q, k, v = (torch.randn(B, H, T, D, dtype=dtype, requires_grad=True) for _ in range(3))
        rows = torch.randn(T, H, D, dtype=dtype, requires_grad=True)  # for the distances from T - 1 down to 0
        u, w = (torch.randn(H, D, dtype=dtype, requires_grad=True) for _ in range(2))
        inputs = (q, k, v, rows, u, w)
        i, j = torch.arange(T)[:, None], torch.arange(T)
        of_distance = rows[(T - 1 - i + j).clamp(0, T - 1)]  # [T, T, H, D]
        scores = (q + u[:, None]) @ k.transpose(2, 3) + torch.einsum("bhid,ijhd->bhij", q + w[:, None], of_distance)
        expected = (scores * D ** -0.5).masked_fill(j > i, -torch.inf).softmax(-1) @ v
        y = sg.relative_attention(q, k, v, content_bias=u, position_bias=w, position_rows=rows)
        torch.testing.assert_close(y, expected)
        factor = torch.randn_like(y)
        for ours, theirs in zip(torch.autograd.grad((y * factor).sum(), inputs),
                                torch.autograd.grad((expected * factor).sum(), inputs)):
            torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)

    layer = sg.layer("transformer_xl_attention", d_model=12, n_head=2)
    x = torch.randn(2, 9, 12, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.isfinite().all() and all(each.grad.isfinite().all() for each in layer.parameters())
    torch.testing.assert_close(torch.compile(layer, backend="aot_eager")(x), layer(x))


def accelerated_model():
    """T5 gives the same numbers after sg.accelerate."""
    from transformers import T5Config, T5Model
    torch.manual_seed(1)
    model = T5Model(T5Config(vocab_size=50, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)).eval()
    tokens = torch.randint(50, (2, 11))
    run = lambda: model(input_ids=tokens, decoder_input_ids=tokens).last_hidden_state
    expected = run()
    accelerated.LEAST_SCORES = 0  # so few tokens are else the model's own code's
    assert len(sg.accelerate(model)) == 6
    torch.testing.assert_close(run(), expected, rtol=1e-4, atol=1e-5)
    assert len(sg.restore(model)) == 6
    assert torch.equal(run(), expected)


def main():
    assert shiftgrad.__version__ == importlib.metadata.version("shiftgrad")
    licences = {file.name for file in importlib.metadata.files("shiftgrad") if "licenses" in file.parts}
    libraries = {file.name for file in importlib.metadata.files("shiftgrad") if file.parts[0] == "shiftgrad.libs"}
    assert len(licences) >= len(libraries) + 3, (licences, libraries)  # of the package, JSON and nanobind
    pages = io.StringIO()
    with contextlib.redirect_stdout(pages):
        help(sg.relative_attention)
        help(sg.Layer)
    assert "position_rows" in pages.getvalue() and "class Layer" in pages.getvalue()
    layer_and_gradients()
    accelerated_model()
    print(f"Python {platform.python_version()}, PyTorch {torch.__version__}, transformers "
          f"{importlib.metadata.version('transformers')}: {Path(shiftgrad._extension.__file__).name} works")


if __name__ == "__main__":
    main()
