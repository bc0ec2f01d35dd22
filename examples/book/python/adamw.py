def adamw(w, g, m, v, t, eta, beta_1=0.9, beta_2=0.999, epsilon=1e-8, decay=0.01):
    """Step t, counted from 1. Changes the weights w and both running means in place."""
    m += (1 - beta_1) * (g - m)
    v += (1 - beta_2) * (g * g - v)
    m_hat = m / (1 - beta_1**t)
    v_hat = v / (1 - beta_2**t)
    w *= 1 - eta * decay
    w -= eta * m_hat / (v_hat.sqrt() + epsilon)
