#include "decoding.h"

#include <algorithm>

namespace seq2seq {

void DecodingFlags::add_to(CLI::App& app) {
  using apps::add_flag;
  add_flag(app, "beam", beam.width, "TARGETS",
           "targets to keep at each step of the search; 1 is greedy", apps::Range{1, 10000});
  add_flag(app, "length_penalty", beam.length_penalty, "POWER",
           "compare targets of n tokens by log P / ((5 + n) / 6)^POWER; 0 for no penalty",
           range::rate);
  add_flag(app, "temperature", sampling.temperature, "FACTOR",
           "if above 0, draw targets at random instead of searching: below 1 is more certain, "
           "above 1 more surprising",
           range::rate);
  add_flag(app, "top_k", sampling.top_k, "TOKENS",
           "draw from this many likeliest tokens, 0 for all", range::zero_or_more);
  add_flag(app, "top_p", sampling.top_p, "PROBABILITY",
           "of these, from the fewest likeliest with this probability together, 1 for all",
           range::share);
  add_flag(app, "seed", seed, "NUMBER", "seed of the draws; equal seeds give equal targets");
  add_flag(app, "max_length", max_length, "TOKENS", "greatest length of a target",
           range::one_or_more);
  add_flag(app, "batch_size", batch_size, "LINES", "lines to translate side by side",
           range::one_or_more);
  precision.add_to(app);
  add_flag(app, "threads", threads, "THREADS", apps::threads_help, range::thread_count);
}

shiftgrad::DecodingOptions decoding_options(const shiftgrad::EncoderDecoder& model,
                                            int64_t max_length) {
  return {.begin = target_ends.begin,
          .end = target_ends.end,
          .max_length = std::min(max_length, model.longest_target() - 1)};
}

Translator::Translator(const SavedRun& run, const DecodingFlags& flags)
    : flags_(flags),
      threads_(apps::limit_threads(flags.threads)),
      symbols_(run.target_symbols),
      model_(make_model(run)),
      options_(decoding_options(model_, flags.max_length)) {
  flags.precision.apply(run.flags.precision);
  // An empty search shows what else is wrong with the flags before anything is read.
  beam_search(model_, shiftgrad::pad(std::vector<std::vector<int32_t>>{}), options_, flags_.beam);
}

std::vector<std::string> Translator::translate(const std::vector<std::vector<int32_t>>& sources,
                                               int64_t first) const {
  shiftgrad::Padded<shiftgrad::Tokens> batch = shiftgrad::pad(sources);
  std::vector<std::string> targets;
  if (flags_.sampling.temperature > 0) {
    for (const auto& drawn : sample_targets(model_, batch, options_, flags_.sampling, flags_.seed,
                                            static_cast<uint64_t>(first)))
      targets.push_back(symbols_.decode(drawn.tokens));
  } else {
    for (const auto& best : beam_search(model_, batch, options_, flags_.beam))
      targets.push_back(symbols_.decode(best.front().tokens));
  }
  return targets;
}

}  // namespace seq2seq
