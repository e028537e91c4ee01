//===- OpenMP.cpp ---------------------------------------------------------===//

#include "OpenMP.h"

#include <dlfcn.h>

void sp::setOpenMPThreads(int count) {
  static const auto function = reinterpret_cast<void (*)(int)>(
      dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
  if (function)
    function(count);
}

int sp::getOpenMPThreads() {
  static const auto function =
      reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  return function ? function() : 1;
}
