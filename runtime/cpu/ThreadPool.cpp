//===- ThreadPool.cpp -----------------------------------------------------===//

#include "ThreadPool.h"
#include "OpenMP.h"
#include "SpinWait.h"

#include <utility>

using namespace sp;

ThreadPool::ThreadPool(int64_t numThreads, int spinCount)
    : spinCount(spinCount) {
  try {
    for (int64_t thread = 1; thread < numThreads; ++thread)
      workers.emplace_back([this, thread] { work(thread); });
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
    round.fetch_add(1, std::memory_order_release);
  }
  started.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::call(int64_t thread) {
  try {
    (*body)(thread);
  } catch (...) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!exception)
      exception = std::current_exception();
  }
}

void ThreadPool::run(const std::function<void(int64_t)> &function) {
  body = &function;
  numRunning.store(workers.size(), std::memory_order_relaxed);
  {
    // The lock orders this against a worker that is about to sleep.
    std::lock_guard<std::mutex> lock(mutex);
    round.fetch_add(1, std::memory_order_release);
  }
  started.notify_all();
  call(0);

  auto done = [&] { return numRunning.load(std::memory_order_acquire) == 0; };
  if (!spinUntil(spinCount, done)) {
    std::unique_lock<std::mutex> lock(mutex);
    finished.wait(lock, done);
  }
  if (exception)
    std::rethrow_exception(std::exchange(exception, nullptr));
}

void ThreadPool::work(int64_t thread) {
  setOpenMPThreads(1);
  for (uint64_t seen = 0;; ++seen) {
    auto next = [&] { return round.load(std::memory_order_acquire) != seen; };
    if (!spinUntil(spinCount, next)) {
      std::unique_lock<std::mutex> lock(mutex);
      started.wait(lock, next);
    }
    if (stopping)
      return;
    call(thread);
    if (numRunning.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      std::lock_guard<std::mutex> lock(mutex);
      finished.notify_one();
    }
  }
}
