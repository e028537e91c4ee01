//===- ThreadPool.h - fork and join -----------------------------*- C++ -*-===//

#ifndef SP_RUNTIME_CPU_THREADPOOL_H
#define SP_RUNTIME_CPU_THREADPOOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace sp {

/// The threads of one rank. The thread that calls run() is one of them.
class ThreadPool {
public:
  ThreadPool(int64_t numThreads, int spinCount);
  ~ThreadPool();

  /// Calls body(0), ..., body(numThreads - 1) at the same time, and rethrows
  /// one of the exceptions that they threw.
  void run(const std::function<void(int64_t)> &body);

private:
  void work(int64_t thread);
  void stop();
  void call(int64_t thread);

  const int spinCount;
  const std::function<void(int64_t)> *body = nullptr;
  /// Counts calls of run(): what idle workers watch.
  std::atomic<uint64_t> round{0};
  std::atomic<int64_t> numRunning{0};
  std::mutex mutex;
  std::condition_variable started, finished;
  bool stopping = false;
  std::exception_ptr exception;
  std::vector<std::thread> workers;
};

} // namespace sp

#endif // SP_RUNTIME_CPU_THREADPOOL_H
