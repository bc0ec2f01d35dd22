"""Steps in PyTorch, in ways that compare.py does not try.

    with_pytorch.py CASE.npz float32|bfloat16 WAY

With "bfloat16 weights" there is no autocast: the model's weights are bfloat16, and the optimizer's floats.
flex_attention is none of them, since it has no backward pass on CPUs.
"""
import sys

import torch

import steps
import pytorch_cases as cases

models = cases.models
COMPILED = {
    "compiled": {},
    "max-autotune": {"mode": "max-autotune"},
    "cpp_wrapper": {"options": {"cpp_wrapper": True}},
}
WEIGHTS = "with bfloat16 weights"
WAYS = ["eager", *COMPILED, "eager with jemalloc", f"eager {WEIGHTS}", f"compiled {WEIGHTS}"]


def loaded(model, case):
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(case[name]))
    return model


def model_of(case):
    """The model or the layer of a case, with its weights."""
    if "x" in case:
        make = models.AftTable if "position_bias" in case else models.FusedAttention
        return loaded(make(case["x"].shape[2], case["x"].shape[1] if make is models.AftTable else cases.HEADS), case)
    layers, heads, width, length, _ = map(int, case["shape"])
    if "position" in case:
        return loaded(models.Transformer(cases.VOCABULARY, width, layers, heads, length), case)
    attention = cases.fast_forms.TransformerXLAttention
    return loaded(models.TransformerXL(attention, cases.VOCABULARY, width, layers, heads, length), case)


class MasterWeights:
    """Floats beside the weights of a model in bfloat16, which get the gradients and give the values."""

    def __init__(self, model):
        self.model = model
        self.masters = [parameter.detach().float().requires_grad_() for parameter in model.parameters()]

    def parameters(self):
        return self.masters

    def take_gradients(self):
        for master, parameter in zip(self.masters, self.model.parameters()):
            master.grad, parameter.grad = parameter.grad.float(), None

    def give_values(self):
        with torch.no_grad():
            torch._foreach_copy_(list(self.model.parameters()), self.masters)


def make_step(case, precision, way):
    rows = (steps.batches if "position" in case else steps.streams)(case) if "shape" in case else None
    model = model_of(case)
    masters = MasterWeights(model) if "weights" in way else None
    if masters:
        model.to(torch.bfloat16)
    options = COMPILED.get(way, {})
    prepare = (lambda function: torch.compile(function, **options)) if not way.startswith("eager") else lambda function: function
    autocast = torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16" and not masters)
    return (layer_step if rows is None else language_step)(case, model, masters, prepare, autocast, rows)


def layer_step(case, model, masters, prepare, autocast, _):
    run = prepare(model)
    kind = model.output.weight.dtype
    x, cotangent = (torch.from_numpy(case[name]).to(kind) for name in ("x", "cotangent"))
    x.requires_grad_()

    def step():
        x.grad = None
        model.zero_grad(set_to_none=True)
        with autocast:
            y = run(x)
        y.backward(cotangent.to(y.dtype))
        if masters:
            masters.take_gradients()
        return [y.detach().float(), x.grad.float()]

    return step


def language_step(case, model, masters, prepare, autocast, rows):
    layers, heads, width, length, batch = map(int, case["shape"])
    has_memory = "position" not in case

    def loss_of(rows, memory):
        logits, memory = model(rows[:, :-1], memory) if has_memory else (model(rows[:, :-1]), memory)
        return cases.language_loss(logits.float(), rows[:, 1:]), memory

    run = prepare(loss_of)
    optimizer = cases.adamw(masters or model, (0.9, 0.99), weight_decay=0.1)
    state = {"memory": [torch.zeros(batch, length, width)] * layers if has_memory else []}

    def step():
        with autocast:
            loss, state["memory"] = run(torch.from_numpy(next(rows)).long(), state["memory"])
        if not masters:
            cases.update(model, optimizer, loss)
            return [loss.detach()]
        loss.backward()
        masters.take_gradients()
        torch.nn.utils.clip_grad_norm_(masters.parameters(), 1.0)
        optimizer.step()
        masters.give_values()
        return [loss.detach()]

    return step


if __name__ == "__main__":
    torch.set_num_threads(2)
    steps.run(lambda case, precision: make_step(case, precision, sys.argv[3]), f"PyTorch {torch.__version__}", warm=1)
