#include "report.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <span>

#include "core/io/atomic_file.h"
#include "examples/apps/draw/embedded.h"
#include "examples/apps/draw/html.h"

namespace apps {

using shiftgrad::text;

namespace {

constexpr double most_bytes = 3e6;

/// Returns the name of a section in addresses.
std::string id_of(const Section& section) {
  std::string id = section.title;
  std::ranges::transform(id, id.begin(), [](char letter) {
    return 'A' <= letter && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return id;
}

/// What reads the page anew.
std::string following() {
  return text("<follow-training seconds=\"", seconds_between_pages,
              "\" class=\"controls\"><p>The training goes on.</p><label><input type=\"checkbox\" "
              "checked> Read this page anew every ",
              seconds_between_pages, " seconds</label></follow-training>\n");
}

std::string page_of(const std::string& program, const std::string& names,
                    const std::vector<Section>& sections, Moment moment) {
  std::string links, content;
  for (const Section& section : sections) {
    if (section.html.empty()) continue;
    std::string id = id_of(section);
    links += text("<li><a href=\"#", id, "\">", section.title, "</a></li>\n");
    content += text("<section aria-labelledby=\"", id, "\"><h2 id=\"", id, "\">", section.title,
                    "</h2>\n", section.html, "</section>\n");
  }
  return text(R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Report of )",
              names, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>\n", report_style,
              drawing_style, R"(</style>
<noscript><style>:is(.controls, map-choice) { display: none; } figure-choice [hidden] { display: block !important; }</style></noscript>
<script>
)",
              report_script, R"(</script>
<script type="module">
import 'book/color_scheme.js';
import 'book/drawn_figure.js';
import 'book/figure_choice.js';
import 'book/follow_training.js';
</script>
</head>
<body class="report">
<a class="skip" href="#text">Skip to the report</a>
<header><nav aria-label="Sections"><ol class="sections">
)",
              links, "</ol></nav><color-scheme></color-scheme></header>\n<main id=\"text\">\n",
              "<h1>Report of ", names, "</h1>\n", moment == Moment::training ? following() : "",
              content, "</main>\n<footer><p>Written by ", program,
              " " SHIFTGRAD_VERSION ".</p></footer>\n</body>\n</html>\n");
}

}  // namespace

void write_report(const std::string& file, const std::string& program,
                  const std::vector<std::string>& names, const std::vector<Section>& sections,
                  Moment moment) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + xml(name);
  std::string page = page_of(program, all, sections, moment);
  shiftgrad::require(static_cast<double>(page.size()) < most_bytes, "the report would have ",
                     std::round(static_cast<double>(page.size()) / 1e5) / 10,
                     " MB, expected less than 3; fewer runs make it smaller");
  shiftgrad::write_file_atomically(file, page);
  if (moment != Moment::training) std::cout << "wrote " << file << std::endl;
}

std::vector<std::pair<std::string, shiftgrad::Dims>> shapes_of(const shiftgrad::Module& model) {
  std::vector<std::pair<std::string, shiftgrad::Dims>> shapes;
  for (const shiftgrad::Parameter& parameter : parameters(model))
    shapes.emplace_back(parameter.name, parameter.value.shape());
  return shapes;
}

std::string reason(const std::string& run, const std::string& nothing) {
  return text("<p class=\"nothing\">", xml(run), ": ", xml(nothing), ".</p>\n");
}

std::vector<std::string> numbers_below(size_t count) {
  std::vector<std::string> numbers;
  for (size_t n = 0; n < count; ++n) numbers.push_back(std::to_string(n));
  return numbers;
}

int64_t tokens_to_show(int64_t maps) {
  constexpr double bytes = 1.7e6, bytes_of_weight = 18;
  double most =
      std::sqrt(bytes / (bytes_of_weight * static_cast<double>(std::max<int64_t>(1, maps))));
  return std::clamp<int64_t>(static_cast<int64_t>(most), 2, 48);
}

}  // namespace apps
