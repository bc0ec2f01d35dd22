"""The operators shiftgrad::forward and shiftgrad::backward, and their one autograd.Function.

`forward` returns the output and a ticket: a tensor of one byte that stands for the tape of the forward
pass. PyTorch saves it as it saves every tensor, and the tape lives as long. `backward` runs the tape.
The tape reads the tensors of the call again, by address, while PyTorch may give a tensor other memory at
any time. So `backward` compares where they and the output are with where the tape saw them: what is in its
place is alive, since the caller holds it. Where one is not, where the ticket was copied, or where the tape
has run before (retain_graph), `backward` first runs forward again: so both are pure functions of tensors,
as torch.compile, torch.utils.checkpoint and hooks on saved tensors want them.
"""

import json

import torch

from shiftgrad import _extension

from .composed import derivatives
from .inputs import check, check_mask, check_seed, threads
from .watchers import refuse_tangents, unwatched

_library = torch.library.Library("shiftgrad", "DEF")
_call = "Tensor?[] tensors, Tensor? key_padding_mask, Tensor? attention_mask, Tensor? seed, " \
        "str name, str config, str precision, bool[] wanted"
_library.define(f"forward({_call}) -> (Tensor, Tensor)")
_library.define(f"backward(Tensor gradient, Tensor output, Tensor ticket, {_call}) -> Tensor[]")
_library.define("checked(Tensor holds, Tensor result, str complaint) -> Tensor")
_forward = torch.ops.shiftgrad.forward.default
_backward = torch.ops.shiftgrad.backward.default

_extensions = {torch.float32: _extension.float32, torch.float64: _extension.float64}


def extension(tensor):
    """The library's functions for the precision of a tensor."""
    return _extensions[tensor.dtype]


def _compute(tensors, key_padding_mask, attention_mask, seed, name, config, precision, wanted):
    output, ticket = extension(tensors[0]).forward(
        name, config, list(tensors), key_padding_mask, attention_mask, None if seed is None else seed.item(),
        precision, wanted, threads(),
    )
    return output, torch.empty(0, dtype=torch.uint8, device="cpu") if ticket is None else ticket


def _check(tensors, key_padding_mask, attention_mask, seed, name, *_):
    check(name, [f"tensors[{n}]" for n in range(len(tensors))], tensors)
    check_mask(name, "key_padding_mask", key_padding_mask)
    check_mask(name, "attention_mask", attention_mask)
    check_seed(name, seed)


def _checked_compute(*call):
    _check(*call)
    return _compute(*call)


def _compute_backward(gradient, output, ticket, *call):
    tensors, name, precision, wanted = call[0], call[4], call[-2], call[-1]

    def run(ticket, output):
        return extension(gradient).backward(
            name, ticket, gradient, output, list(tensors), precision, threads())

    gradients = run(ticket, output) if ticket.numel() else None
    if gradients is None:
        check(name, ["gradient", "x"], [gradient, tensors[0]])
        with torch.no_grad():
            output, ticket = _checked_compute(*call)
        gradients = run(ticket, output)
    return gradients


def _checked_compute_backward(gradient, output, ticket, *call):
    _check(*call)
    if not any(call[-1]):
        raise ValueError(f"{call[4]}: a backward pass of which no gradients are wanted")
    check(call[4], ["gradient", "output", "tensors[0]"], [gradient, output, call[0][0]])
    return _compute_backward(gradient, output, ticket, *call)


def _check_devices(name, tensors):
    """The dispatcher asks for mere shapes if any tensor is on the meta device."""
    for tensor in tensors:
        if tensor is not None and tensor.device != tensors[0].device:
            raise TypeError(f"{name}: a tensor on {tensor.device}, but the first is on {tensors[0].device}")


def width_of_logits(name, config):
    """The width of a model's output: of its logits, and of what is behind them if that is asked for."""
    config = json.loads(config)
    if name == "encoder_decoder":
        return config["target_vocab_size"]
    behind = config.get("return_hidden", False) + config["n_layer"] * config.get("return_memory", False)
    return config["vocab_size"] + behind * config["d_model"]


def _shape_of_output(tensors, key_padding_mask, attention_mask, seed, name, config, precision, wanted):
    _check_devices(name, [*tensors, key_padding_mask, attention_mask])
    x = tensors[0]
    if name in ("language_model", "encoder_decoder"):
        output = x.new_empty(*x.shape, width_of_logits(name, config))
    elif name == "relative_attention":
        if x.dim() != 4:
            raise ValueError(f"relative_attention: q {list(x.shape)}, expected [B, H, T, D]")
        (B, H, T, _), E = x.shape, tensors[2].shape[-1]
        output = x.new_empty(B, T, H, E).transpose(1, 2)
    else:
        output = torch.empty_like(x, memory_format=torch.contiguous_format)
    return output, torch.empty(int(any(wanted)), dtype=torch.uint8, device=x.device)


def _shapes_of_gradients(gradient, output, ticket, tensors, *rest):
    _check_devices(rest[3], [gradient, output, ticket, *tensors, *rest[:2]])
    return [torch.empty_like(tensor) for tensor, want in zip(tensors, rest[-1]) if want]


class _Differentiable(torch.autograd.Function):
    """A forward pass, by a function that it is given, and its backward pass."""

    @staticmethod
    def forward(ctx, forward, key_padding_mask, attention_mask, seed, text, *tensors):
        wanted = list(ctx.needs_input_grad[5:])
        output, ticket = forward(tensors, key_padding_mask, attention_mask, seed, *text, wanted)
        ctx.text, ctx.wanted = text, wanted
        ctx.save_for_backward(output, ticket, key_padding_mask, attention_mask, seed, *tensors)
        ctx.mark_non_differentiable(ticket)
        ctx.set_materialize_grads(False)
        return output, ticket

    @staticmethod
    def backward(ctx, gradient, _):
        if gradient is None:
            return (None,) * (5 + len(ctx.wanted))
        saved = ctx.saved_tensors  # which runs hooks
        backward = _compute_backward if unwatched((gradient, *saved)) else _backward
        run = _BackwardWithGraph.apply if torch.is_grad_enabled() else _run_once
        gradients = iter(run(backward, ctx.text, ctx.wanted, gradient, *saved))
        return (None,) * 5 + tuple(next(gradients) if want else None for want in ctx.wanted)


def _run_once(
    backward, text, wanted, gradient, output, ticket, key_padding_mask, attention_mask, seed, *tensors,
):
    return tuple(backward(
        gradient, output, ticket, tensors, key_padding_mask, attention_mask, seed, *text, wanted))


def _kept(tensors, key_padding_mask, attention_mask, seed, name, config, precision):
    """What dropout leaves of the probabilities of attention, as factors [B, H, T, K].

    With rows of the unit matrix as values, the output is the probabilities that are left.
    """
    if seed is None:
        return None
    rate, (q, k, v) = json.loads(config)["dropout_p"], tensors[:3]
    unit, width = torch.eye(k.shape[2], dtype=v.dtype, device=v.device), v.shape[3]
    pieces = []
    for columns in unit.split(width, dim=1):
        some = torch.nn.functional.pad(columns, (0, width - columns.shape[1])).expand_as(v)
        left = _compute([q, k, some, *tensors[3:9], None, *tensors[10:]], key_padding_mask, attention_mask, seed, name,
                        config, precision, [])[0]
        pieces.append(left[..., :columns.shape[1]] != 0)
    return torch.cat(pieces, -1).to(v.dtype) / (1 - rate)


def _without_autocast(backward):
    """Computes the equation in the dtype of the call, wherever its derivatives are asked for."""
    def run(*arguments):
        with torch.autocast("cpu", enabled=False):
            return backward(*arguments)
    return run


class _BackwardWithGraph(torch.autograd.Function):
    """A backward pass under create_graph=True. Attention alone has further derivatives, by its equation."""

    @staticmethod
    def forward(ctx, backward, text, wanted, gradient, output, ticket, key_padding_mask, attention_mask, seed, *tensors):
        ctx.text, ctx.wanted = text, wanted
        ctx.save_for_backward(gradient, key_padding_mask, attention_mask, seed, *tensors)
        return _run_once(backward, text, wanted, gradient, output, ticket, key_padding_mask, attention_mask, seed,
                         *tensors)

    @staticmethod
    @_without_autocast
    def backward(ctx, *cotangents):
        if ctx.text[0] != "relative_attention":
            raise NotImplementedError(f"{ctx.text[0]}: shiftgrad computes no second derivatives")
        gradient, *masks, seed, = ctx.saved_tensors[:4]
        tensors, create_graph = ctx.saved_tensors[4:], torch.is_grad_enabled()
        with torch.no_grad():
            kept = _kept(tensors, *masks, seed, *ctx.text)
        first, gradient, tensors = derivatives(
            gradient, tensors, ctx.wanted, *masks, ctx.text[1], kept, create_graph=True)
        given = [(f, c) for f, c in zip(first, cotangents) if c is not None and f.requires_grad]
        inputs, needs = (gradient, *tensors), (ctx.needs_input_grad[3], *ctx.needs_input_grad[9:])
        asked = [each for each, need in zip(inputs, needs) if need]
        second = iter(torch.autograd.grad(
            [f for f, _ in given], asked, [c for _, c in given], create_graph=create_graph, allow_unused=True)
            if given else [None] * len(asked))
        second = [next(second) if need else None for need in needs]
        return None, None, None, second[0], *(None,) * 5, *second[1:]


def _below_autograd(operator):
    def run(*arguments):
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*arguments)
    return run


_forward_below, _backward_below = _below_autograd(_forward), _below_autograd(_backward)


def _wants_gradients(tensors):
    return torch.is_grad_enabled() and any(each is not None and each.requires_grad for each in tensors)


def _autograd_forward(tensors, key_padding_mask, attention_mask, seed, name, config, precision, wanted):
    refuse_tangents(name, tensors)
    if not _wants_gradients(tensors):
        return _forward_below(
            tensors, key_padding_mask, attention_mask, seed, name, config, precision, wanted)
    if torch._C._are_functorch_transforms_active():
        raise NotImplementedError(f"{name}: torch.func cannot differentiate it; torch.autograd can")
    return _Differentiable.apply(
        _forward_below, key_padding_mask, attention_mask, seed, (name, config, precision), *tensors)


def _autograd_backward(
    gradient, output, ticket, tensors, key_padding_mask, attention_mask, seed, name, config, precision,
    wanted,
):
    refuse_tangents(name, [gradient, *tensors])
    run = _BackwardWithGraph.apply if _wants_gradients([gradient, *tensors]) else _run_once
    return list(run(
        _backward_below, (name, config, precision), wanted, gradient, output, ticket, key_padding_mask,
        attention_mask, seed, *tensors))


@_without_autocast
def _batched_backward(gradient, output, ticket, tensors, key_padding_mask, attention_mask, seed, name, *rest):
    """The backward pass for a batch of gradients, as is_grads_batched has it: by the equation of attention."""
    if name != "relative_attention":
        raise NotImplementedError(f"{name}: torch.vmap has no rule for shiftgrad::backward; a layer takes batches itself")
    wanted, call = rest[2], (key_padding_mask, attention_mask)
    kept = _kept(tensors, *call, seed, name, *rest[:2])
    tensors = [each.detach().requires_grad_() if want else each for each, want in zip(tensors, wanted)]
    return list(derivatives(gradient, tensors, wanted, *call, rest[0], kept, create_graph=False)[0])


def _refusal(name_at, why):
    def refuse(*arguments):
        raise NotImplementedError(f"{arguments[name_at]}: {why}")
    return refuse


for _operator, _kernel, _autograd, _batched, _name_at in (
    ("forward", _checked_compute, _autograd_forward, _refusal(
        4, "torch.vmap has no rule for shiftgrad::forward; a layer takes batches itself"), 4),
    ("backward", _checked_compute_backward, _autograd_backward, _batched_backward, 7),
):
    _library.impl(_operator, _kernel, "CPU")
    _library.impl(_operator, _autograd, "Autograd")
    for _key in ("FuncTorchBatched", "Batched"):  # of torch.vmap, and of is_grads_batched
        _library.impl(_operator, _batched, _key)
    _library.impl(_operator, _refusal(
        _name_at, f"torch.jit.trace cannot record shiftgrad::{_operator}; torch.export can"), "Tracer")
torch.library.register_fake("shiftgrad::forward", _shape_of_output, lib=_library)
torch.library.register_fake("shiftgrad::backward", _shapes_of_gradients, lib=_library)


def _checked(holds, result, complaint):
    if not holds:
        raise ValueError(complaint)
    return result.clone()


_library.impl("checked", _checked, "CPU")
torch.library.register_fake("shiftgrad::checked", lambda holds, result, complaint: torch.empty_like(result), lib=_library)


def checked(holds, result, complaint):
    """Returns the result. Raises a ValueError unless `holds`, a tensor of one bool, is true.

    In a compiled graph that is seen when the graph runs.
    """
    return torch.ops.shiftgrad.checked.default(holds, result, complaint)


def call(tensors, key_padding_mask, attention_mask, seed, name, config, precision):
    """Returns the output. A call that nobody watches takes a shorter way than the dispatcher's."""
    if torch.compiler.is_compiling() or not unwatched((*tensors, key_padding_mask, attention_mask, seed)):
        return _forward(tensors, key_padding_mask, attention_mask, seed, name, config, precision, [])[0]
    if _wants_gradients(tensors):
        return _Differentiable.apply(
            _compute, key_padding_mask, attention_mask, seed, (name, config, precision), *tensors)[0]
    return _compute(tensors, key_padding_mask, attention_mask, seed, name, config, precision, [])[0]
