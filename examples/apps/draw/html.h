#pragma once

// Parts of pages, as text.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "svg.h"

namespace apps {

/// A table with a heading for each column and each row. One that is too wide for the page scrolls.
/// `classes` has the class of each row, if any.
std::string table(const std::string& caption, const std::vector<std::string>& columns,
                  const std::vector<std::vector<std::string>>& rows,
                  const std::vector<std::string>& classes = {});

/// What a page says first: a value in large letters with its name above, and more about it below.
struct Fact {
  std::string name, value, about;
};
std::string facts(const std::vector<Fact>& all);

/// A text that a model wrote behind a prompt, which is marked; its ends of lines can be seen, since
/// one may be nothing else.
std::string prompted_text(const std::string& prompt, const std::string& written,
                          const std::string& label);

/// A part that opens when one asks for it.
std::string folded(const std::string& title, const std::string& content);

/// A choice of what a figure shows, in a list or on a slider.
struct Choice {
  std::string name, label;
  std::vector<std::string> options;
  bool on_slider = false;
};

/// A part of a figure that shows while these choices, by name, are at these options. The first
/// options are chosen first.
std::string alternative(const std::vector<std::pair<std::string, size_t>>& when,
                        const std::string& content);

/// A figure with its choices, and a sentence about it. Choices of one option are left out.
std::string figure(const std::vector<Choice>& choices, const std::string& shown,
                   const std::string& sentence);

/// Parts side by side, where there is room.
std::string beside(const std::vector<std::string>& parts);

}  // namespace apps
