// A server of text: one model that all clients share, and for each client a thread, in which
// `generate` has a cache of its own. It answers each line with 200 more characters, as they come,
// and an empty line. `serving MODEL SOCKET` listens at a path until Ctrl-C; MODEL is what char_lm
// has trained. A client is `nc -U SOCKET`.

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <iostream>
#include <string>
#include <thread>

#include "program.h"

using namespace shiftgrad;

/// A socket, closed at the end.
struct Socket {
  int number;

  explicit Socket(int n) : number(n) { require(n >= 0, "no more sockets"); }
  Socket(Socket&& other) noexcept : number(std::exchange(other.number, -1)) {}
  Socket& operator=(Socket&&) = delete;
  ~Socket() {
    if (number >= 0) close(number);
  }

  /// Throws when the client has gone.
  void write(std::string_view text) const {
    while (!text.empty()) {
      ssize_t sent = send(number, text.data(), text.size(), MSG_NOSIGNAL);
      require(sent > 0, "the client has gone");
      text.remove_prefix(static_cast<size_t>(sent));
    }
  }
  /// Returns the next line, empty at the end. Throws when it is longer than a prompt may be.
  std::string line() const {
    std::string text;
    for (char byte; recv(number, &byte, 1, 0) == 1 && byte != '\n'; text += byte)
      require(text.size() < 10'000, "a line of more than 10000 bytes");
    return text;
  }
};

/// Answers one client until it has gone. Whatever fails is told to this client alone.
void serve(const LanguageModel& model, const Vocabulary& vocabulary, const Socket& client) try {
  for (std::string line; !(line = client.line()).empty();) {
    try {
      GenerateOptions options{.length = 200, .sampling = {.temperature = 0}, .mem_len = 256};
      generate(model, vocabulary.encode(line, "line"), options,
               [&](int32_t token) { client.write(vocabulary.decode(token)); });
    } catch (const Error& error) {
      client.write(std::string("error: ") + error.what());
    }
    client.write("\n\n");
  }
} catch (const std::exception&) {
}

Socket listening(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  require(path.size() < sizeof address.sun_path, path, ": longer than a socket's path may be");
  std::ranges::copy(path, address.sun_path);
  Socket door(socket(AF_UNIX, SOCK_STREAM, 0));
  bool is_bound = bind(door.number, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  require(is_bound && listen(door.number, 16) == 0, path, ": cannot listen here");
  return door;
}

void serving(const Arguments& arguments) {
  const std::string &path = arguments.text(0, "MODEL"), &place = arguments.text(1, "SOCKET");
  Checkpoint checkpoint = read_checkpoint(path);
  LanguageModel model = make_model(checkpoint, path);
  Vocabulary vocabulary = vocabulary_of(checkpoint, path);
  Socket door = listening(place);
  static const char* socket_path = place.c_str();
  auto leave = [](int) {
    unlink(socket_path);
    _exit(0);
  };
  std::signal(SIGINT, leave);
  std::signal(SIGTERM, leave);
  ThreadLimit one_thread_each(1);
  std::cout << "listening at " << place << std::endl;
  for (;;)
    std::thread([&, client = Socket(accept(door.number, nullptr, nullptr))] {
      serve(model, vocabulary, client);
    }).detach();
}

int main(int count, char** words) { return run_program("serving", count, words, serving); }
