#pragma once

#include <doctest/doctest.h>

#include <string>

#include "core/errors.h"

/// The text of the Error that `action` throws. Fails the test when it throws none.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const shiftgrad::Error& error) {
    return error.what();
  }
  FAIL_CHECK("nothing was refused");
  return {};
}
