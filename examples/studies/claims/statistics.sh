# Statistics of scores: files of one number for each seed.

# statistics FILE FORMAT: prints the mean of a score and its deviation.
statistics() {
  awk -v format="$2" '
    { sum += $1; squares += $1 * $1 }
    END {
      mean = sum / NR
      variance = NR > 1 ? (squares - NR * mean * mean) / (NR - 1) : 0
      printf format, mean, sqrt(variance > 0 ? variance : 0)
    }' "$1"
}

# t_test LESS MORE [MARGIN]: prints how far the mean of the second file is above that of the first, plus the
# margin; the standard error of that; and p, two-sided, of a t-test. Where both files are of the same runs
# (PAIRED is not empty) it takes the differences line by line, else it is Welch's, and either may have more lines.
t_test() {
  paste "$1" "$2" | awk -F '\t' -v paired="${PAIRED:-}" -v margin="${3:-0}" '
    # ln Γ(x) by Stirling'"'"'s series, from x + 8 on.
    function log_gamma(x,    shift) {
      for (shift = 0; x < 8; x++) shift += log(x)
      return (x - 0.5) * log(x) - x + log(8 * atan2(1, 1)) / 2 + 1 / (12 * x) - 1 / (360 * x ^ 3) + 1 / (1260 * x ^ 5) - shift
    }
    # The continued fraction of the incomplete beta function, by the method of Lentz.
    function fraction(a, b, x,    m, c, d, h, term) {
      c = 1; d = 1 / (1 - (a + b) * x / (a + 1)); h = d
      for (m = 1; m <= 1000; m++) {
        term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / (1 + term * d); c = 1 + term / c; h *= d * c
        term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + term * d); c = 1 + term / c; h *= d * c
        if (d * c > 1 - 1e-12 && d * c < 1 + 1e-12) break
      }
      return h
    }
    function incomplete_beta(a, b, x,    front) {
      if (x <= 0 || x >= 1) return x >= 1
      front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(1 - x))
      return x < (a + 1) / (a + b + 2) ? front * fraction(a, b, x) / a : 1 - front * fraction(b, a, 1 - x) / b
    }
    function variance(sum, squares, n,    v) {
      v = (squares - sum * sum / n) / (n - 1)
      return v > 1e-12 ? v : 0
    }
    $1 != "" { n++; less += $1; less_squares += $1 * $1 }
    $2 != "" { m++; more += $2; more_squares += $2 * $2 }
    { gain += $2 - $1; gain_squares += ($2 - $1) * ($2 - $1) }
    END {
      difference = more / m - less / n + margin
      if (n < 2 || m < 2) { printf "%.6f 0.000000 1.000000\n", difference; exit }
      if (paired != "") {
        square = variance(gain, gain_squares, n) / n
        degrees = n - 1
      } else {
        a = variance(less, less_squares, n) / n
        b = variance(more, more_squares, m) / m
        square = a + b
        degrees = square ? square * square / (a * a / (n - 1) + b * b / (m - 1)) : 1
      }
      if (square)
        p = incomplete_beta(degrees / 2, 0.5, degrees / (degrees + difference * difference / square))
      else
        p = difference > 1e-9 || difference < -1e-9 ? 0 : 1
      printf "%.6f %.6f %.6f\n", difference, sqrt(square), p
    }'
}
