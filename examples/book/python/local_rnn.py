from torch.nn import functional as F


def local_rnn(x, rnn, ksize):
    """rnn is an nn.RNN, nn.GRU or nn.LSTM with batch_first: one run for each window."""
    B, T, C = x.shape
    padded = F.pad(x, (0, 0, ksize - 1, 0))             # zeros before the start
    key = padded.unfold(1, ksize, 1).transpose(2, 3)    # [B, T, ksize, C]
    h, _ = rnn(key.reshape(B * T, ksize, C))
    return h[:, -1].reshape(B, T, C)                    # the last state of each
