//===- SanitizerDefaults.cpp - options of sanitized tools -----------------===//
//
// LLVM's headers poison the free part of their arenas in instrumented code, and
// LLVM's libraries, which are not instrumented, hand it out without unpoisoning.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}
