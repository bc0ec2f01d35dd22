// The laws of layers, and run_layer's answers, once more, with a new variant among the layers.

#include "examples/variants/cope.cpp"
#include "examples/variants/differential.cpp"
#include "examples/variants/fire.cpp"
#include "examples/variants/fox.cpp"
#include "examples/variants/gated_linear.cpp"
#include "examples/variants/grouped.cpp"
#include "examples/variants/sink.cpp"
#include "examples/variants/soft_cap.cpp"
#include "examples/variants/streaming.cpp"
#include "examples/variants/swin.cpp"
#include "examples/variants/variants.cpp"
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
