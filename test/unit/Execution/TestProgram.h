//===- TestProgram.h - programs that run on parameters from memory --------===//

#ifndef SP_TEST_UNIT_EXECUTION_TESTPROGRAM_H
#define SP_TEST_UNIT_EXECUTION_TESTPROGRAM_H

#include "TestSource.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sp/Execution/Session.h"
#include "sp/Init/Init.h"
#include "sp/Transforms/Passes.h"
#include "gtest/gtest.h"

namespace sp {

/// Has every dialect; an error that MLIR reports fails the test.
inline mlir::MLIRContext &getTestContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    auto *result = new mlir::MLIRContext(registry);
    result->loadAllAvailableDialects();
    result->getDiagEngine().registerHandler([](mlir::Diagnostic &d) {
      if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
        ADD_FAILURE() << d.str();
    });
    return result;
  }();
  return *context;
}

inline mlir::OwningOpRef<mlir::ModuleOp> parseProgram(const std::string &text) {
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(text, &getTestContext());
  EXPECT_TRUE(module) << text;
  return module;
}

/// Adds the gradients of `module`'s parameters to its results.
inline bool differentiate(mlir::ModuleOp module) {
  mlir::PassManager pm(&getTestContext());
  pm.addPass(createSPVerifyLayouts());
  pm.addPass(createSPDifferentiate());
  pm.addPass(createSPVerifyLayouts());
  pm.addPass(createSPSyncGradients());
  pm.addPass(createSPVerifyLayouts());
  return mlir::succeeded(pm.run(module));
}

struct NamedValues {
  std::string name;
  Values values;
};

/// A compiled program and its memory.
class TestProgram {
public:
  explicit TestProgram(mlir::ModuleOp module)
      : compiled(llvm::cantFail(compileProgram(module))),
        session(llvm::cantFail(Session::create(*compiled))) {}

  /// The results, in order, in their global shapes.
  std::vector<NamedValues> run(const TestSource &source) {
    llvm::cantFail(session->loadParameters(source));
    llvm::cantFail(session->run({}));
    std::vector<NamedValues> results;
    for (const TensorData &result : llvm::cantFail(session->gatherResults())) {
      size_t count = *countElements(result.spec.shape);
      Values values(count);
      if (result.spec.dtype == DType::I64)
        for (size_t i = 0; i < count; ++i)
          values[i] = static_cast<const int64_t *>(result.data)[i];
      else
        convertElements(result.spec.dtype, result.data, DType::F64,
                        values.data(), count);
      results.push_back({result.spec.name, std::move(values)});
    }
    return results;
  }

  /// The gradients among the results, by the names of the parameters.
  std::map<std::string, Values> getGradients(const TestSource &source) {
    std::map<std::string, Values> gradients;
    for (NamedValues &result : run(source)) {
      llvm::StringRef name = result.name;
      if (name.consume_front("grad."))
        gradients[name.str()] = std::move(result.values);
    }
    return gradients;
  }

private:
  std::unique_ptr<CompiledProgram> compiled;
  std::unique_ptr<Session> session;
};

inline const char *spell(DType dtype) {
  return dtype == DType::F64 ? "f64" : dtype == DType::F32 ? "f32" : "bf16";
}

/// What an element becomes when it is stored in `dtype`.
inline double stored(DType dtype, double value) {
  if (dtype == DType::F64)
    return value;
  float single = static_cast<float>(value);
  return dtype == DType::F32 ? single : bf16ToFloat(floatToBF16(single));
}

/// "tensor<3x5xf32>"
inline std::string tensorText(llvm::ArrayRef<int64_t> shape, DType dtype) {
  std::string text = "tensor<";
  for (int64_t extent : shape)
    text += std::to_string(extent) + "x";
  return text + spell(dtype) + ">";
}

} // namespace sp

#endif // SP_TEST_UNIT_EXECUTION_TESTPROGRAM_H
