#pragma once

// The short programs of examples and the tests include <shiftgrad/shiftgrad.h>, as a program outside does.

#include "optim/shiftgrad.h"
