//===- Context.h - ranks, and how to run them -------------------*- C++ -*-===//
//
// Worlds are made and run without exceptions or RTTI; what parallelFor and
// Scratch throw, the runtime's functions turn into errors of the context.
//
//===----------------------------------------------------------------------===//

#ifndef SP_RUNTIME_CONTEXT_H
#define SP_RUNTIME_CONTEXT_H

#include "sp/Runtime/Communicator.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sp {
class GemmCache;
class ThreadPool;

/// The collectives of one kind that one rank completed; `bytes` are
/// CollectiveDesc::ringBytes.
struct CollectiveStatistics {
  int64_t count = 0;
  int64_t bytes = 0;
};

/// Memory that only grows. The contents do not survive a call.
class Scratch {
public:
  /// At least `bytes`, aligned to 64.
  void *get(size_t bytes);

private:
  struct Free {
    void operator()(void *memory) const;
  };
  std::unique_ptr<void, Free> memory;
  size_t capacity = 0;
};
} // namespace sp

/// One rank. Used by one thread at a time.
struct sp_context {
  sp_context(int64_t rank, int64_t worldSize, int64_t numThreads);
  ~sp_context();

  const int64_t rank, worldSize;

  /// One per mesh axis.
  std::vector<std::unique_ptr<sp::Communicator>> communicators;

  /// Of dropout masks; the caller sets both before a step.
  uint64_t seed = 0, step = 0;

  /// By Collective. The caller may reset them.
  std::array<sp::CollectiveStatistics, sp::kNumCollectives> statistics;

  int64_t getNumThreads() const { return scratch.size(); }

  /// Empty, or the first error.
  const std::string &getError() const { return error; }

  /// Keeps the first message, aborts the rank's groups and returns 1.
  int32_t fail(const std::string &message);

  /// Calls body(begin, end, thread) on contiguous parts of [0, count), on up to
  /// getNumThreads() threads at a time.
  void parallelFor(int64_t count,
                   const std::function<void(int64_t begin, int64_t end,
                                            int64_t thread)> &body);

  /// Of a thread of parallelFor; 0 outside.
  sp::Scratch &getScratch(int64_t thread) { return scratch[thread]; }

  sp::GemmCache &getGemmCache() { return *gemmCache; }

private:
  std::string error;
  std::vector<sp::Scratch> scratch;
  std::unique_ptr<sp::ThreadPool> pool;
  std::unique_ptr<sp::GemmCache> gemmCache;
};

namespace sp {
struct LocalWorldState;

struct LocalWorldOptions {
  int64_t threadsPerRank = 1;
  /// How long a rank waits for the others in a collective; by default what
  /// SP_COMM_TIMEOUT_SECONDS says, or 60.
  std::optional<double> timeoutSeconds;
};

/// The ranks along it differ in (rank / stride) % size.
struct WorldAxis {
  int64_t size, stride;
};

/// Ranks that are threads of this process and read each other's memory.
class LocalWorld {
public:
  static constexpr int64_t kMaxRanks = 1024;

  /// One rank for each point of a mesh with these axis sizes, numbered
  /// row-major; no axes make one rank. Null, with the reason in `error` unless
  /// that is null, if a size, an option or the environment is bad.
  static std::unique_ptr<LocalWorld>
  create(const std::vector<int64_t> &axisSizes,
         const LocalWorldOptions &options = {}, std::string *error = nullptr);
  /// One for each of `numRanks`, and groups along each of the axes, which may
  /// be parts of one another.
  static std::unique_ptr<LocalWorld>
  create(int64_t numRanks, const std::vector<WorldAxis> &axes,
         const LocalWorldOptions &options = {}, std::string *error = nullptr);
  ~LocalWorld();

  int64_t size() const { return contexts.size(); }
  sp_context &context(int64_t rank) { return *contexts[rank]; }

private:
  friend struct RanksResult
  runRanks(LocalWorld &world, const std::function<int32_t(sp_context &)> &body);

  LocalWorld();

  std::unique_ptr<LocalWorldState> state;
  std::vector<std::unique_ptr<sp_context>> contexts;
};

/// What became of the ranks.
struct RanksResult {
  /// By rank: what the body returned; 1 if it threw or left an error behind.
  std::vector<int32_t> statuses;
  /// Empty, or the error that came first and made the others fail: "rank 1:
  /// ..." if it is one rank's own, the ranks' names inside if it is a group's.
  std::string error;

  bool succeeded() const { return error.empty(); }
};

/// Runs body once per rank, each in its own thread, and waits for all. A rank
/// that returns nonzero, throws, or returns while others wait for it, makes
/// their collectives fail. After an error the world cannot be used again.
RanksResult runRanks(LocalWorld &world,
                     const std::function<int32_t(sp_context &)> &body);

struct RuntimeSymbol {
  const char *name;
  void *address;
};

/// Every function of RuntimeFunctions.def, for the JIT.
const std::vector<RuntimeSymbol> &runtimeSymbols();

} // namespace sp

#endif // SP_RUNTIME_CONTEXT_H
