#include "model_file.h"

#include <nlohmann/json.hpp>

#include "examples/apps/draw/json_text.h"
#include "writers.h"

namespace apps {

std::string ModelFile::text(const std::string& name) const {
  auto entry = metadata.find(name);
  return entry == metadata.end() ? "" : entry->second;
}

std::string ModelFile::has() const {
  std::string list = "weights";
  for (auto [name, part] : {std::pair{"model", "config"},
                            {"vocabulary", "vocabulary"},
                            {"source_symbols", "symbols"},
                            {"step", "run"}})
    if (metadata.contains(name)) list += std::string(", ") + part;
  return list + (state.trainer.empty() ? "" : ", state to resume from");
}

ModelFile read_model_file(const std::string& path) {
  ModelFile file{shiftgrad::read_run_file(path), path};
  note_writer(path, file.version());
  return file;
}

namespace {

/// Collects the values of a JSON object as their text arrives. An object of the library that keeps
/// the order of its keys would take time with their square, and so would names without an end.
class Settings : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<std::pair<std::string, std::string>> found{};
  bool is_object = false;

  bool null() override { return next_name(), true; }
  bool boolean(bool value) override { return add(nlohmann::json(value).dump()); }
  bool number_integer(int64_t value) override { return add(nlohmann::json(value).dump()); }
  bool number_unsigned(uint64_t value) override { return add(nlohmann::json(value).dump()); }
  bool number_float(double value, const std::string&) override {
    return add(nlohmann::json(value).dump());
  }
  bool string(std::string& value) override { return add(bytes_of(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }
  bool start_object(size_t) override { return begin(false); }
  bool start_array(size_t) override { return begin(true); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(std::string& key) override {
    levels_.back().newest = key;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::json::exception&) override {
    return false;
  }

 private:
  static constexpr size_t deepest = 16, longest_name = 1000;

  /// An object or a list that is not closed yet.
  struct Level {
    bool is_list;
    std::string prefix;
    std::string newest{};
    int64_t count = 0;
  };

  /// Returns the name of the value that comes next, such as mixer.type. A long one is cut.
  std::string next_name() {
    if (levels_.empty() || levels_.size() > deepest) return "";
    Level& level = levels_.back();
    std::string part = level.is_list ? std::to_string(level.count++) : level.newest;
    return (level.prefix + part).substr(0, longest_name);
  }
  bool add(const std::string& value) {
    std::string name = next_name();
    if (levels_.size() <= deepest) found.emplace_back(name, value);
    return true;
  }
  bool begin(bool is_list) {
    if (levels_.empty()) is_object = !is_list;
    levels_.push_back({is_list, levels_.empty() ? "" : next_name() + '.'});
    return true;
  }
  bool end() {
    levels_.pop_back();
    return true;
  }

  std::vector<Level> levels_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> settings_of(const std::string& json) {
  Settings settings;
  bool is_json = nlohmann::json::sax_parse(json, &settings);
  return is_json && settings.is_object ? settings.found
                                       : std::vector<std::pair<std::string, std::string>>();
}

}  // namespace apps
