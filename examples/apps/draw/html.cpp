#include "html.h"

namespace apps {

using shiftgrad::text;

std::string table(const std::string& caption, const std::vector<std::string>& columns,
                  const std::vector<std::vector<std::string>>& rows,
                  const std::vector<std::string>& classes) {
  std::string lines = "<tr>";
  for (const std::string& column : columns)
    lines += text("<th scope=\"col\">", xml(column), "</th>");
  lines += "</tr>\n";
  // On a phone each cell of a wide table says its column. That of many runs scrolls.
  constexpr size_t most_said = 12;
  const bool is_wide = columns.size() > 3 && columns.size() <= most_said;
  for (size_t n = 0; n < rows.size(); ++n) {
    bool has_class = n < classes.size() && !classes[n].empty();
    lines += text("<tr", has_class ? attribute("class", classes[n]) : "", "><th scope=\"row\">",
                  xml(rows[n].front()), "</th>");
    for (size_t column = 1; column < rows[n].size(); ++column)
      lines += text("<td", is_wide ? attribute("data-column", columns[column]) : "", ">",
                    xml(rows[n][column]), "</td>");
    lines += "</tr>\n";
  }
  return text("<div class=\"wide\" tabindex=\"0\" role=\"region\"",
              attribute("aria-label", caption), "><table><caption>", xml(caption), "</caption>\n",
              lines, "</table></div>\n");
}

std::string facts(const std::vector<Fact>& all) {
  std::string entries;
  for (const Fact& fact : all)
    entries += text("<div><dt>", xml(fact.name), "</dt><dd><b>", xml(fact.value), "</b> ",
                    xml(fact.about), "</dd></div>\n");
  return text("<dl class=\"facts\">\n", entries, "</dl>\n");
}

std::string folded(const std::string& title, const std::string& content) {
  return text("<details><summary>", xml(title), "</summary>\n", content, "</details>\n");
}

std::string alternative(const std::vector<std::pair<std::string, size_t>>& when,
                        const std::string& content) {
  std::string attributes;
  bool hidden = false;
  for (const auto& [name, option] : when) {
    attributes += text(" data-", name, "=\"", option, '"');
    hidden = hidden || option > 0;
  }
  return text("<div", attributes, hidden ? " hidden>" : ">", content, "</div>\n");
}

std::string figure(const std::vector<Choice>& choices, const std::string& shown,
                   const std::string& sentence) {
  std::string controls;
  for (const Choice& choice : choices) {
    if (choice.options.size() < 2) continue;
    controls += text("<label>", xml(choice.label), " <select name=\"", choice.name, "\">");
    for (size_t n = 0; n < choice.options.size(); ++n)
      controls += text("<option value=\"", n, "\">", xml(choice.options[n]), "</option>");
    controls += "</select></label>\n";
  }
  if (!controls.empty()) controls = text("<div class=\"controls\">\n", controls, "</div>\n");
  return text("<figure", attribute("aria-label", sentence), "><figure-choice>\n", controls, shown, "</figure-choice><figcaption>",
              xml(sentence), "</figcaption></figure>\n");
}

std::string beside(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += text("<div>", part, "</div>\n");
  return text("<div class=\"beside\">\n", all, "</div>\n");
}

}  // namespace apps
