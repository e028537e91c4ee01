//===- Layers.h - The parts that random programs are made of ----*- C++ -*-===//

#ifndef SP_TEST_TOOLS_FUZZ_LAYERS_H
#define SP_TEST_TOOLS_FUZZ_LAYERS_H

#include "ProgramBuilder.h"
#include "Random.h"

namespace sp::test {

struct Sizes {
  int64_t seq, batch, hidden, vocab;
  /// Whether 4 ranks can share all of a layer.
  bool divides;
};

/// Each layer is written in one of several ways and with random parts. All take
/// and give hidden states of any rank whose last dimension is the features,
/// unless said otherwise.
class Layers {
public:
  Layers(ProgramBuilder &p, Random &random, const Sizes &sizes)
      : p(p), random(random), sizes(sizes) {}

  /// One of the norms, or none.
  mlir::Value maybeNorm(mlir::Value x);
  mlir::Value norm(mlir::Value x, bool mayShift = true);
  /// Of [S,B,H]; keys and values come from `other`.
  mlir::Value attention(mlir::Value x, mlir::Value other);
  /// A gated one's other factor comes from `other`.
  mlir::Value mlp(mlir::Value x, mlir::Value other);
  /// A few elementwise ops.
  mlir::Value tokenLocal(mlir::Value x);
  /// Of [S,B,H]: what is gained by a sum over tokens, handed back to all.
  mlir::Value pool(mlir::Value x);
  /// A linear without a partner, unless one is found among others, or whose
  /// weight is no parameter of its own.
  mlir::Value wholeLinear(mlir::Value x);
  /// Of [S,B,H]: `layer` in another shape of the same elements.
  mlir::Value reshaped(mlir::Value x,
                       llvm::function_ref<mlir::Value(mlir::Value)> layer);
  /// `x` times or plus a weight or constant that lacks some of its dimensions.
  mlir::Value weighted(mlir::Value x);
  /// Whether 4 ranks can share all that was made. A linear without a partner
  /// may find one, and then the hidden states' features are shared.
  bool divides() const {
    return sizes.divides && isSequenceMajor && sizes.hidden % 4 == 0;
  }
  /// A scalar.
  mlir::Value sumOfSquares(mlir::Value x);

private:
  int64_t innerSize();
  mlir::Value elementwise(mlir::Value x);
  mlir::Value activation(mlir::Value x);
  mlir::Value rmsNormByOps(mlir::Value x);
  mlir::Value layerNormByOps(mlir::Value x);
  mlir::Value perFeature(mlir::Value x, llvm::StringRef role, bool adds);
  mlir::Value weight(llvm::StringRef role, llvm::ArrayRef<int64_t> shape);

  ProgramBuilder &p;
  Random &random;
  const Sizes &sizes;
  int64_t numInner = 0;
  /// As what tensor-parallel linears read has to be.
  bool isSequenceMajor = true;
};

} // namespace sp::test

#endif // SP_TEST_TOOLS_FUZZ_LAYERS_H
