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

std::string prompted_text(const std::string& prompt, const std::string& written,
                          const std::string& label) {
  std::string visible;
  for (char letter : prompt) visible += letter == '\n' ? "↵\n" : std::string(1, letter);
  return text("<pre class=\"sample\" tabindex=\"0\"", attribute("aria-label", label), "><b>",
              xml_lines(visible), "</b>", xml_lines(written), "</pre>");
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

namespace {

std::string control(const Choice& choice) {
  if (choice.on_slider) {
    std::string options;
    for (const std::string& option : choice.options)
      options += (options.empty() ? "" : "|") + option;
    return text("<input type=\"range\" name=\"", choice.name, "\" min=\"0\" max=\"",
                choice.options.size() - 1, "\" value=\"0\"", attribute("data-options", options),
                "><output>", xml(choice.options.front()), "</output>");
  }
  std::string options;
  for (size_t n = 0; n < choice.options.size(); ++n)
    options += text("<option value=\"", n, "\">", xml(choice.options[n]), "</option>");
  return text("<select name=\"", choice.name, "\">", options, "</select>");
}

}  // namespace

std::string figure(const std::vector<Choice>& choices, const std::string& shown,
                   const std::string& sentence) {
  std::string controls;
  for (const Choice& choice : choices) {
    if (choice.options.size() < 2) continue;
    controls += text("<label>", xml(choice.label), ' ', control(choice), "</label>\n");
  }
  if (!controls.empty()) controls = text("<div class=\"controls\">\n", controls, "</div>\n");
  return text("<figure", attribute("aria-label", sentence), "><figure-choice>\n", controls, shown,
              "</figure-choice><figcaption>", xml(sentence), "</figcaption></figure>\n");
}

std::string beside(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += text("<div>", part, "</div>\n");
  return text("<div class=\"beside\">\n", all, "</div>\n");
}

}  // namespace apps
