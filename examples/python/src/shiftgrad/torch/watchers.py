"""Who looks on at a call: whatever traces, transforms or counts PyTorch's operators.

A small call spends most of its time in PyTorch's dispatcher, so calls pass it over where nobody would
see the difference.
"""

import torch
from torch.autograd import forward_ad

_plain = {torch.Tensor, torch.nn.Parameter, type(None)}
_keys = torch._C.DispatchKeySet(torch._C.DispatchKey.BackendSelect)
# What the dispatcher heeds on a thread where nothing looks on, in inference mode and elsewhere.
_usual = {keys.raw_repr() for keys in (_keys, _keys.add(torch._C.DispatchKey.ADInplaceOrView))}


def unwatched(tensors):
    """Whether a call on these tensors may pass the dispatcher over."""
    return (
        _plain.issuperset(map(type, tensors))
        and torch._C._dispatch_tls_local_include_set().raw_repr() in _usual
        and not torch._C._is_torch_function_mode_enabled()
        and not has_tangents()
        and not torch.autograd._profiler_enabled()
    )


def has_tangents():
    """Whether forward-mode differentiation is under way."""
    return forward_ad._current_level >= 0


def refuse_tangents(name, tensors):
    """Raises a NotImplementedError where forward-mode differentiation would lose a tangent."""
    if not has_tangents():
        return
    for tensor in tensors:
        if tensor is not None and forward_ad.unpack_dual(tensor).tangent is not None:
            raise NotImplementedError(f"{name}: shiftgrad computes no forward-mode derivatives (jvp)")


def is_traced():
    """Whether a trace records, or a transform of torch.func computes."""
    if torch._C._get_tracing_state() or torch._C._are_functorch_transforms_active():
        return True
    if not torch._C._len_torch_dispatch_stack():
        return False
    from torch.fx.experimental.proxy_tensor import get_proxy_mode  # which takes long to import
    return get_proxy_mode() is not None


def refuse_records(name, tensors, reason="a step has a state, so it"):
    """Raises a NotImplementedError where a trace would keep the result of a step as a constant, or a
    transform would not see the computation."""
    refuse_tangents(name, tensors)
    if is_traced() or not _plain.issuperset(map(type, tensors)):
        raise NotImplementedError(f"{name}: {reason} can be neither traced nor transformed")
