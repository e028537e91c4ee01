//===- Collectives.cpp - what every back end shares -----------------------===//

#include "Internal.h"

using namespace sp;

const char *sp::getCollectiveName(Collective kind) {
  switch (kind) {
  case Collective::AllReduce:
    return "all_reduce";
  case Collective::ReduceScatter:
    return "reduce_scatter";
  case Collective::AllGather:
    return "all_gather";
  }
  return "collective";
}

int64_t CollectiveDesc::numBytes() const {
  return numElements() * getElementBytes(dtype);
}

int64_t CollectiveDesc::ringBytes(int64_t size) const {
  int64_t phases = kind == Collective::AllReduce ? 2 : 1;
  return phases * (size - 1) * numBytes() / size;
}

Communicator::~Communicator() = default;

/// Whether the `bytes` from a and from b on share one.
static bool overlap(const void *a, int64_t bytesA, const void *b,
                    int64_t bytesB) {
  auto beginA = reinterpret_cast<uintptr_t>(a);
  auto beginB = reinterpret_cast<uintptr_t>(b);
  return beginA < beginB + bytesB && beginB < beginA + bytesA;
}

static int32_t runCollective(sp_context *context, int32_t axis,
                             CollectiveDesc desc, const void *src, void *dst) {
  return guarded(context, [&]() -> int32_t {
    const char *name = getCollectiveName(desc.kind);
    if (axis < 0 || size_t(axis) >= context->communicators.size())
      return context->fail(str(name, ": the mesh has no axis ", axis));
    Communicator &group = *context->communicators[axis];
    int64_t size = group.size();
    if (!getElementBytes(desc.dtype))
      return context->fail(str(name, ": not of ", getDTypeName(desc.dtype)));
    if (desc.outer < 0 || desc.dim < 0 || desc.inner < 0)
      return context->fail(str(name, ": a negative size"));
    bool scatters = desc.kind != Collective::AllReduce;
    if (scatters && desc.dim % size != 0)
      return context->fail(str(name, ": a dimension of ", desc.dim,
                               " cannot be split over ", size, " ranks"));
    int64_t srcBytes = desc.numBytes(), dstBytes = srcBytes;
    if (scatters)
      (desc.kind == Collective::AllGather ? srcBytes : dstBytes) /= size;
    if (overlap(src, srcBytes, dst, dstBytes))
      return context->fail(str(name, ": its source and destination overlap"));

    std::string error = group.run(desc, src, dst);
    if (!error.empty())
      return context->fail(error);
    CollectiveStatistics &statistics = context->statistics[int(desc.kind)];
    ++statistics.count;
    statistics.bytes += desc.ringBytes(size);
    return 0;
  });
}

int32_t sp_all_reduce(sp_context *context, int32_t axis, int32_t dtype,
                      const void *src, void *dst, int64_t count) {
  CollectiveDesc desc = {Collective::AllReduce, dtype, 1, count, 1};
  return runCollective(context, axis, desc, src, dst);
}

int32_t sp_reduce_scatter(sp_context *context, int32_t axis, int32_t dtype,
                          const void *src, void *dst, int64_t outer,
                          int64_t dim, int64_t inner) {
  CollectiveDesc desc = {Collective::ReduceScatter, dtype, outer, dim, inner};
  return runCollective(context, axis, desc, src, dst);
}

int32_t sp_all_gather(sp_context *context, int32_t axis, int32_t dtype,
                      const void *src, void *dst, int64_t outer, int64_t dim,
                      int64_t inner) {
  CollectiveDesc desc = {Collective::AllGather, dtype, outer, dim, inner};
  return runCollective(context, axis, desc, src, dst);
}
