// The door through which a page calls the library: Module.ccall('answer', 'string', ['string'],
// [request]). The answer stays in place until the next one.

#include <string>

#include "core/machine/parallel.h"
#include "study.h"

extern "C" [[gnu::visibility("default"), gnu::used]] const char* answer(const char* request) {
  static book::Study study;
  static std::string text;
  shiftgrad::initialize();
  text = book::answer_text(study, request);
  return text.c_str();
}
