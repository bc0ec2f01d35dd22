// Tensors for requests, and numbers to fill them with: the same on every visit.

export const count = (shape) => shape.reduce((product, size) => product * size, 1);

export const filled = (shape, value) => ({ shape, values: Array(count(shape)).fill(value) });

/// The unit matrix.
export const identity = (size) =>
  ({ shape: [size, size], values: Array.from({ length: size * size }, (_, n) => Number(n % (size + 1) === 0)) });

/// How far two vectors are apart in the channel where they are farthest apart.
export const largest_change = (a, b) => Math.max(...a.map((value, c) => Math.abs(value - b[c])));

/// Numbers between -1 and 1 that look like chance, from a seed (a linear congruential generator).
export function random_numbers(seed) {
  let state = seed;
  return (shape) => ({
    shape,
    values: Array.from({ length: count(shape) }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 31 - 1;
    }),
  });
}
