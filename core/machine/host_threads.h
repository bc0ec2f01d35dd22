#pragma once

// Threads of a program that hosts the library, such as those of OpenMP, lent to its parallel loops.

namespace shiftgrad {

/// Calls work(data) on `threads` threads at once, the caller's included, and returns when all calls
/// have returned. OpenMP's parallel region has this form in GCC (GOMP_parallel); flags are 0.
using ParallelRegion = void (*)(void (*work)(void* data), void* data, unsigned threads,
                                unsigned flags);

/// Makes parallel loops run in regions of the program that hosts the library, as many threads wide
/// as `thread_count` says. Threads of OpenMP and ours keep spinning for a while after they worked,
/// so that a program with both pools slows down at each change between them. A loop within a loop
/// has one thread in most regions. Null brings our own threads back, and so does a fork, in the
/// child: the threads of a region stay in the parent. (Where ours had worked before, only the
/// calling thread is left.) Nothing may run in parallel meanwhile.
void use_host_threads(ParallelRegion region);

}  // namespace shiftgrad
