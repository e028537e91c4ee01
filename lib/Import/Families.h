//===- Families.h - the model families that can be imported ---------------===//
//
// One file in families/ for each; here they are listed.
//
//===----------------------------------------------------------------------===//

#ifndef SP_LIB_IMPORT_FAMILIES_H
#define SP_LIB_IMPORT_FAMILIES_H

#include "sp/Import/DecoderConfig.h"

namespace sp {

class ConfigReader;

DecoderConfig readMiniMind(ConfigReader &reader);

struct ModelFamily {
  const char *modelType;
  DecoderConfig (*read)(ConfigReader &reader);
};

inline constexpr ModelFamily kModelFamilies[] = {
    {"minimind", readMiniMind},
};

} // namespace sp

#endif // SP_LIB_IMPORT_FAMILIES_H
