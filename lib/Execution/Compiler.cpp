//===- Compiler.cpp - from a program to machine code ----------------------===//

#include "sp/Execution/Compiler.h"
#include "Engine.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/ExecutionEngine/ExecutionEngine.h"
#include "mlir/Pass/PassManager.h"
#include "sp/Conversion/Passes.h"
#include "sp/Conversion/Pipelines.h"
#include "sp/Conversion/ProgramSymbols.h"
#include "sp/Dialect/SPDialect.h"
#include "sp/Transforms/Passes.h"
#include <chrono>

using namespace mlir;
using namespace sp;
using llvm::createStringError;
using llvm::Expected;

CompiledProgram::CompiledProgram(Program program,
                                 std::unique_ptr<ExecutionEngine> engine,
                                 EntryPoint entryPoint,
                                 double compileMilliseconds)
    : program(std::move(program)), engine(std::move(engine)),
      entryPoint(entryPoint), compileMilliseconds(compileMilliseconds) {}

CompiledProgram::~CompiledProgram() = default;

static bool hasLayouts(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        if (auto function = dyn_cast<func::FuncOp>(op))
          if (hasLayout(function.getFunctionType()))
            return WalkResult::interrupt();
        return WalkResult(
            failure(llvm::any_of(op->getResultTypes(), hasLayout)));
      })
      .wasInterrupted();
}

LogicalResult sp::planProgram(ModuleOp module) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  if (hasLayouts(module))
    pm.addPass(createSPLocalize());
  // Before row kernels, which the transposes it adds become.
  pm.addNestedPass<func::FuncOp>(createSPFormGemms());
  pm.addNestedPass<func::FuncOp>(createSPFormRowKernels());
  pm.addNestedPass<func::FuncOp>(createSPFuseRowKernels());
  // The types of a localised program do not show a lost or moved collective.
  pm.addPass(createSPVerifyCollectives());
  pm.addNestedPass<func::FuncOp>(createSPPlanMemory());
  return pm.run(module);
}

static LogicalResult lowerProgram(ModuleOp module) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  pm.addPass(createConvertSPToLLVM());
  buildCpuCodegenPipeline(pm);
  return pm.run(module);
}

Expected<std::unique_ptr<CompiledProgram>>
sp::compileProgram(ModuleOp module, const CompileOptions &options) {
  auto begin = std::chrono::steady_clock::now();
  if (failed(planProgram(module)))
    return createStringError("the program is not valid");
  Expected<Program> program = Program::describe(module, options.entry);
  if (!program)
    return program.takeError();
  if (failed(lowerProgram(module)))
    return createStringError("the program cannot be lowered");
  auto engine = createEngine(module, options.optLevel);
  if (!engine)
    return engine.takeError();
  auto address = (*engine)->lookup(getProgramSymbol(program->entry));
  if (!address)
    return address.takeError();
  std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - begin;
  return std::make_unique<CompiledProgram>(
      std::move(*program), std::move(*engine),
      reinterpret_cast<CompiledProgram::EntryPoint>(*address), elapsed.count());
}
