#pragma once

#include "core/dims.h"

namespace shiftgrad {

/// Where a torch.Tensor has its values, and how they are read. PyTorch may give a tensor other
/// memory at any time (`p.data = …`, `resize_` of its storage): two equal places of a tensor at two
/// times say that whoever kept the address may go on reading there.
struct Place {
  /// The address of the first element; null where there is no element or no memory.
  const void* address = nullptr;
  Dims shape{};
  Dims strides{};
  /// The torch.dtype, an object that lives as long as PyTorch; null for None.
  const void* dtype = nullptr;
  /// Whether the values are those in memory times -1, as in `x.conj().imag`.
  bool negated = false;

  bool operator==(const Place&) const = default;
};

}  // namespace shiftgrad
