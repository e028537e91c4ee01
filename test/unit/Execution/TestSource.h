//===- TestSource.h - parameters from memory ------------------------------===//

#ifndef SP_TEST_UNIT_EXECUTION_TESTSOURCE_H
#define SP_TEST_UNIT_EXECUTION_TESTSOURCE_H

#include "sp/IO/Block.h"
#include "sp/IO/ParameterSource.h"
#include <map>

namespace sp {

using Values = std::vector<double>;

/// Parameters from memory.
class TestSource : public ParameterSource {
public:
  llvm::Error read(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                   llvm::ArrayRef<int64_t> offsets,
                   llvm::ArrayRef<int64_t> sizes, DType target,
                   void *dst) const override {
    const Values &from = values.at(name.str());
    forEachRun(shape, offsets, sizes,
               [&](int64_t source, int64_t block, int64_t length) {
                 if (target == DType::I64)
                   for (int64_t i = 0; i < length; ++i)
                     static_cast<int64_t *>(dst)[block + i] =
                         static_cast<int64_t>(from[source + i]);
                 else
                   convertElements(DType::F64, &from[source], target,
                                   static_cast<char *>(dst) +
                                       block * byteSize(target),
                                   length);
               });
    return llvm::Error::success();
  }
  llvm::Error
  checkNoExtra(llvm::ArrayRef<llvm::StringRef>,
               llvm::function_ref<bool(llvm::StringRef)>) const override {
    return llvm::Error::success();
  }

  std::map<std::string, Values> values;
};

} // namespace sp

#endif // SP_TEST_UNIT_EXECUTION_TESTSOURCE_H
