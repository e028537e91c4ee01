//===- FormulaWeights.h - Weights that need no file -------------*- C++ -*-===//
//
// The weights of test/data/minimind3: a hash of name and index, so that a model
// of real size can be tested without storing it. Its manifest.json gives the
// formula and examples.
//
//===----------------------------------------------------------------------===//

#ifndef SP_TEST_TOOLS_FORMULAWEIGHTS_H
#define SP_TEST_TOOLS_FORMULAWEIGHTS_H

#include "sp/IO/Safetensors.h"

#include "llvm/Support/JSON.h"

namespace sp::test {

/// Names and shapes, all F32, of a dense MiniMind model with this config.json.
llvm::Expected<std::vector<TensorSpec>>
listMiniMindParameters(const llvm::json::Object &config);

/// The hash of element `index` as a multiple of 2^-23 in [-1, 1).
float formulaUniform(llvm::StringRef name, uint64_t index);

/// Fills `values` with the whole parameter; an error if the formula does not
/// know its name.
llvm::Error fillFormulaWeights(const TensorSpec &parameter,
                               llvm::MutableArrayRef<float> values);

} // namespace sp::test

#endif // SP_TEST_TOOLS_FORMULAWEIGHTS_H
