"""Compares each function of examples/book/python, which the book shows beside a quote of C++, with what the library
computes: outputs, and gradients by autograd. A function without a comparison fails, and so does a comparison without
a function.

    python.py STUDY

STUDY is the program `study`, which computes in float. The functions compute in double.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

try:
    import torch
    from torch.nn import functional as F
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

sys.dont_write_bytecode = True
folder = Path(__file__).resolve().parents[3] / "examples/book/python"
tolerance = 2e-6  # of the greatest number that is compared
B, T, M, H, D = 2, 4, 3, 2, 4
C, K = H * D, M + T
comparisons = {}


def compares(function):
    comparisons[function.__name__] = function
    return function


def snippet(name):
    """The function of a file, which has the file's name."""
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


# What the library is asked, and what it answers.


def ask(*requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    ran = subprocess.run(sys.argv[1:], input=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    for request, answer in zip(requests, answers, strict=True):
        assert "error" not in answer, (request, answer)
    return answers


def as_json(x):
    kind = {torch.bool: "BOOL", torch.int64: "I64"}.get(x.dtype, "F32")
    return {"shape": list(x.shape), "values": [float(value) for value in x.detach().flatten()], "dtype": kind}


def as_tensor(answer):
    return torch.tensor(answer["values"], dtype=torch.float64).reshape(answer["shape"])


def run_layer(layer, config, tensors):
    request = {"do": "run_layer", "layer": layer, "config": config,
               "tensors": {name: as_json(x) for name, x in tensors.items()}}
    return {name: as_tensor(x) for name, x in ask(request)[0]["tensors"].items()}


def close(found, expected, what):
    assert found.shape == expected.shape, (what, found.shape, expected.shape)
    error, most = (found - expected).abs().max(), expected.abs().max()
    assert most > 0 and error <= tolerance * most, f"{what}: {error} off, of at most {most}"


def same_layer(layer, config, P, inputs, forward):
    """`forward` of the same tensors gives the library's output, and the same gradients of x and of all parameters."""
    learned = P | {"input.x": inputs["x"]}
    for x in learned.values():
        x.requires_grad_()
    y = forward()
    grad = draw(*y.shape)
    y.backward(grad)
    tensors = {f"input.{name}": x for name, x in inputs.items()} | {f"param.{name}": x for name, x in P.items()}
    answer = run_layer(layer, config, tensors | {"grad_output": grad})
    close(answer["output"], y.detach(), f"{layer}: output")
    for name, x in learned.items():
        close(answer[f"grad.{name if name == 'input.x' else 'param.' + name}"], x.grad, f"{layer}: gradient of {name}")


# Tensors and the parts of layers around what a function computes.


def draw(*shape):
    """Numbers that a float has exactly."""
    return (2 * torch.rand(shape) - 1).double()


def linear(name, rows, columns=C):
    return {f"{name}.weight": draw(rows, columns), f"{name}.bias": draw(rows)}


def multi_head(name="", biases=True):
    P = linear("qkv", 3 * C) | linear("output", C)
    return {name + key: x for key, x in P.items() if biases or key.endswith("weight")}


def split(x):
    return x.unflatten(-1, (H, D)).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).flatten(2)


def project(x, P, name):
    return F.linear(x, P[f"{name}.weight"], P.get(f"{name}.bias"))


def heads(x, memory, P):
    """q, k and v [B, H, T, D], as heads_with_memory and the split say."""
    weights, biases = P["qkv.weight"].chunk(3), P["qkv.bias"].chunk(3) if "qkv.bias" in P else (0, 0, 0)
    made = snippet("heads_with_memory")(x, memory, *weights)
    return [split(x + bias) for x, bias in zip(made, biases)]


def future(memory=M, tokens=T):
    return torch.ones(tokens, memory + tokens, dtype=torch.bool).triu(memory + 1)


def distances(memory=M):
    return memory + torch.arange(T)[:, None] - torch.arange(memory + T)


def softmax_and_answer(scores, v, hidden):
    return scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v


def inputs(memory=M):
    return {"x": draw(B, T, C)} | ({"memory": draw(B, memory, C)} if memory else {})


def same_attention(layer, config, P, mix, memory=M):
    """The same as same_layer for a layer in which `mix` makes [B, H, T, D] of q, k and v."""
    given = inputs(memory)
    none = torch.zeros(B, 0, C, dtype=torch.float64)
    same_layer(layer, {"d_model": C, "n_head": H} | config, P, given,
               lambda: project(merge(mix(*heads(given["x"], given.get("memory", none), P))), P, "output"))


# A comparison for each function.


@compares
def attention_weights(function):
    P = multi_head()
    hidden = future()
    same_attention("multi_head_attention", {}, P, lambda q, k, v: function(q, k, hidden) @ v)
    hidden = torch.ones(T, K, dtype=torch.bool)
    assert (function(draw(B, H, T, D), draw(B, H, K, D), hidden) == 0).all()
    answer = run_layer("multi_head_attention", {"d_model": C, "n_head": H}, {
        "input.attention_mask": hidden, "grad_output": draw(B, T, C), "param.output.bias": torch.zeros(C)} |
        {f"param.{name}": x for name, x in P.items() if name != "output.bias"} |
        {f"input.{name}": x for name, x in inputs().items()})
    assert (answer["output"] == 0).all()


@compares
def attention(function):
    same_attention("multi_head_attention", {}, multi_head(), lambda q, k, v: function(q, k, v, future()))


@compares
def visible(function):
    """Equal scores and one-hot values show which keys a query reads."""
    one_hot = torch.eye(K, dtype=torch.float64)[None]
    P = {"qkv.weight": torch.cat([torch.zeros(2 * K, K), torch.eye(K)]), "output.weight": torch.eye(K)}
    for window, chunk in (((2, 1), (2, 1)), ((K, 0), (3, 0)), ((1, 0), (K, K))):
        answer = run_layer("multi_head_attention", {
            "d_model": K, "n_head": 1, "bias": False, "window": window, "chunk": chunk}, {
            "input.x": one_hot[:, M:], "input.memory": one_hot[:, :M], "grad_output": draw(1, T, K)} |
            {f"param.{name}": x for name, x in P.items()})
        close(function(T, M, *window, *chunk).double(), (answer["output"][0] > 0).double(), "visible")


def layer_norm(P, name):
    return lambda x: F.layer_norm(x, (C,), P[f"{name}.weight"], P[f"{name}.bias"])


def feed_forward(P):
    return lambda x: project(project(x, P, "feed_forward.up").relu(), P, "feed_forward.down")


def plain_attention(P, name, hidden):
    """A layer of attention whose parameters have a name in front, of one or of two texts."""
    own = {key.removeprefix(name): x for key, x in P.items() if key.startswith(name)}
    weights = snippet("attention_weights")

    def layer(x, source=None):
        q, k, v = heads(x, x[:, :0], own)
        if source is not None:
            _, k, v = heads(source, source[:, :0], own)
        return project(merge(weights(q, k, hidden) @ v), own, "output")

    return layer


def block(*norms):
    P = linear("feed_forward.up", 3 * C) | linear("feed_forward.down", C, 3 * C)
    return P | {f"{name}.{part}": draw(C) for name in norms for part in ("weight", "bias")}


@compares
def residual(function):
    P = multi_head("mixer.") | block("mixer_norm", "feed_forward_norm")
    given = inputs(0)
    same_layer("transformer_block", {
        "mixer": {"type": "multi_head_attention", "d_model": C, "n_head": H}, "d_inner": 3 * C}, P, given,
        lambda: function(given["x"], plain_attention(P, "mixer.", future(0)), feed_forward(P),
                         [layer_norm(P, name) for name in ("mixer_norm", "feed_forward_norm")]))


@compares
def decoder_block(function):
    names = ("mixer_norm", "cross_attention_norm", "feed_forward_norm")
    P = multi_head("mixer.") | multi_head("cross_attention.") | block(*names)
    given = inputs(0) | {"context": draw(B, K, C)}
    same_layer("encoder_decoder_block", {
        "mixer": {"type": "multi_head_attention", "d_model": C, "n_head": H}, "d_inner": 3 * C}, P, given,
        lambda: function(given["x"], given["context"], plain_attention(P, "mixer.", future(0)),
                         plain_attention(P, "cross_attention.", torch.tensor(False)), feed_forward(P),
                         [layer_norm(P, name) for name in names]))


def transformer_xl(n=None):
    """Parameters of Transformer-XL's attention, with sinusoids or n learned distances."""
    P = multi_head(biases=False) | {"content_bias": draw(H, D)}
    if n:
        return P | {"position_embeddings": draw(n, H, D), "position_scalar_bias": draw(n, H)}
    return P | {"position.weight": draw(C, C), "position_bias": draw(H, D)}


@compares
def transformer_xl_scores(function):
    P = transformer_xl()
    rows = snippet("position_rows")
    same_attention("transformer_xl_attention", {}, P, lambda q, k, v: softmax_and_answer(
        function(q, k, P["content_bias"], P["position_bias"], rows(K, P["position.weight"], H)), v, future()))


@compares
def position_rows(function):
    P = transformer_xl()
    scores = snippet("transformer_xl_scores")
    for memory in (M, 0):
        P = transformer_xl()
        same_attention("transformer_xl_attention", {}, P, lambda q, k, v: softmax_and_answer(
            scores(q, k, P["content_bias"], P["position_bias"], function(memory + T, P["position.weight"], H)), v,
            future(memory)), memory)


@compares
def transformer_xl_layer(function):
    names = ("mixer_norm", "feed_forward_norm")
    P = {f"mixer.{name}": x for name, x in transformer_xl().items()} | block(*names)
    for bias in ("content_bias", "position_bias"):
        P[f"mixer.{bias}"] = draw(1, C)
    given = inputs()
    R = snippet("position_rows")(K, torch.eye(C, dtype=torch.float64), 1)[:, 0]

    def forward():
        own = [*P["mixer.qkv.weight"].chunk(3), P["mixer.position.weight"], P["mixer.output.weight"]]
        biases = [P["mixer.content_bias"], P["mixer.position_bias"]]
        norms = [layer_norm(P, name) for name in names]
        return torch.stack([function(h, m, R, *own, *biases, feed_forward(P), norms)
                            for h, m in zip(given["x"], given["memory"])])

    same_layer("transformer_block", {
        "mixer": {"type": "transformer_xl_attention", "d_model": C, "n_head": 1}, "norm_first": False, "d_inner": 3 * C},
        P, given, forward)


def labml(P):
    weights = multi_head(biases=False) | {"output.bias": draw(C), "value_bias": draw(C)}
    tables = {"key_pos_embeddings": draw(2 * P, H, D), "key_pos_bias": draw(2 * P, H)}
    return weights | tables | {"query_pos_bias": draw(H, D)}


def biased(v, P):
    return v + P["value_bias"].reshape(H, 1, D)


@compares
def labml_scores(function):
    P = labml(9)
    same_attention("relative_multi_head_attention", {"max_positions": 9}, P, lambda q, k, v: softmax_and_answer(
        function(q, k, P["query_pos_bias"], P["key_pos_embeddings"], P["key_pos_bias"]), biased(v, P), future()))


@compares
def labml_as_transformer_xl(function):
    P, given, grad = labml(9), inputs(), {"grad_output": draw(B, T, C)}
    P |= {"output.bias": torch.zeros(C), "value_bias": torch.zeros(C)}
    tensors = {f"input.{name}": x for name, x in given.items()} | grad
    one = run_layer("relative_multi_head_attention", {"d_model": C, "n_head": H, "max_positions": 9},
                    tensors | {f"param.{name}": x for name, x in P.items()})
    other = run_layer("transformer_xl_attention", {
        "d_model": C, "n_head": H, "positions": "learned", "max_positions": K},
        tensors | {f"param.{name}": x for name, x in function(P, K).items()})
    close(other["output"], one["output"], "output")
    close(other["grad.input.x"], one["grad.input.x"], "gradient")


def music(max_seq, both_ways=False):
    P = multi_head() | {"past_embeddings": draw(H, max_seq, D), "past_bias": draw(H, max_seq)}
    return P | ({"future_embeddings": draw(H, max_seq, D), "future_bias": draw(H, max_seq)} if both_ways else {})


@compares
def music_scores(function):
    P = music(T)
    same_attention("relative_global_attention", {"max_seq": T}, P, lambda q, k, v: softmax_and_answer(
        function(q, k, P["past_embeddings"], P["past_bias"]), v, future(0)), memory=0)


@compares
def rows_by_distance(function):
    P = music(K + 1, both_ways=True)
    column = K - 1 - distances()  # of each pair among the rows

    def mix(q, k, v):
        rows = function(P["past_embeddings"], P["future_embeddings"], T, K)[:, column]  # [H, T, K, D]
        s = function(P["past_bias"][..., None], P["future_bias"][..., None], T, K)[:, column, 0]
        scores = q @ k.transpose(-1, -2) + torch.einsum("bhid,hijd->bhij", q, rows) + s
        return (scores / D**0.5).softmax(-1) @ v

    # The row of the distance 0 ahead is nowhere, so its gradient is 0, as the library's is.
    same_attention("relative_global_attention", {"max_seq": K + 1, "bidirectional": True}, P, mix)


def shaw_layer(m):
    return multi_head() | {f"{kind}_distance_embeddings": draw(2 * m + 1, D) for kind in ("key", "value")}


def clipped(m):
    return (-distances()).clamp(-m, m) + m


@compares
def shaw(function):
    P = shaw_layer(2)
    same_attention("shaw_attention", {"max_distance": 2}, P, lambda q, k, v: function(
        q, k, v, P["key_distance_embeddings"], P["value_distance_embeddings"], future()))


@compares
def clipped_scores(function):
    P = shaw_layer(2)
    values = snippet("clipped_values")

    def mix(q, k, v):
        scores = function(q, k, P["key_distance_embeddings"], clipped(2)) / D**0.5
        p = scores.masked_fill(future(), -torch.inf).softmax(-1)
        return values(p, v, P["value_distance_embeddings"], clipped(2))

    same_attention("shaw_attention", {"max_distance": 2}, P, mix)


@compares
def clipped_values(function):
    P = {name: x for name, x in shaw_layer(1).items() if name != "key_distance_embeddings"}
    same_attention("shaw_attention", {"max_distance": 1, "key_positions": False}, P, lambda q, k, v: function(
        snippet("attention_weights")(q, k, future()), v, P["value_distance_embeddings"], clipped(1)))


@compares
def relative_attention(function):
    """Four variants, each with the terms that it has."""
    zero = {"content_bias": (H, 1, D), "position_bias": (H, 1, D), "position_rows": (K + T, H, D),
            "clipped_keys": (5, 1, D), "position_scores": (K + T, H), "clipped_values": (5, 1, D)}
    zero = {name: torch.zeros(shape, dtype=torch.float64) for name, shape in zero.items()}
    nearest_first = lambda rows: rows.flip(0)
    terms = {
        "transformer_xl_attention": ({}, transformer_xl(), lambda P: {
            "content_bias": P["content_bias"][:, None], "position_bias": P["position_bias"][:, None],
            "position_rows": nearest_first(snippet("position_rows")(K, P["position.weight"], H))}),
        "relative_multi_head_attention": ({"max_positions": K}, labml(K), lambda P: {
            "content_bias": P["query_pos_bias"][:, None],
            "position_rows": nearest_first(P["key_pos_embeddings"][: K + 1]),
            "position_scores": nearest_first(P["key_pos_bias"][: K + 1])}),
        "relative_global_attention": ({"max_seq": K}, music(K), lambda P: {
            "position_rows": nearest_first(P["past_embeddings"].transpose(0, 1)),
            "position_scores": nearest_first(P["past_bias"].T)}),
        "shaw_attention": ({"max_distance": 2}, shaw_layer(2), lambda P: {
            "clipped_keys": P["key_distance_embeddings"][:, None],
            "clipped_values": P["value_distance_embeddings"][:, None]}),
    }
    for layer, (config, P, named) in terms.items():
        same_attention(layer, config, P, lambda q, k, v: function(
            q, k, biased(v, P) if "value_bias" in P else v, distances(), clipped(2), **zero | named(P)))


@compares
def rotary(function):
    P = multi_head()
    same_attention("multi_head_attention", {"position": "rope"}, P, lambda q, k, v: softmax_and_answer(
        function(q, M + torch.arange(T)) @ function(k, torch.arange(K)).transpose(-1, -2) / D**0.5, v, future()))


@compares
def alibi(function):
    P = multi_head()
    same_attention("multi_head_attention", {"position": "alibi"}, P, lambda q, k, v: softmax_and_answer(
        q @ k.transpose(-1, -2) / D**0.5 + function(H, T, K), v, future()))


@compares
def heads_with_memory(function):
    del function  # `heads` calls it
    weights = snippet("attention_weights")
    same_attention("multi_head_attention", {"bias": False}, multi_head(biases=False),
                   lambda q, k, v: weights(q, k, future()) @ v)


def aft_layer():
    return linear("qkv", 3 * C) | linear("output", C) | {"position_bias": draw(K, K)}


@compares
def aft(function):
    P, given = aft_layer(), inputs()

    def forward():
        q, k, v = [merge(x) for x in heads(given["x"], given["memory"], P)]
        return project(function(q, k, v, P["position_bias"][M:], future()), P, "output")

    same_layer("aft", {"d_model": C, "form": "full", "max_len": K}, P, given, forward)


comparisons["aft_product"] = aft


@compares
def local_rnn(function):
    for cell, kind in {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}.items():
        net = kind(C, C, batch_first=True).double()
        P = {name.removesuffix("_l0"): x.detach().float().double() for name, x in net.named_parameters()}
        for name, x in P.items():
            delattr(net, f"{name}_l0")
            setattr(net, f"{name}_l0", torch.nn.Parameter(x))
        P = {name.removesuffix("_l0"): x for name, x in net.named_parameters()}
        given = inputs(0)
        same_layer("local_rnn", {"d_model": C, "window": 3, "cell": cell}, P, given,
                   lambda: function(given["x"], net, 3))


@compares
def r_transformer_block(function):
    P = multi_head("attention.") | block("local_norm", "attention_norm", "feed_forward_norm")
    P |= {f"local_rnn.{name}": draw(*shape) for name, shape in {
        "weight_ih": (C, C), "weight_hh": (C, C), "bias_ih": (C,), "bias_hh": (C,)}.items()}
    given, local = inputs(0), snippet("local_rnn")

    def rnn(x, h=0):
        for step in x.unbind(1):
            h = (F.linear(step, P["local_rnn.weight_ih"], P["local_rnn.bias_ih"]) +
                 F.linear(h * torch.ones_like(step), P["local_rnn.weight_hh"], P["local_rnn.bias_hh"])).tanh()
        return h[:, None], None

    parts = {"local_norm": lambda x: local(x, rnn, 3), "attention_norm": plain_attention(P, "attention.", future(0)),
             "feed_forward_norm": feed_forward(P)}
    same_layer("r_transformer_block", {"d_model": C, "n_head": H, "window": 3, "d_inner": 3 * C}, P, given, lambda: function(
        given["x"], [(part, P[f"{name}.weight"], P[f"{name}.bias"]) for name, part in parts.items()]))


@compares
def rel_shift(function):
    x = draw(B, H, T, K)
    close(run_layer("rel_shift", {}, {"input.x": x, "grad_output": x})["output"], function(x), "rel_shift")


def viewed(x, steps, grad=None):
    request = {"do": "views", "tensor": as_json(x), "steps": steps}
    return ask(request | ({} if grad is None else {"grad_output": as_json(grad)}))[0]["views"]


@compares
def rel_shift_view(function):
    x = draw(T, K)
    padded = F.pad(x, (1, 0))
    found, last = function(padded), viewed(x, [["pad_left"], ["rel_shift_view"]])[-1]
    assert last["strides"] == list(found.stride()) and last["offset"] == found.storage_offset(), last
    assert found.data_ptr() == padded.data_ptr() + T * padded.element_size()
    close(as_tensor(last), found, "rel_shift_view")


@compares
def slice_view(function):
    x = draw(T, K)
    for axis, begin, end in ((0, 1, 3), (1, 2, 7)):
        found, last = function(x, axis, begin, end), viewed(x, [["slice", axis, begin, end]])[-1]
        assert last["strides"] == list(found.stride()) and last["offset"] == found.storage_offset(), last
        close(as_tensor(last), found, "slice_view")


@compares
def gradient_by_mirror(function):
    shift = snippet("rel_shift_view")
    for shape, steps, view in (
        ((T, K), [["slice", 1, 2, 5]], lambda x: x[:, 2:5]),
        ((T, K), [["permute", [1, 0]]], lambda x: x.T),
        ((T, K), [["reshape", [K, T]], ["slice", 0, 1, K]], lambda x: x.view(K, T)[1:]),
        ((T, K + 1), [["rel_shift_view"]], shift),
    ):
        x = draw(*shape)
        dy = draw(*view(x).shape)
        first = viewed(x, steps, dy)[0]
        close(torch.tensor(first["gradient"]).double().reshape(shape), function(x, view, dy), f"gradient of {steps}")


@compares
def first_writer(function):
    """A new buffer has whatever stood there before."""
    A, B = draw(T, D), draw(D, 3)
    for steps, part in (([["slice", 1, 2, 5]], lambda x: x[:, 2:5]), ([], lambda x: x)):
        x = draw(T, K if steps else 3)
        gradient = torch.full_like(x, torch.nan)
        function(gradient, part(gradient), A, B)
        product = viewed(x, steps, A @ B)[0]["gradient"]
        close(torch.tensor(product).double().reshape(x.shape), gradient, "gradient")


@compares
def softmax_gradient(function):
    """The gradient of the scores makes those of q and k, and so that of the rows of qkv.weight."""
    P, given, grad = multi_head(biases=False), inputs(), draw(B, T, C)
    q, k, v = heads(given["x"], given["memory"], P)
    p = snippet("attention_weights")(q, k, future())
    dy = split(grad @ P["output.weight"])
    ds = function(p, dy @ v.transpose(-1, -2)) / D**0.5
    dq, dk = merge(ds @ k), merge(ds.transpose(-1, -2) @ q)
    both = torch.cat([given["memory"], given["x"]], 1)
    answer = run_layer("multi_head_attention", {"d_model": C, "n_head": H, "bias": False}, {"grad_output": grad} |
                       {f"input.{name}": x for name, x in given.items()} | {f"param.{name}": x for name, x in P.items()})
    close(answer["grad.param.qkv.weight"][: 2 * C], torch.cat([torch.einsum("btc,btd->cd", dq, given["x"]),
          torch.einsum("btc,btd->cd", dk, both)]), "gradient of qkv.weight")


@compares
def backward(function):
    """A head of attention, note by note. Its input is read three times."""
    x, grad = draw(T, D), draw(T, D)
    W_q, W_k, W_v = W = draw(3, D, D)
    q, k, v = (x @ w.T for w in W)
    p = snippet("attention_weights")(q[None, None], k[None, None], future(0))[0, 0]
    through_softmax = snippet("softmax_gradient")
    tape = [
        ("q", ["x", "W_q"], lambda dq: (dq @ W_q, dq.T @ x)),
        ("k", ["x", "W_k"], lambda dk: (dk @ W_k, dk.T @ x)),
        ("v", ["x", "W_v"], lambda dv: (dv @ W_v, dv.T @ x)),
        ("s", ["q", "k"], lambda ds: (ds @ k / D**0.5, ds.T @ q / D**0.5)),
        ("p", ["s"], lambda dp: (through_softmax(p, dp),)),
        ("y", ["p", "v"], lambda dy: (dy @ v.T, p.T @ dy)),
    ]
    found = function(tape, {"y": grad})
    answer = run_layer("multi_head_attention", {"d_model": D, "n_head": 1, "bias": False}, {
        "input.x": x[None], "grad_output": grad[None], "param.qkv.weight": torch.cat([*W]),
        "param.output.weight": torch.eye(D)})
    close(answer["grad.input.x"][0], found["x"], "gradient of x")
    close(answer["grad.param.qkv.weight"], torch.cat([found[name] for name in ("W_q", "W_k", "W_v")]), "of W")


# Models that the library trains, in segments of 4 tokens behind a memory of 4.

TEXT = "abcabbcab" * 12
MODEL = {"d_model": C, "n_head": H, "n_layer": 2, "d_inner": 16, "mixer": {"type": "transformer_xl_attention"}}
TRAINING = {"batch_size": 2, "block_size": 4, "mem_len": 4, "learning_rate": 0.01, "warmup_iters": 0}
BEGIN = {"do": "begin", "text": TEXT, "model": MODEL, "training": TRAINING}
TRAIN = {"do": "train", "steps": 30}


def tokens(text):
    return torch.tensor(["abc".index(letter) for letter in text])


def begun():
    """The parameters of the model of BEGIN as they start: a step of no length says what they are before it."""
    size, inner = C, MODEL["d_inner"]
    blocks = ["mixer.qkv.weight", "mixer.output.weight", "mixer.position.weight", "mixer.content_bias",
              "mixer.position_bias", *(f"{name}.{part}" for part in ("weight", "bias") for name in
                                       ("mixer_norm", "feed_forward_norm", "feed_forward.up", "feed_forward.down"))]
    names = [f"blocks.{n}.{name}" for n in range(MODEL["n_layer"]) for name in blocks]
    names += ["embedding.weight", "final_norm.weight", "final_norm.bias", "output.weight", "output.bias"]
    answers = ask(BEGIN, *({"do": "learn", "text": "abcab", "learning_rate": 0, "parameter": name} for name in names))
    assert answers[0]["parameters"] == sum(len(answer["before"]) for answer in answers[1:])
    return {name: as_tensor({"shape": answer["shape"], "values": answer["before"]})
            for name, answer in zip(names, answers[1:])}


class Model(torch.nn.Module):
    """A language model of Transformer-XL's layers, of the functions of the book."""

    def __init__(self, P):
        super().__init__()
        self.P = torch.nn.ParameterDict({name.replace(".", "/"): x for name, x in P.items()})

    def forward(self, x, memory, M):
        P = {name.replace("/", "."): x for name, x in self.P.items()}
        h, inputs = P["embedding.weight"][x], []
        memory = memory or [h[:, :0]] * MODEL["n_layer"]
        for n, m in enumerate(memory):
            inputs.append(h)
            own = {name.removeprefix(f"blocks.{n}."): x for name, x in P.items() if name.startswith(f"blocks.{n}.")}
            norms = [layer_norm(own, name) for name in ("mixer_norm", "feed_forward_norm")]
            h = snippet("residual")(h, self.mixer(own, norms[0](m)), feed_forward(own), norms)
        h = layer_norm(P, "final_norm")(h)
        return project(h, P, "output"), snippet("remember")(memory, inputs, M)

    @staticmethod
    def mixer(P, memory):
        own = {name.removeprefix("mixer."): x for name, x in P.items()}

        def layer(x):
            q, k, v = heads(x, memory, own)
            r = snippet("position_rows")(k.shape[2], own["position.weight"], H)
            scores = snippet("transformer_xl_scores")(q, k, own["content_bias"], own["position_bias"], r)
            return project(merge(softmax_and_answer(scores, v, future(memory.shape[1], x.shape[1]))), own, "output")

        return layer


@compares
def remember(function):
    """A text read in segments, behind a memory that is longer than one of them, has the losses of the library. At its
    start there is no memory, and of none at all nothing is kept."""
    assert [function([], [torch.ones(B, T, C)], length)[0].shape[1] for length in (0, 2, T + 1)] == [0, 2, T]
    model, text = Model(begun()), tokens(TEXT[:50])
    _, _, answer = ask(BEGIN, how := {"do": "read", "mode": "memory", "text": TEXT[:50], "segment": 4, "memory": 6},
                       {"do": "read_on", "mode": "memory", "count": len(text)})
    memory, losses = None, []
    for begin in range(0, len(text) - 1, how["segment"]):
        x, y = text[begin : begin + 4][: len(text) - 1 - begin], text[begin + 1 : begin + 5]
        logits, memory = model(x[None], memory, M=how["memory"])
        losses.append(F.cross_entropy(logits[0], y, reduction="none"))
    close(torch.tensor(answer["nats"]).double(), torch.cat(losses).detach(), "losses")


@compares
def train(function):
    P = begun()
    model, rows = Model(P), tokens(TEXT)
    rows = rows[: len(rows) // 2 * 2].reshape(2, -1)
    decayed = [x for name, x in model.P.items() if name.endswith("/weight") and "norm" not in name]
    others = [x for x in model.parameters() if all(x is not one for one in decayed)]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0}],
                                  lr=TRAINING["learning_rate"], betas=(0.9, 0.99))
    steps = (rows.shape[1] - 1) // 4
    training = TRAINING | {"schedule": "constant", "grad_clip": 0}
    _, answer = ask(BEGIN | {"training": training}, {"do": "train", "steps": steps})
    found = function(model, optimizer, rows, T=4, M=4)
    close(torch.tensor(answer["losses"]).double(), torch.tensor(found).double(), "losses")


@compares
def sliding_losses(function):
    def model(window):
        """Logits up to a number: the logarithms of the library's probabilities."""
        text = "".join("abc"[token] for token in window) + "a"
        probabilities = ask(BEGIN, TRAIN, {"do": "inside", "text": text})[-1]["probabilities"]
        return torch.tensor(probabilities).double().reshape(len(window), 3).log()

    text = TEXT[5:25]
    _, _, _, answer = ask(BEGIN, TRAIN, {"do": "read", "mode": "sliding", "text": text, "segment": 4, "memory": 4},
                          {"do": "read_on", "mode": "sliding", "count": len(text)})
    close(torch.tensor(answer["nats"]).double(), function(model, tokens(text), 4), "losses")


@compares
def loss_gradient(function):
    _, _, answer = ask(BEGIN, TRAIN, {"do": "inside", "text": "abcabbc"})
    logits = next(stage for stage in answer["stages"] if stage["name"] == "logits")
    z = torch.tensor(logits["values"]).double().reshape(6, 3)
    expected = torch.tensor(logits["gradient"]).double().reshape(6, 3)
    close(expected, function(z, tokens("bcabbc")), "gradient of the logits")


@compares
def adamw(function):
    for parameter, decay in (("embedding.weight", 0.01), ("output.bias", 0)):
        learn = {"do": "learn", "text": "abcab", "learning_rate": 0.02, "parameter": parameter}
        steps = ask(BEGIN, learn, learn, learn)[1:]
        w = torch.tensor(steps[0]["before"]).double()
        m, v = torch.zeros_like(w), torch.zeros_like(w)
        for t, step in enumerate(steps, start=1):
            function(w, torch.tensor(step["gradient"]).double(), m, v, t, eta=0.02, decay=decay)
            for name, found in {"first": m, "second": v, "after": w}.items():
                close(torch.tensor(step[name]).double(), found, f"{parameter}: {name}")


@compares
def weights_without(function):
    for without in ([], ["content_bias"], ["content_position", "content_content"]):
        answer = ask(BEGIN, TRAIN, {"do": "terms", "text": "abcabbc", "without": without})[-1]
        for layer in answer["layers"]:
            as_heads = lambda heads: torch.tensor(heads).double().reshape(H, 7, 7)
            terms = {term["name"]: as_heads(term["heads"]) for term in layer["terms"]}
            close(as_heads(layer["weights"]), function(terms, without), f"weights without {without}")


def main():
    torch.manual_seed(20)
    names = {file.stem for file in folder.glob("*.py")}
    assert names and names == set(comparisons), f"not in both: {sorted(names ^ set(comparisons))}"
    only = sys.argv.pop() if len(sys.argv) > 2 else None
    for name in sorted(names):
        if only in (None, name):
            comparisons[name](snippet(name))
    print(f"{len(names)} functions agree with the library")


main()
