// The shifts of the papers as operations of the library. Each way says how many columns its scores by
// distance have, which distance a column stands for, and which steps bring them into place.

const flat = (T, columns) => T * (columns + 1);

export const ways = {
  rel_shift: {
    title: 'Transformer-XL, rel_shift',
    columns: (T, K) => K,
    delta: (column, T, K) => K - 1 - column,
    steps: (T, K) => [
      [['pad_left'], 'A column of zeros goes on the left. This is the only step that writes anything.'],
      [['reshape', [flat(T, K)]], 'The rows lie one after the other in the buffer. So the matrix is a line already.'],
      [['slice', 0, T, flat(T, K)], 'The first T cells are left out: the line starts later.'],
      [['reshape', [T, K]], 'The line is read in rows of K. Row i has moved left by T − 1 − i.'],
    ],
    at_once: () => [['pad_left'], ['rel_shift_view']],
  },
  shift_right: {
    title: 'labml, shift_right',
    columns: (T, K) => K + T,
    delta: (column, T, K) => K - column,
    steps: (T, K) => [
      [['pad_right'], 'The columns begin with the farthest distance, K, and the column of zeros goes on the right.'],
      [['reshape', [flat(T, K + T)]], 'The matrix is a line.'],
      [['slice', 0, 0, flat(T, K + T) - T], 'The last T cells are left out: the line ends earlier.'],
      [['reshape', [T, K + T]], 'Read in rows of K + T, row i has moved right by i. What comes in on the left is wrapped.'],
      [['slice', 1, T, K + T], 'The last K columns are kept. Every wrapped cell is in those that go.'],
    ],
    at_once: (T, K) => [['pad_right'], ['shift_right_view'], ['slice', 1, T, K + T]],
  },
  skewing: {
    title: 'Music Transformer, skewing',
    columns: (T, K) => K,
    delta: (column, T, K) => K - 1 - column,
    steps: (T, K) => [
      [['pad_left'], 'A column of zeros goes on the left.'],
      [['reshape', [K + 1, T]], 'The cells are read in rows of T. There are K + 1 such rows.'],
      [['slice', 0, 1, K + 1], 'The first row is left out. These are the first T cells, as in Transformer-XL.'],
      [['reshape', [T, K]], 'The rest is read in rows of K. With M = 0, K is T, and this changes nothing.'],
    ],
    at_once: () => [['pad_left'], ['rel_shift_view']],
  },
  two_way: {
    title: 'Music Transformer or XLNet, two-way',
    columns: (T, K) => K + T - 1,
    delta: (column, T, K) => K - 1 - column,
    steps: (T, K) => [
      [['pad_left'], 'The columns go on below distance 0 to the future. The zeros go on the left.'],
      [['reshape', [flat(T, K + T - 1)]], 'The matrix is a line.'],
      [['slice', 0, T, flat(T, K + T - 1)], 'The first T cells are left out.'],
      [['reshape', [T, K + T - 1]], 'The line is read in rows that are one shorter. What is wrapped stands on the right.'],
      [['slice', 1, 0, K], 'The first K columns are kept. Every wrapped cell is in those that go.'],
    ],
    at_once: (T, K) => [['pad_left'], ['rel_shift_view'], ['slice', 1, 0, K]],
  },
};
