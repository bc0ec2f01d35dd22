// Steps with llm.c's own functions, as its test_gpt2.c takes them: its main has a batch of its own, and
// samples in between. There is no clipping in train_gpt2.c.
//
//     with_llm_c WEIGHTS.bin TOKENS.bin B T STEPS
//
// A line has the loss of a step and its milliseconds.

#define TESTING
#include "train_gpt2.c"

int main(int count, char** words) {
  if (count != 6) return 2;
  GPT2 model;
  gpt2_build_from_checkpoint(&model, words[1]);
  int B = atoi(words[3]), T = atoi(words[4]), steps = atoi(words[5]);
  DataLoader loader;
  dataloader_init(&loader, words[2], B, T, 0, 1, 0);
  for (int step = 1; step <= steps; step++) {
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    dataloader_next_batch(&loader);
    gpt2_forward(&model, loader.inputs, loader.targets, B, T);
    gpt2_zero_grad(&model);
    gpt2_backward(&model);
    gpt2_update(&model, 1e-3f, 0.9f, 0.99f, 1e-8f, 0.1f, step);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    printf("step %.7f %.4f\n", model.mean_loss, 1e3 * seconds);
    fflush(stdout);
  }
  return 0;
}
