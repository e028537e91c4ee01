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
  llvm::Error read(llvm::StringRef name, llvm::ArrayRef<int64_t>,
                   llvm::ArrayRef<int64_t>, llvm::ArrayRef<int64_t>,
                   DType target, void *dst) const override {
    const Values &from = values.at(name.str());
    if (target == DType::I64)
      for (size_t i = 0; i < from.size(); ++i)
        static_cast<int64_t *>(dst)[i] = static_cast<int64_t>(from[i]);
    else
      convertElements(DType::F64, from.data(), target, dst, from.size());
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
