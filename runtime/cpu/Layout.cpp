//===- Layout.cpp - moves within a rank -----------------------------------===//

#include "Internal.h"

#include <cstring>

using namespace sp;

namespace {
/// A rank's part of [outer, dim, inner] seen as `outer` runs of bytes.
struct Part {
  int64_t outer, partBytes, fullBytes, offsetBytes;
};
} // namespace

/// False, with an error in the context, if the axis does not divide `dim`.
static bool getPart(sp_context *context, const char *name, int32_t axis,
                    int64_t elemBytes, int64_t outer, int64_t dim,
                    int64_t inner, Part &part) {
  if (axis < 0 || size_t(axis) >= context->communicators.size()) {
    context->fail(str(name, ": the mesh has no axis ", axis));
    return false;
  }
  const Communicator &group = *context->communicators[axis];
  if (dim % group.size() != 0) {
    context->fail(str(name, ": a dimension of ", dim, " cannot be split over ",
                      group.size(), " ranks"));
    return false;
  }
  int64_t partBytes = dim / group.size() * inner * elemBytes;
  part = {outer, partBytes, partBytes * group.size(), group.rank() * partBytes};
  return true;
}

void sp_slice(sp_context *context, int32_t axis, int64_t elem_bytes,
              const void *src, void *dst, int64_t outer, int64_t dim,
              int64_t inner) {
  Part part;
  if (!getPart(context, "slice", axis, elem_bytes, outer, dim, inner, part))
    return;
  auto *from = static_cast<const char *>(src) + part.offsetBytes;
  auto *to = static_cast<char *>(dst);
  for (int64_t i = 0; i < outer; ++i)
    std::memcpy(to + i * part.partBytes, from + i * part.fullBytes,
                part.partBytes);
}

void sp_zero_pad(sp_context *context, int32_t axis, int64_t elem_bytes,
                 const void *src, void *dst, int64_t outer, int64_t dim,
                 int64_t inner) {
  Part part;
  if (!getPart(context, "zero_pad", axis, elem_bytes, outer, dim, inner, part))
    return;
  auto *from = static_cast<const char *>(src);
  auto *to = static_cast<char *>(dst);
  int64_t after = part.fullBytes - part.offsetBytes - part.partBytes;
  for (int64_t i = 0; i < outer; ++i, to += part.fullBytes) {
    char *own = to + part.offsetBytes;
    std::memset(to, 0, part.offsetBytes);
    std::memcpy(own, from + i * part.partBytes, part.partBytes);
    std::memset(own + part.partBytes, 0, after);
  }
}

/// The compiler makes single moves of copies of a known size.
template <int64_t Bytes>
static void transposeElements(const char *src, char *dst, int64_t d0,
                              int64_t d1) {
  // Tiles, so that a line that was read for one row serves the next ones too.
  constexpr int64_t tile = 16;
  for (int64_t i0 = 0; i0 < d0; i0 += tile)
    for (int64_t j0 = 0; j0 < d1; j0 += tile)
      for (int64_t j = j0; j < d1 && j < j0 + tile; ++j)
        for (int64_t i = i0; i < d0 && i < i0 + tile; ++i)
          std::memcpy(dst + (j * d0 + i) * Bytes, src + (i * d1 + j) * Bytes,
                      Bytes);
}

void sp_transpose01(int64_t elem_bytes, const void *src, void *dst, int64_t d0,
                    int64_t d1, int64_t inner) {
  auto *from = static_cast<const char *>(src);
  auto *to = static_cast<char *>(dst);
  int64_t bytes = inner * elem_bytes;
  switch (bytes) {
  case 2:
    return transposeElements<2>(from, to, d0, d1);
  case 4:
    return transposeElements<4>(from, to, d0, d1);
  case 8:
    return transposeElements<8>(from, to, d0, d1);
  }
  for (int64_t i = 0; i < d0; ++i)
    for (int64_t j = 0; j < d1; ++j)
      std::memcpy(to + (j * d0 + i) * bytes, from + (i * d1 + j) * bytes,
                  bytes);
}

void sp_copy_rows(int64_t rows, int64_t row_bytes, const void *src,
                  int64_t src_stride, void *dst, int64_t dst_stride) {
  if (src_stride == row_bytes && dst_stride == row_bytes) {
    row_bytes *= rows;
    rows = row_bytes ? 1 : 0;
  }
  auto *from = static_cast<const char *>(src);
  auto *to = static_cast<char *>(dst);
  for (int64_t i = 0; i < rows; ++i)
    std::memcpy(to + i * dst_stride, from + i * src_stride, row_bytes);
}
