#include "exhibits.h"

#include <string>

#include "core/named.h"
#include "examples/studies/wrong_on_purpose/mistakes.h"
#include "optim/training_loop.h"

namespace book {

using namespace shiftgrad;

Json exhibits_of(const Json&) {
  Json list = Json::array();
  for (const Exhibit& one : wrong_on_purpose::exhibits)
    list.push_back({{"form", name_of(one.form)}, {"mistake", one.name}});
  return {{"exhibits", list}};
}

std::optional<Exhibit> exhibit_of(const Json& request) {
  if (!request.contains("exhibit")) return {};
  const Json& object = request["exhibit"];
  auto form = value_of<std::string>(object, "form"),
       mistake = value_of<std::string>(object, "mistake");
  for (const Exhibit& one : wrong_on_purpose::exhibits)
    if (name_of(one.form) == form && one.name == mistake) return one;
  fail("\"exhibit\" is ", shown(form), " with ", shown(mistake),
       ", expected one that exhibits lists");
}

bool fills_in(const std::optional<Exhibit>& exhibit) {
  return exhibit && exhibit->form == wrong_on_purpose::Form::two_way;
}

wrong_on_purpose::TrainingConfig exhibit_config(const TrainerConfig& config) {
  config.check();
  return {.batch_size = config.batch_size,
          .block_size = config.block_size,
          .schedule = loop_config(config, 1).schedule,
          .seed = config.seed};
}

}  // namespace book
