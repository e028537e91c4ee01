//===- Pipelines.cpp - the registered pipelines ---------------------------===//

#include "sp/Transforms/Passes.h"

void sp::registerPipelines() {}
