#include "context_picture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <set>

namespace char_lm {

using common::colour;
using common::gnuplot_string;
using common::Picture;

namespace {

/// Returns gnuplot's list of the lengths that have room on a logarithmic axis, round ones first.
std::string ticks(std::vector<int64_t> lengths) {
  constexpr double room = 1.0 / 14;
  auto place = [](int64_t length) { return std::log2(static_cast<double>(length)); };
  double least = room * (place(lengths.back()) - place(lengths.front()));
  auto twos = [](int64_t length) { return std::countr_zero(static_cast<uint64_t>(length)); };
  std::ranges::stable_sort(lengths, std::greater<>(), twos);
  std::vector<double> places;
  std::string list;
  for (int64_t length : lengths) {
    auto near = [&](double other) { return std::abs(place(length) - other) < least; };
    if (std::ranges::any_of(places, near)) continue;
    places.push_back(place(length));
    list += shiftgrad::text(list.empty() ? "(" : ", ", '\'', length, "' ", length);
  }
  return list + ')';
}

void set_axes(Picture& picture, const std::vector<ContextCurve>& curves,
              const std::vector<int64_t>& lengths) {
  picture.add("set logscale x 2\nset xtics ", ticks(lengths));
  picture.add("set xrange [", static_cast<double>(lengths.front()) * 0.95, ':',
              static_cast<double>(lengths.back()) * 1.05, "]");
  std::vector<double> all;
  for (const ContextCurve& curve : curves)
    all.insert(all.end(), curve.bits.begin(), curve.bits.end());
  auto [low, high] = std::ranges::minmax(all);
  picture.range("y", low, high);
  picture.add("set grid xtics ytics linecolor 'gray85'\nset tics nomirror");
}

/// Adds a dashed line at each length of a block in training.
void add_marks(Picture& picture, const std::vector<ContextCurve>& curves,
               const std::vector<int64_t>& lengths) {
  std::set<int64_t> marks;
  for (const ContextCurve& curve : curves) marks.insert(curve.trained);
  for (int64_t mark : marks) {
    if (mark < lengths.front() || mark > lengths.back()) continue;
    picture.add("set arrow from ", mark, ", graph 0 to ", mark,
                ", graph 1 nohead dashtype 2 linecolor 'gray40'");
    picture.add("set label 'trained on ", mark, "' at ", mark,
                ", graph 0.97 offset 0.5, 0 textcolor 'gray40'");
  }
}

}  // namespace

void add_context_curves(Picture& picture, const std::vector<ContextCurve>& curves,
                        const std::vector<int64_t>& lengths, const std::string& xlabel) {
  picture.add("set xlabel ", gnuplot_string(xlabel), "\nset ylabel 'bits per character'");
  set_axes(picture, curves, lengths);
  add_marks(picture, curves, lengths);
  picture.add("set key outside right top Left reverse");
  std::string plots;
  for (size_t n = 0; n < curves.size(); ++n) {
    std::string data = shiftgrad::text("$curve", n);
    picture.add(data, " << END");
    for (size_t at = 0; at < curves[n].bits.size(); ++at)
      picture.add(lengths[at], ' ', curves[n].bits[at]);
    picture.add("END");
    plots += shiftgrad::text(plots.empty() ? "plot " : ", ", data,
                             " with linespoints pointtype 7 pointsize 0.5 linewidth 2 dashtype ",
                             n / 8 + 1, " linecolor ", colour(n), " title ",
                             gnuplot_string(curves[n].name));
  }
  picture.add(plots);
}

}  // namespace char_lm
