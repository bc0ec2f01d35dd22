#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train_flags.h"

namespace char_lm {

/// The results of one training.
struct Run {
  double bits = 0;            // per character of the validation split
  double training_speed = 0;  // tokens/s of the typical step
  double writing_speed = 0;   // tokens/s of one text
  int64_t bytes = 0;          // greatest number in use while training
};

/// A model with all its runs.
struct ComparedModel {
  std::string name;
  TrainFlags training;
  int64_t parameters = 0;
  std::vector<Run> runs{};
};

/// Returns a table with a line for each model: the means over its runs, and the standard
/// deviation of their bits per character (over n - 1; empty for a single run).
std::string markdown(const std::vector<ComparedModel>& models);

/// Writes the table as CSV. Throws an error that names the path when it cannot be written.
void write_csv(const std::filesystem::path& path, const std::vector<ComparedModel>& models);

/// Returns a picture of the bits per character.
std::string picture_of(const std::vector<ComparedModel>& models);

}  // namespace char_lm
