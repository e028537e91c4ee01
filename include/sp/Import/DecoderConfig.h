//===- DecoderConfig.h - what a decoder-only model is ---------------------===//

#ifndef SP_IMPORT_DECODERCONFIG_H
#define SP_IMPORT_DECODERCONFIG_H

#include <cstdint>

namespace sp {

/// A decoder-only Transformer, whatever its family calls things.
struct DecoderConfig {
  int64_t hiddenSize = 0;
  int64_t numLayers = 0;
  int64_t numHeads = 0;
  int64_t numKVHeads = 0;
  int64_t headDim = 0;
  int64_t intermediateSize = 0;
  int64_t vocabSize = 0;
  /// The longest sequence that the model was made for.
  int64_t maxPositions = 0;
  double rmsNormEps = 0;
  double ropeTheta = 0;
  /// The LM head's weight is the embedding table.
  bool tiedEmbeddings = false;
  /// Queries and keys are normalised per head, before the rotation.
  bool qkNorm = false;
  /// In training: of the embeddings, of the attention's probabilities, and of
  /// its output. In [0, 1).
  double dropout = 0;
};

} // namespace sp

#endif // SP_IMPORT_DECODERCONFIG_H
