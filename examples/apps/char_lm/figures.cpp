#include "figures.h"

#include <nlohmann/json.hpp>

#include "core/errors.h"

namespace char_lm {

using apps::json_of;
using nlohmann::json;

json loss_figure(const std::vector<std::string>& names,
                 const std::vector<apps::RunCourse>& curves) {
  json runs = json::array();
  for (size_t n = 0; n < names.size(); ++n)
    runs.push_back({{"name", names[n]},
                    {"batches", json_of(curves[n].batches)},
                    {"validation", json_of(curves[n].validation)}});
  return {{"runs", runs}};
}

json attention_figure(const std::vector<std::string>& characters,
                      const std::vector<std::vector<AttentionMap>>& layers) {
  return {{"characters", characters}, {"layers", json_of(layers, characters.size())}};
}

json distance_figure(const std::vector<std::vector<DistanceTable>>& layers, int64_t trained) {
  json all = json::array();
  for (const std::vector<DistanceTable>& tables : layers) {
    json layer = json::array();
    for (const DistanceTable& table : tables)
      layer.push_back({{"title", table.title}, {"first", table.first}, {"heads", table.heads}});
    all.push_back(layer);
  }
  return {{"trained", trained}, {"layers", all}};
}

json context_figure(const std::vector<int64_t>& lengths, const std::vector<ContextCurve>& curves) {
  json runs = json::array();
  for (const ContextCurve& curve : curves) {
    std::vector<double> bits, errors;
    for (const MeanLoss& loss : curve.losses) {
      bits.push_back(loss.bits);
      errors.push_back(loss.error);
    }
    runs.push_back({{"name", curve.name},
                    {"trained", curve.trained},
                    {"characters", curve.characters},
                    {"bits", bits},
                    {"errors", errors}});
  }
  return {{"lengths", lengths}, {"runs", runs}};
}

std::vector<std::string> characters_of(const std::vector<int32_t>& tokens,
                                       const Vocabulary& vocabulary) {
  std::vector<std::string> characters;
  for (int32_t token : tokens) characters.push_back(vocabulary.decode(token));
  return characters;
}

int64_t trained_distances(const SavedRun& run) {
  constexpr int64_t most = 65536;
  int64_t seen = run.flags.model.block_size + memory_length(run.flags.model);
  shiftgrad::require(seen <= most, run.source, ": ", seen,
                     " distances in training, expected at most ", most);
  return seen;
}

}  // namespace char_lm
