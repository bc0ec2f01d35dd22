from torch.nn import functional as F


def train(model, optimizer, rows, T, M):
    """rows [B, n + 1]: pieces of the text, read side by side and in order."""
    memory, losses = None, []
    for begin in range(0, rows.shape[1] - T, T):
        x, y = rows[:, begin : begin + T], rows[:, begin + 1 : begin + T + 1]
        logits, memory = model(x, memory, M)                # [B, T, V]
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
