//===- LearningRate.cpp - schedules of the learning rate ------------------===//

#include "sp/Training/LearningRate.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace sp;

llvm::Expected<LearningRate>
LearningRate::parse(llvm::StringRef schedule, double base, int64_t totalSteps) {
  if (schedule == "constant")
    return LearningRate(Kind::Constant, base, totalSteps);
  if (schedule == "cosine")
    return LearningRate(Kind::Cosine, base, totalSteps);
  return llvm::createStringError("unknown schedule `" + schedule +
                                 "`; use cosine or constant");
}

double LearningRate::at(int64_t step) const {
  if (kind == Kind::Constant)
    return base;
  double angle = llvm::numbers::pi * double(step) / double(totalSteps);
  return base * (0.1 + 0.45 * (1 + std::cos(angle)));
}
