// The laws of layers, and run_layer's answers, once more, with a new variant among the layers.

#include "tests/examples/apps/run_layer/run_layer.cpp"
#include "tests/laws/layer_contexts.cpp"
#include "tests/laws/layer_gradients.cpp"
#include "tests/laws/layer_leaks.cpp"
#include "tests/laws/layer_masks.cpp"
#include "tests/laws/layer_pieces.cpp"
#include "tests/laws/layer_values.cpp"
#include "tests/shell/outside/causal_convolution.cpp"
#include "tests/shell/outside/convolution_mixer.cpp"
#include "tests/support/layer_rows.cpp"

TEST_CASE("the new variant is one of the layers") {
  CHECK(std::ranges::count(layer_rows(), ForgettingAttentionConfig::type, &LayerRow::type) == 2);
}
