"""The new variant through PyTorch: its bits are those of the program $RUN_LAYER, and its slopes get gradients."""

import json
import os
import subprocess

import torch
from safetensors.torch import load_file, save_file

import shiftgrad.torch as sg

config = {"d_model": 6, "n_head": 2, "window": 4}
layer, x, dy = sg.layer("forgetting_attention", **config), torch.randn(2, 5, 6), torch.randn(2, 5, 6)
with torch.no_grad():
    layer.slope.uniform_(0.1, 1)
y = layer(x)
y.backward(dy)
case = {f"param.{key}": value.detach() for key, value in layer.state_dict().items()}
save_file(case | {"input.x": x, "grad_output": dy}, "case", {"layer": "forgetting_attention", "config": json.dumps(config)})
subprocess.run([os.environ["RUN_LAYER"], "case", "out"], check=True)
out = load_file("out")
assert torch.equal(y.detach(), out["output"])
assert torch.equal(layer.slope.grad, out["grad.param.slope"]) and layer.slope.grad.abs().min() > 0
