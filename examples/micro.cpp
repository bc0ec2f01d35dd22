// A Transformer-XL in one file: tensors, gradients, attention with a memory, training, writing.
//
//     c++ -std=c++20 -O3 examples/micro.cpp -o micro && ./micro FILE [STEPS]
//
// It learns which byte of the text in FILE comes next, and then writes a text of its own. The model
// is that of Dai et al. 2019, section 3, with norms in front; attention has the paper's letters.

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

// V: bytes that there are. C: channels of each. H: heads, with D channels. L: blocks. M: bytes in
// the memory. In shapes, B texts are read side by side, T bytes of each, with K = M + T keys.
constexpr int V = 256, C = 64, H = 4, D = C / H, L = 2, M = 32;

// 1. A tensor is a way to look at a line of numbers. Strides say how far apart neighbours lie on
// each of its four axes; a matrix is [1, 1, rows, columns]. A new axis of size 1 has stride 0: any
// index finds the same number, and that is all of broadcasting. Beside the values lies a line of
// gradients: x.d(b, h, i, j) is how much the loss grows with x(b, h, i, j). Views look at the same
// two lines, so what one adds to its gradient all have, and none needs code for the way back.
using Shape = std::array<int, 4>;

struct Tensor {
  std::shared_ptr<std::vector<double>> values, gradients;
  Shape shape{}, strides{};
  int offset = 0;

  Tensor(double value) : Tensor({1, 1, 1, 1}, value) {}
  Tensor(const Shape& sizes = {}, double value = 0) : shape(sizes) {
    int count = 1;
    for (int axis : {3, 2, 1, 0}) {
      strides[axis] = shape[axis] == 1 ? 0 : count;
      count *= shape[axis];
    }
    values = std::make_shared<std::vector<double>>(count, value);
    gradients = std::make_shared<std::vector<double>>(count, 0);
  }
  int place(int b, int h, int i, int j) const {
    return offset + b * strides[0] + h * strides[1] + i * strides[2] + j * strides[3];
  }
  double& operator()(int b, int h, int i, int j) const { return (*values)[place(b, h, i, j)]; }
  double& d(int b, int h, int i, int j) const { return (*gradients)[place(b, h, i, j)]; }
};

Tensor transpose(Tensor x) {
  std::swap(x.shape[2], x.shape[3]);
  std::swap(x.strides[2], x.strides[3]);
  return x;
}

Tensor slice(Tensor x, int axis, int begin, int end) {
  x.offset += begin * x.strides[axis];
  x.shape[axis] = end - begin;
  return x;
}

Tensor heads(Tensor x) {  // [B, 1, T, C] as [B, H, T, D]
  x.shape = {x.shape[0], H, x.shape[2], D};
  x.strides[1] = D;
  return x;
}

// 2. An op computes its result, and records on a tape how the result's gradient goes on to what it
// was made of. Run from its end, the tape is the chain rule. Gradients add up, since a number that
// is used twice has two ways to change the loss. Five ops are enough.
std::vector<std::function<void()>> tape;

void backward(const Tensor& loss) {
  loss.d(0, 0, 0, 0) = 1;
  for (; !tape.empty(); tape.pop_back()) tape.back()();
}

void each(const Shape& shape, auto visit) {  // below, `at` is b, h, i, j
  for (int b = 0; b < shape[0]; ++b)
    for (int h = 0; h < shape[1]; ++h)
      for (int i = 0; i < shape[2]; ++i)
        for (int j = 0; j < shape[3]; ++j) visit(b, h, i, j);
}

void record(const Shape& shape, auto visit) {
  tape.push_back([=] { each(shape, visit); });
}

// y += x. If y is a view, x becomes a part of the whole; if y has smaller axes, it gets the sum.
Tensor add_to(const Tensor& y, const Tensor& x) {
  Shape shape = std::max(y.shape, x.shape);  // where neither is broadcast
  each(shape, [=](auto... at) { y(at...) += x(at...); });
  record(shape, [=](auto... at) { x.d(at...) += y.d(at...); });
  return y;
}

Tensor operator*(const Tensor& a, const Tensor& b) {
  Tensor y(a.shape);
  each(y.shape, [=](auto... at) { y(at...) = a(at...) * b(at...); });
  record(y.shape, [=](auto... at) { a.d(at...) += y.d(at...) * b(at...); });
  record(y.shape, [=](auto... at) { b.d(at...) += y.d(at...) * a(at...); });
  return y;
}

Tensor exp(const Tensor& x) {
  Tensor y(x.shape);
  each(y.shape, [=](auto... at) { y(at...) = std::exp(x(at...)); });
  record(y.shape, [=](auto... at) { x.d(at...) += y.d(at...) * y(at...); });
  return y;
}

Tensor log(const Tensor& x) {
  Tensor y(x.shape);
  each(y.shape, [=](auto... at) { y(at...) = std::log(x(at...)); });
  record(y.shape, [=](auto... at) { x.d(at...) += y.d(at...) / x(at...); });
  return y;
}

Tensor relu(const Tensor& x) {
  Tensor positive(x.shape);
  each(x.shape, [=](auto... at) { positive(at...) = x(at...) > 0; });
  return x * positive;
}

// c_ij += a_i·b_j, for all rows a_i and b_j of two matrices, at each b and h.
Tensor add_products(const Tensor& c, const Tensor& a, const Tensor& b) {
  each(c.shape, [=](int n, int h, int i, int j) {
    double sum = 0;
    for (int k = 0; k < a.shape[3]; ++k) sum += a(n, h, i, k) * b(n, h, j, k);
    c(n, h, i, j) += sum;
  });
  record(c.shape, [=](int n, int h, int i, int j) {
    for (int k = 0; k < a.shape[3]; ++k) a.d(n, h, i, k) += c.d(n, h, i, j) * b(n, h, j, k);
    for (int k = 0; k < a.shape[3]; ++k) b.d(n, h, j, k) += c.d(n, h, i, j) * a(n, h, i, k);
  });
  return c;
}

// 3. All else is made of these five, and its gradients come out right by themselves.
Tensor sum(const Tensor& x) { return add_to(Tensor({x.shape[0], x.shape[1], x.shape[2], 1}), x); }
Tensor operator+(const Tensor& a, const Tensor& b) { return add_to(add_to(Tensor(a.shape), a), b); }

Tensor linear(const Tensor& x, const Tensor& W) {  // x Wᵀ
  return add_products(Tensor({x.shape[0], 1, x.shape[2], W.shape[2]}), x, W);
}

// Each row at mean 0 and variance 1, then scaled and moved (Ba et al. 2016).
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias) {
  Tensor centered = x + sum(x) * (-1.0 / C);
  Tensor variance = sum(centered * centered) * (1.0 / C);
  return centered * exp(log(variance + 1e-5) * -0.5) * gain + bias;  // e^(-log(x)/2) = 1/√x
}

// log(e^x / sum of e^x) for each row. Doubles reach e^709; floats would need a smaller x.
Tensor log_softmax(const Tensor& x) { return x + log(sum(exp(x))) * -1; }

// 4. Attention. Each byte makes a query, a key and a value. A query scores the keys up to its own,
// and its answer is the mean of their values, weighted by the softmax of the scores. H heads do so
// side by side, in D channels each. Transformer-XL scores what a key's byte is and its distance
// from the query, K - T + i - j for query i and key j. Its place in the text does not matter, so
// keys may also be of the segment before, which the memory keeps.
//
// All queries times all distances, K - 1 to 0, are one product, with key j in column
// j + T - 1 - i of row i. To bring it to column j: add a column, drop T numbers, read shorter rows.
//
//     1 2 3      0 1 2 3                                         3 0 4
//     4 5 6  ->  0 4 5 6  ->  0 1 2 | 3 0 4 | 5 6 0 | 7 8 9  ->  5 6 0
//     7 8 9      0 7 8 9                                         7 8 9
//
// No number moves: it is a view. What is right of 3 and 6 is for later keys, which a mask hides.
Tensor shift(Tensor padded) {
  padded.offset += padded.shape[2];
  padded.shape[3] -= 1;
  padded.strides[2] = padded.shape[3];
  return padded;
}

std::vector<std::array<Tensor, 3>> parameters;  // each with the two means that AdamW keeps
std::mt19937_64 dice(1);

Tensor parameter(int rows, int columns, double mean, double deviation) {
  Tensor w({1, 1, rows, columns});
  for (double& x : *w.values) x = mean + deviation * std::normal_distribution<double>()(dice);
  parameters.push_back({w, Tensor(w.shape), Tensor(w.shape)});
  return w;
}
Tensor weight(int rows, int columns) { return parameter(rows, columns, 0, 0.02); }
Tensor row(int columns, double value) { return parameter(1, columns, value, 0); }

struct Block {  // u and v are what every query asks of a byte, and of a distance
  Tensor W_q = weight(C, C), W_kE = weight(C, C), W_v = weight(C, C), W_o = weight(C, C);
  Tensor u = row(C, 0), W_kR = weight(C, C), v = row(C, 0), gain_1 = row(C, 1), bias_1 = row(C, 0);
  Tensor W_up = weight(4 * C, C), b_up = row(4 * C, 0), W_down = weight(C, 4 * C);
  Tensor b_down = row(C, 0), gain_2 = row(C, 1), bias_2 = row(C, 0);
};

Tensor attention(const Block& w, const Tensor& x, int T) {
  int B = x.shape[0], K = x.shape[2];
  Tensor R({1, 1, K, C});  // a row of sines and cosines for each distance
  each(R.shape, [=](int, int, int i, int c) {
    double angle = (K - 1 - i) * std::pow(10000, -2.0 * (c % (C / 2)) / C);
    R(0, 0, i, c) = c < C / 2 ? std::sin(angle) : std::cos(angle);
  });
  Tensor q = heads(linear(slice(x, 2, K - T, K), w.W_q));  // [B, H, T, D]
  Tensor k = heads(linear(x, w.W_kE));                     // [B, H, K, D]
  Tensor values = heads(linear(x, w.W_v));                 // [B, H, K, D]
  Tensor r = heads(linear(R, w.W_kR));                     // [1, H, K, D]

  Tensor padded({B, H, T, K + 1}), scores = shift(padded);      // one buffer; [B, H, T, K]
  add_products(slice(padded, 3, 1, K + 1), q + heads(w.v), r);  // (b) q·r + (d) v·r
  add_products(scores, q + heads(w.u), k);                      // (a) q·k + (c) u·k
  Tensor masked = scores * (1 / std::sqrt(D));
  each(masked.shape, [=](int b, int h, int i, int j) {
    if (j > K - T + i) masked(b, h, i, j) = -INFINITY;  // e^-inf = 0, as is its gradient
  });
  Tensor answer({B, 1, T, C});
  add_products(heads(answer), exp(log_softmax(masked)), transpose(values));
  return linear(answer, w.W_o);
}

// 5. The model. Block by block, x gets what attention and a feed-forward net make of it.
struct Model {
  Tensor E = weight(V, C);
  std::array<Block, L> blocks;
  Tensor gain = row(C, 1), bias = row(C, 0), W_out = weight(V, C), b_out = row(V, 0);

  Tensor operator()(const Tensor& bytes, std::array<Tensor, L>& memory) const {
    int B = bytes.shape[0], T = bytes.shape[2], K = memory[0].shape[2] + T;
    Tensor x = linear(bytes, transpose(E));  // [B, 1, T, C], rows of E
    for (int l = 0; l < L; ++l) {
      const Block& w = blocks[l];
      Tensor all({B, 1, K, C});  // no gradient leaves the memory: its tape has ended
      add_to(slice(all, 2, 0, K - T), memory[l]);
      add_to(slice(all, 2, K - T, K), x);
      memory[l] = slice(all, 2, std::max(0, K - M), K);
      x = x + attention(w, layer_norm(all, w.gain_1, w.bias_1), T);
      Tensor up = relu(linear(layer_norm(x, w.gain_2, w.bias_2), w.W_up) + w.b_up);
      x = x + linear(up, w.W_down) + w.b_down;
    }
    return linear(layer_norm(x, gain, bias), W_out) + b_out;  // [B, 1, T, V]
  }
};

Tensor cross_entropy(const Tensor& logits, const Tensor& bytes) {  // the mean of -log p
  return add_to(0, log_softmax(logits) * bytes) * (-1.0 / (bytes.shape[0] * bytes.shape[2]));
}

// Means of the gradient and its square, one over the root of the other. Matrices also decay.
void adamw(int t, double rate) {
  for (auto& [w, m, v] : parameters)
    each(w.shape, [=, w = w, m = m, v = v](auto... at) {
      m(at...) += 0.1 * (w.d(at...) - m(at...));
      v(at...) += 0.01 * (w.d(at...) * w.d(at...) - v(at...));
      double m_hat = m(at...) / (1 - std::pow(0.9, t)), v_hat = v(at...) / (1 - std::pow(0.99, t));
      w(at...) *= w.shape[2] > 1 ? 1 - 0.1 * rate : 1;
      w(at...) -= rate * m_hat / (std::sqrt(v_hat) + 1e-8);
      w.d(at...) = 0;
    });
}

Tensor segment(const std::string& text, int B, int T, int begin) {
  Tensor x({B, 1, T, V});  // a row of zeros for each byte, but for the 1 in its column
  each({B, 1, T, 1}, [&](int b, int, int t, int) {
    x(b, 0, t, static_cast<unsigned char>(text[b * (text.size() / B) + begin + t])) = 1;
  });
  return x;
}

int main(int count, char** arguments) {
  constexpr int B = 8, T = 32;
  std::string file = count > 1 ? arguments[1] : "README.md", text;
  std::string steps = count > 2 ? arguments[2] : "600";
  std::getline(std::ifstream(file, std::ios::binary), text, '\0');
  if (text.size() < B * (T + 1))
    return std::cerr << "micro: " << file << ": expected a file with at least 264 bytes\n", 1;
  if (steps.size() - 1 > 5 || steps.find_first_not_of("0123456789") < steps.size())
    return std::cerr << "micro: steps '" << steps << "', expected a number below 1000000\n", 1;

  Model model;
  std::array<Tensor, L> memory;
  for (int n = 1, begin = 0, last = std::stoi(steps); n <= last; ++n, begin += T) {
    if (begin + T >= int(text.size()) / B) memory = {}, begin = 0;
    Tensor logits = model(segment(text, B, T, begin), memory);
    Tensor loss = cross_entropy(logits, segment(text, B, T, begin + 1));
    backward(loss);
    adamw(n, 4e-3 * (1 - n / (last + 1.0)));
    if (n % 50 == 0) std::cout << "step " << n << ": loss " << loss(0, 0, 0, 0) << std::endl;
  }

  memory = {};
  std::string byte = text.substr(0, 1);
  for (int n = 0; n < 500; ++n) {
    Tensor p = exp(log_softmax(model(segment(byte, 1, 1, 0), memory) * (1 / 0.8)));  // [1, 1, 1, V]
    std::cout << byte;
    byte = char(std::discrete_distribution<int>(p.values->begin(), p.values->end())(dice));
    tape.clear();
  }
}
