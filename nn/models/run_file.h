#pragma once

// The file of a run, whatever the model. It has the weights under their parameters' names, and
//
//     trainer.NAME                        the tensors that are needed to resume training
//     format                              in the metadata: who reads the file
//     shiftgrad_version                   in the metadata: the version of the library that wrote it
//     step, train_loss, validation_loss   in the metadata: the numbers of the run
//
// Whatever else is needed to use the weights is in the metadata, too: the model's config, what its
// tokens stand for, the flags of its training.
//
// The number at the end of a format grows when older versions would misread the file, and they
// refuse it. Within a format, a newer version may write what an older one does not know, such as
// another field of a config, which the older one refuses by name. Files of versions before 1.0.0
// name no version.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "core/errors.h"
#include "core/io/safetensors.h"

namespace shiftgrad {

/// Format of a checkpoint's file.
constexpr const char* language_model_format = "shiftgrad-1";
/// Format of the file of any other model.
constexpr const char* own_model_format = "shiftgrad-model-1";
/// Format of what the program seq2seq writes.
constexpr const char* seq2seq_format = "shiftgrad-seq2seq-1";

/// Returns the version of this library, such as "1.0.0".
std::string library_version();

/// Returns "written by shiftgrad 1.2.0, which is newer than this 1.0.0" for the version that a file
/// names, or an empty text where this library is as new, or where no version is named.
std::string newer_writer(const std::string& version);

/// Calls an action that reads what a version of the library wrote. Where that is newer than this
/// library, the errors of the action say so.
template <class Action>
auto in_spite_of_version(const std::string& version, Action action) {
  try {
    return action();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    std::string newer = newer_writer(version);
    fail(error.what(), newer.empty() ? "" : "; ", newer);
  }
}

/// What a file says about the run that its weights come from, whatever the model.
struct RunState {
  /// Number of updates that made the weights.
  int64_t step = 0;
  /// Losses in nats, if measured.
  std::optional<double> train_loss{}, validation_loss{};
  /// Tensors needed to resume, as the trainer's `saved` returns them; may be empty.
  std::map<std::string, StoredTensor> trainer{};
};

/// The content of a file: weights, metadata to use them, and the state of the run.
struct RunFile {
  /// The parameters by name.
  std::map<std::string, StoredTensor> weights{};
  /// What the file says besides, by key.
  std::map<std::string, std::string> metadata{};
  /// The numbers of the run, and what resuming it needs.
  RunState state{};

  /// Whether the file says that it is of this format.
  bool is_of(const std::string& format) const;
  /// Throws unless the file is of this format and has a run. The error names what the file has,
  /// what reads it, and what was expected.
  void check_format(const std::string& expected) const;
  /// Returns the version of the library that wrote the file, or an empty text.
  std::string version() const;
  /// Returns the text of the metadata under the key. Throws, naming the key, when it is missing.
  const std::string& at(const char* key) const;
};

/// Returns the content of a file as that of a run. Where it says nothing of a run, the state is
/// empty. Throws when the metadata of a run are malformed.
RunFile as_run(SafeTensors content);

/// Reads a file of weights, of any program, and returns it as_run. Throws one line that begins with
/// the path.
RunFile read_run_file(const std::string& path);

/// Writes the whole file, or leaves the old file and throws one line that begins with the path. The
/// metadata name this library's version. Only finite losses are written. Refuses a state that could
/// not be read back, weights and a state that are not finite, and a weight with a name that the
/// trainer's tensors have. Before it writes, `check`, if given, gets the file without tensors as it
/// would be read back, and throws what is wrong with it.
void write_run_file(const std::string& path, RunFile file,
                    const std::function<void(const RunFile& read)>& check = {});

}  // namespace shiftgrad
