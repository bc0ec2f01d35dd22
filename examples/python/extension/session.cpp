#include "session.h"

#include <pthread.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "core/errors.h"
#include "core/machine/parallel.h"
#include "core/machine/precision.h"

namespace shiftgrad {

namespace {

std::mutex mutex;
std::condition_variable ended;
int running = 0;
constinit thread_local int of_this_thread = 0;

/// The limit that the latest session set; making one for each call would cost more than small
/// calls.
struct Limit {
  int threads;
  ThreadLimit limit;
  explicit Limit(int count) : threads(count), limit(count) {}
};
std::optional<Limit> current;

}  // namespace

void prepare_for_forks() {
  auto in_child = [] {
    running = of_this_thread;
    std::construct_at(&ended);
    mutex.unlock();
  };
  pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, in_child);
}

Session::Session(int threads, const std::string& precision) {
  auto wanted = in_name_of("precision", [&] { return value_named<Precision>(precision); });
  std::unique_lock lock(mutex);
  ended.wait(lock, [&] { return running == 0 || product_precision() == wanted; });
  if (running == 0) set_product_precision(wanted);
  if (!current || current->threads != threads) current.emplace(threads);  // the old one ends first
  ++running;
  ++of_this_thread;
}

Session::~Session() {
  std::lock_guard lock(mutex);
  --of_this_thread;
  if (--running == 0) ended.notify_all();
}

}  // namespace shiftgrad
