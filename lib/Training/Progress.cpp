//===- Progress.cpp - how far a training is -------------------------------===//

#include "sp/Training/Progress.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace sp;
using llvm::formatv;

static double toSeconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Progress::Progress(llvm::raw_ostream &os, int64_t steps, int64_t begin)
    : os(os), steps(steps), begin(begin), isTerminal(os.is_displayed()),
      start(Clock::now()) {}

void Progress::report(int64_t step, double loss, double learningRate,
                      int64_t tokens) {
  constexpr double kSecondsBetweenLines = 5;
  constexpr int64_t kBarWidth = 20;
  Clock::time_point now = Clock::now();
  bool isFirst = step == begin + 1, isLast = step == steps;
  if (!isTerminal && !isFirst && !isLast &&
      toSeconds(now - printed) < kSecondsBetweenLines)
    return;
  printed = now;

  double perStep = toSeconds(now - start) / (step - begin);
  int64_t left = perStep * (steps - step) + 0.5;
  std::string line = formatv(
      "step {0}/{1}  loss {2:f4}  lr {3}  {4:f0} tokens/s  {5}:{6} left", step,
      steps, loss, llvm::format("%.2e", learningRate), tokens / perStep,
      left / 60, llvm::format("%02d", static_cast<int>(left % 60)));
  if (!isTerminal) {
    os << line << "\n";
    return;
  }
  int64_t filled = kBarWidth * step / steps;
  os << "\r[" << std::string(filled, '#')
     << std::string(kBarWidth - filled, '-') << "] " << line << "\x1b[K";
  if (isLast)
    os << "\n";
  os.flush();
}
