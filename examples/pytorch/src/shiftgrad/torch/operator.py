"""The operators shiftgrad::forward and shiftgrad::backward, and their one autograd.Function.

`forward` returns the output and a ticket: a tensor of one byte that stands for the tape of the forward
pass. PyTorch saves it as it saves every tensor, and the tape lives as long. `backward` runs the tape.
Where the ticket was copied, or the tape has run before (retain_graph), it first runs forward again: so
both are pure functions of tensors, as torch.compile and torch.utils.checkpoint want them. `backward` is
given the output as well, so that nobody takes its memory meanwhile: the tape may read it.
"""

import torch

from shiftgrad import _extension

_library = torch.library.Library("shiftgrad", "DEF")
_call = "Tensor?[] tensors, Tensor? key_padding_mask, Tensor? attention_mask, Tensor? seed, " \
        "str name, str config, str precision, bool[] wanted"
_library.define(f"forward({_call}) -> (Tensor, Tensor)")
_library.define(f"backward(Tensor gradient, Tensor output, Tensor ticket, {_call}) -> Tensor[]")
_forward = torch.ops.shiftgrad.forward.default
_backward = torch.ops.shiftgrad.backward.default

_extensions = {torch.float32: _extension.float32, torch.float64: _extension.float64}


def extension(tensor):
    """The library's functions for the precision of a tensor."""
    return _extensions[tensor.dtype]


def _is_dense(tensor):
    """Whether the elements fill their memory, in any order of the axes."""
    if tensor.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _compute(tensors, key_padding_mask, attention_mask, seed, name, config, precision, wanted):
    # A gradient mirrors its tensor's memory, so that memory should have neither gaps nor repetitions.
    tensors = [
        tensor.clone() if want and not _is_dense(tensor) else tensor
        for tensor, want in zip(tensors, wanted)
    ] if wanted else list(tensors)
    output, ticket = extension(tensors[0]).forward(
        name, config, tensors, key_padding_mask, attention_mask, None if seed is None else seed.item(),
        precision, wanted, torch.get_num_threads(),
    )
    return output, torch.empty(0, dtype=torch.uint8) if ticket is None else ticket


def _compute_backward(gradient, output, ticket, *call):
    run, precision, threads = extension(gradient).backward, call[-2], torch.get_num_threads()
    gradients = run(ticket, gradient, precision, threads) if ticket.numel() else None
    if gradients is None:
        with torch.no_grad():
            _, ticket = _compute(*call)
        gradients = run(ticket, gradient, precision, threads)
    return gradients


def _shape_of_output(tensors, key_padding_mask, attention_mask, seed, name, config, precision, wanted):
    x = tensors[0]
    if name == "relative_attention":  # [B, H, T, D] that lies in memory as [B, T, H, D]
        output = torch.empty_like(x.transpose(1, 2), memory_format=torch.contiguous_format).transpose(1, 2)
    else:
        output = torch.empty_like(x, memory_format=torch.contiguous_format)
    return output, torch.empty(int(any(wanted)), dtype=torch.uint8, device=x.device)


def _shapes_of_gradients(gradient, output, ticket, tensors, *rest):
    return [torch.empty_like(tensor) for tensor, want in zip(tensors, rest[-1]) if want]


class _Differentiable(torch.autograd.Function):
    """A forward pass and its backward pass, both by functions that it is given."""

    @staticmethod
    def forward(ctx, forward, backward, key_padding_mask, attention_mask, seed, text, *tensors):
        wanted = list(ctx.needs_input_grad[6:])
        output, ticket = forward(tensors, key_padding_mask, attention_mask, seed, *text, wanted)
        ctx.backward, ctx.text, ctx.wanted = backward, text, wanted
        ctx.save_for_backward(output, ticket, key_padding_mask, attention_mask, seed, *tensors)
        ctx.mark_non_differentiable(ticket)
        ctx.set_materialize_grads(False)
        return output, ticket

    @staticmethod
    def backward(ctx, gradient, _):
        if gradient is None:
            return (None,) * (6 + len(ctx.wanted))
        output, ticket, *masks_and_seed_and_tensors = ctx.saved_tensors
        run = _OnceDifferentiable.apply if torch.is_grad_enabled() else _run_once
        gradients = iter(run(
            ctx.backward, ctx.text, ctx.wanted, gradient, output, ticket, *masks_and_seed_and_tensors))
        return (None,) * 6 + tuple(next(gradients) if want else None for want in ctx.wanted)


def _run_once(
    backward, text, wanted, gradient, output, ticket, key_padding_mask, attention_mask, seed, *tensors,
):
    return tuple(backward(
        gradient, output, ticket, tensors, key_padding_mask, attention_mask, seed, *text, wanted))


class _OnceDifferentiable(torch.autograd.Function):
    """A backward pass under create_graph=True."""

    @staticmethod
    def forward(ctx, *arguments):
        ctx.name = arguments[1][0]
        return _run_once(*arguments)

    @staticmethod
    def backward(ctx, *gradients):
        raise NotImplementedError(f"{ctx.name}: shiftgrad computes no second derivatives")


def _below_autograd(operator):
    def run(*arguments):
        with torch._C._AutoDispatchBelowAutograd():
            return operator(*arguments)
    return run


_forward_below, _backward_below = _below_autograd(_forward), _below_autograd(_backward)


def _wants_gradients(tensors):
    return torch.is_grad_enabled() and any(
        tensor is not None and tensor.requires_grad for tensor in tensors)


def _autograd_forward(tensors, key_padding_mask, attention_mask, seed, name, config, precision, wanted):
    if not _wants_gradients(tensors):
        return _forward_below(
            tensors, key_padding_mask, attention_mask, seed, name, config, precision, wanted)
    return _Differentiable.apply(
        _forward_below, _backward, key_padding_mask, attention_mask, seed, (name, config, precision),
        *tensors)


def _autograd_backward(
    gradient, output, ticket, tensors, key_padding_mask, attention_mask, seed, name, config, precision,
    wanted,
):
    run = _OnceDifferentiable.apply if _wants_gradients([gradient, *tensors]) else _run_once
    return list(run(
        _backward_below, (name, config, precision), wanted, gradient, output, ticket, key_padding_mask,
        attention_mask, seed, *tensors))


_library.impl("forward", _compute, "CPU")
_library.impl("backward", _compute_backward, "CPU")
_library.impl("forward", _autograd_forward, "Autograd")
_library.impl("backward", _autograd_backward, "Autograd")
torch.library.register_fake("shiftgrad::forward", _shape_of_output, lib=_library)
torch.library.register_fake("shiftgrad::backward", _shapes_of_gradients, lib=_library)

_plain = {torch.Tensor, torch.nn.Parameter, type(None)}


def call(tensors, key_padding_mask, attention_mask, seed, name, config, precision):
    """Returns the output. Plain tensors take a shorter way than the dispatcher's."""
    if torch.compiler.is_compiling() or not all(type(tensor) in _plain for tensor in tensors):
        return _forward(tensors, key_padding_mask, attention_mask, seed, name, config, precision, [])[0]
    if _wants_gradients(tensors):
        return _Differentiable.apply(
            _compute, _compute_backward, key_padding_mask, attention_mask, seed,
            (name, config, precision), *tensors)[0]
    return _compute(tensors, key_padding_mask, attention_mask, seed, name, config, precision, [])[0]
