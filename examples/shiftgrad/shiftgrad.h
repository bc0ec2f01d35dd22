#pragma once

// The short programs of this folder include <shiftgrad/shiftgrad.h>, as a program outside does.

#include "optim/shiftgrad.h"
