//===- Form.cpp - The ways to make a program parallel ---------------------===//

#include "Form.h"

#include "MessageKind.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "sp/Dialect/SPOps.h"
#include "sp/Transforms/Passes.h"
#include "sp/Transforms/Pipelines.h"

using namespace mlir;
using namespace sp;
using namespace sp::test;

std::string test::nameKind(StringRef message) {
  const MessageDetail details[] = {
      {llvm::Regex("tensor<[^>]*(<[^>]*>[^>]*)?>"), "T"},
      {llvm::Regex("`p[0-9]+[^`]*`"), "`NAME`"},
      {llvm::Regex("[0-9]+"), "N"}};
  return nameMessageKind(message, details);
}

std::string Form::str() const {
  if (ranks == 1)
    return "tp=1";
  std::string text = "tp=" + std::to_string(ranks);
  text += isSequenceParallel ? "" : " sequence-parallel=false";
  text += sharesGathers ? "" : " shared-entry-gathers=false";
  text += shardsHead ? " head=vocab" : "";
  text += padsSequence ? " pad-sequence" : "";
  text += recomputes ? " recompute=all" : "";
  text += mergesLinears ? " merge-linears" : "";
  text += isDifferentiatedFirst ? " (differentiated first)" : "";
  return text;
}

ArrayRef<Form> test::listForms() {
  // Any few in a row differ in much.
  static constexpr Form forms[] = {
      {2, true, true, false},
      {4, true, false, false, /*shardsHead=*/true},
      {2, false, true, false},
      {4, true, false, true},
      {2, true, false, false, false, /*padsSequence=*/true},
      {4, true, true, false, false, false, /*recomputes=*/true,
       /*mergesLinears=*/true},
      {2, true, true, true},
      {4, false, false, false, true},
      {4, true, true, false, true, true, true},
      {2, false, true, false, false, false, false, true},
      {2, true, false, false},
      {4, true, true, false, false, true},
      {2, true, true, false, true, false, true, true},
  };
  return forms;
}

bool FormError::isRefusal() const {
  return (pass == "sp-tensor-parallel" || pass == "sp-sequence-parallel") &&
         StringRef(message).contains("is not divisible by");
}

namespace {
/// Remembers which pass failed first.
class FailureWatch : public PassInstrumentation {
public:
  explicit FailureWatch(std::string &pass) : pass(pass) {}
  void runAfterPassFailed(Pass *failed, Operation *) override {
    if (pass.empty())
      pass = failed->getArgument().str();
  }

private:
  std::string &pass;
};
} // namespace

/// The passes say themselves how far they got.
static void readRemark(StringRef message, Coverage &coverage) {
  StringRef reason = message.split(" stays whole: ").second;
  if (!reason.empty())
    ++coverage.whole[nameKind(reason)];
  SmallVector<StringRef> numbers;
  if (llvm::Regex("split ([0-9]+) of ([0-9]+) all-reduces")
          .match(message, &numbers)) {
    numbers[1].getAsInteger(10, coverage.numSplit);
    numbers[2].getAsInteger(10, coverage.numReductions);
  }
}

static void addParallelism(PassManager &pm, const Form &form) {
  ParallelizeOptions options;
  options.tp = form.ranks;
  options.sequenceParallel = form.isSequenceParallel;
  options.sharedEntryGathers = form.sharesGathers;
  options.head = form.shardsHead ? "vocab" : "replicated";
  options.padSequence = form.padsSequence;
  options.mergeLinears = form.mergesLinears;
  buildParallelizePipeline(pm, options);
}

/// The other order of the same passes, for which there is no pipeline.
static void addJointParallelism(PassManager &pm, const Form &form) {
  auto add = [&](std::unique_ptr<Pass> pass) {
    pm.addPass(std::move(pass));
    pm.addPass(createSPVerifyLayouts());
  };
  add(createSPTensorParallel({/*size=*/form.ranks}));
  if (form.sharesGathers)
    add(createSPOptimizeCollectives());
  add(createSPDifferentiate());
  add(createSPSequenceParallel());
  if (form.sharesGathers) {
    add(createSPOptimizeCollectives());
    add(createSPSyncGradients());
  }
}

std::optional<FormError> test::applyForm(ModuleOp module, const Form &form,
                                         Coverage &coverage) {
  FormError error;
  module.walk([&](LinearOp) { ++coverage.numLinears; });
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    if (error.message.empty() && d.getSeverity() == DiagnosticSeverity::Error)
      error.message = d.str();
    readRemark(d.str(), coverage);
    return success();
  });
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.addInstrumentation(std::make_unique<FailureWatch>(error.pass));
  if (form.isDifferentiatedFirst) {
    addJointParallelism(pm, form);
  } else {
    if (form.ranks > 1)
      addParallelism(pm, form);
    GradientOptions options;
    options.syncAtEnd = form.sharesGathers;
    options.recompute = form.recomputes ? "all" : "auto";
    buildGradientPipeline(pm, options);
  }
  if (failed(pm.run(module)))
    return error;
  return std::nullopt;
}
