//===- Context.cpp - a rank -----------------------------------------------===//

#include "sp/Runtime/Context.h"
#include "GemmCache.h"
#include "Internal.h"
#include "SpinWait.h"
#include "ThreadPool.h"

#include <algorithm>
#include <cstdlib>
#include <new>

using namespace sp;

std::string sp::getDTypeName(int32_t dtype) {
  switch (dtype) {
  case SP_F32:
    return "f32";
  case SP_F64:
    return "f64";
  case SP_BF16:
    return "bf16";
  case SP_I64:
    return "i64";
  }
  return str("dtype ", dtype);
}

int64_t sp::getElementBytes(int32_t dtype) {
  switch (dtype) {
  case SP_F32:
    return 4;
  case SP_BF16:
    return 2;
  case SP_F64:
  case SP_I64:
    return 8;
  }
  return 0;
}

void Scratch::Free::operator()(void *memory) const { std::free(memory); }

void *Scratch::get(size_t bytes) {
  constexpr size_t alignment = 64;
  if (bytes > capacity) {
    capacity = 0;
    memory.reset();
    size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    memory.reset(std::aligned_alloc(alignment, rounded));
    if (!memory)
      throw std::bad_alloc();
    capacity = rounded;
  }
  return memory.get();
}

sp_context::sp_context(int64_t rank, int64_t worldSize, int64_t numThreads)
    : rank(rank), worldSize(worldSize), statistics{}, scratch(numThreads),
      gemmCache(std::make_unique<GemmCache>()) {}

sp_context::~sp_context() = default;

int32_t sp_context::fail(const std::string &message) {
  if (error.empty())
    error = message.empty() ? "unknown error" : message;
  for (const auto &communicator : communicators)
    communicator->abort(error);
  return 1;
}

void sp_context::parallelFor(
    int64_t count, const std::function<void(int64_t, int64_t, int64_t)> &body) {
  int64_t numThreads = getNumThreads();
  if (count <= 0)
    return;
  if (std::min(numThreads, count) == 1)
    return body(0, count, 0);
  if (!pool)
    pool = std::make_unique<ThreadPool>(numThreads,
                                        getSpinCount(worldSize * numThreads));
  pool->run([&](int64_t thread) {
    // The first count % numThreads parts are one longer.
    int64_t size = count / numThreads, longer = count % numThreads;
    int64_t begin = thread * size + std::min(thread, longer);
    int64_t end = begin + size + (thread < longer);
    if (begin < end)
      body(begin, end, thread);
  });
}

void sp_launch(sp_context *context, sp_kernel kernel, void *const *operands,
               int64_t rows) {
  if (context->getNumThreads() == 1) {
    if (rows > 0)
      kernel(operands, 0, rows);
    return;
  }
  guarded(context, [&] {
    context->parallelFor(rows, [&](int64_t begin, int64_t end, int64_t) {
      kernel(operands, begin, end);
    });
    return 0;
  });
}
