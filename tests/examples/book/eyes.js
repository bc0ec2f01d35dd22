// Colours as they are seen: by all cones, without green ones, and without red ones.

// Machado, Oliveira and Fernandes 2009.
const eyes = [
  [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
  [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
];
const least_difference = 30;  // of two colours' red, green and blue

const seen = (rgb, eye) => eye.map((row) => row.reduce((sum, weight, n) => sum + weight * rgb[n], 0));
const far = (a, b, eye) => Math.hypot(...seen(a, eye).map((x, n) => x - seen(b, eye)[n]));

/// Sentences about the pairs of colours {name, rgb} that some eye does not tell apart.
const alike = (colors) => colors.flatMap((a, n) => colors.slice(n + 1).flatMap((b) => eyes.flatMap((eye, which) =>
  far(a.rgb, b.rgb, eye) < least_difference
    ? [`${a.name} and ${b.name}, eye ${which}: ${far(a.rgb, b.rgb, eye).toFixed(0)}`] : [])));

module.exports = { alike };
