//===- Run.cpp - Running a program on made-up data ------------------------===//

#include "Run.h"

#include "sp/IO/Block.h"
#include "sp/IO/Hash.h"

#include <cmath>

using namespace mlir;
using namespace sp;
using namespace sp::test;
using llvm::Error;
using llvm::Expected;

/// Uniform in [-1, 1), for element `index` of the tensor `name`.
static double uniform(StringRef name, uint64_t index) {
  uint64_t bits = splitmix64(splitmix64(fnv1a64(name)) + index);
  return static_cast<double>(static_cast<int64_t>(bits) >> 11) * 0x1p-52;
}

namespace {

class UniformSource final : public ParameterSource {
public:
  explicit UniformSource(Nudge nudge = {}) : nudge(std::move(nudge)) {}

  Error read(StringRef name, ArrayRef<int64_t> globalShape,
             ArrayRef<int64_t> offsets, ArrayRef<int64_t> sizes, DType target,
             void *dst) const override {
    bool isNudged = nudge.parameter.empty() || nudge.parameter == name;
    double change = isNudged ? nudge.size : 0;
    std::string nudgeName = ("nudge." + name).str();
    // So that sums over a row keep their size.
    double scale =
        globalShape.size() < 2 ? 1 : std::sqrt(3. / globalShape.back());
    forEachRun(globalShape, offsets, sizes,
               [&](int64_t from, int64_t to, int64_t count) {
                 for (int64_t i = 0; i < count; ++i) {
                   double value = scale * uniform(name, from + i) *
                                  (1 + change * uniform(nudgeName, from + i));
                   convertElements(DType::F64, &value, target,
                                   static_cast<char *>(dst) +
                                       (to + i) * byteSize(target),
                                   1);
                 }
               });
    return Error::success();
  }
  Error checkNoExtra(ArrayRef<StringRef>,
                     function_ref<bool(StringRef)>) const override {
    return Error::success();
  }

private:
  Nudge nudge;
};

} // namespace

static Error setInput(Session &session, const ProgramTensor &tensor) {
  std::vector<char> data(tensor.globalBytes());
  if (tensor.dtype == DType::I64) {
    auto *tokens = reinterpret_cast<int64_t *>(data.data());
    for (int64_t i = 0, e = data.size() / sizeof(int64_t); i < e; ++i) {
      uint64_t bits = splitmix64(fnv1a64(tensor.name) + i);
      bool isIgnored = tensor.name == "labels" && bits % 7 == 0;
      tokens[i] = isIgnored ? -100 : (bits >> 32) % 5;
    }
  } else if (Error error = UniformSource().read(
                 tensor.name, tensor.globalShape,
                 Shape(tensor.globalShape.size(), 0), tensor.globalShape,
                 tensor.dtype, data.data())) {
    return error;
  }
  if (!session.setInput(tensor.name, data.data(), data.size()))
    return llvm::createStringError("input `" + tensor.name +
                                   "` cannot be given");
  return Error::success();
}

Expected<std::unique_ptr<RunnableProgram>>
RunnableProgram::compile(ModuleOp module) {
  auto program = std::make_unique<RunnableProgram>();
  auto compiled = compileProgram(module, {/*entry=*/"", /*optLevel=*/0});
  if (!compiled)
    return compiled.takeError();
  program->compiled = std::move(*compiled);
  auto session = Session::create(*program->compiled);
  if (!session)
    return session.takeError();
  program->session = std::move(*session);
  for (const ProgramTensor &tensor : program->compiled->getProgram().arguments)
    if (tensor.role == ProgramTensor::Role::Input)
      if (Error error = setInput(*program->session, tensor))
        return std::move(error);
  return program;
}

Expected<Results> RunnableProgram::run(const Nudge &nudge) {
  if (Error error = session->loadParameters(UniformSource(nudge)))
    return std::move(error);
  RunOptions options;
  options.timeoutSeconds = 20;
  options.seed = 11;
  auto report = session->run(options);
  if (!report)
    return report.takeError();
  auto gathered = session->gatherResults();
  if (!gathered)
    return gathered.takeError();
  Results results;
  for (const TensorData &result : *gathered) {
    std::vector<double> values(llvm::product_of(result.spec.shape));
    convertElements(result.spec.dtype, result.data, DType::F64, values.data(),
                    values.size());
    results[result.spec.name] = std::move(values);
  }
  return results;
}
