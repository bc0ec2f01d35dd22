def backward(tape, gradients):
    """Each note on the tape: what came out, what went in, and how a gradient flows back."""
    while tape:
        output, inputs, pull = tape.pop()
        for x, dx in zip(inputs, pull(gradients[output])):
            gradients[x] = gradients.get(x, 0) + dx     # notes add
    return gradients
