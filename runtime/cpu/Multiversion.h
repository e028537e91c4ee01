//===- Multiversion.h - one loop, compiled per CPU level --------*- C++ -*-===//
//
// The binary runs on every x86-64, and the few loops that matter use what the
// CPU has. Not `target_clones`: its resolvers run before sanitizers are ready.
//
//===----------------------------------------------------------------------===//

#ifndef SP_RUNTIME_CPU_MULTIVERSION_H
#define SP_RUNTIME_CPU_MULTIVERSION_H

#define SP_ALWAYS_INLINE inline __attribute__((always_inline))

/// Defines `static result name parameters`, which calls `nameBody arguments`;
/// the body and what it calls are SP_ALWAYS_INLINE. Names may be overloaded.
#if defined(__x86_64__)
#define SP_MULTIVERSION(result, name, parameters, arguments)                   \
  static result name##Base parameters { return name##Body arguments; }         \
  __attribute__((                                                              \
      target("arch=x86-64-v3"))) static result name##V3 parameters {           \
    return name##Body arguments;                                               \
  }                                                                            \
  __attribute__((                                                              \
      target("arch=x86-64-v4"))) static result name##V4 parameters {           \
    return name##Body arguments;                                               \
  }                                                                            \
  static result name parameters {                                              \
    using Version = result(*) parameters;                                      \
    static const Version best =                                                \
        __builtin_cpu_supports("x86-64-v4")   ? Version(name##V4)              \
        : __builtin_cpu_supports("x86-64-v3") ? Version(name##V3)              \
                                              : Version(name##Base);           \
    return best arguments;                                                     \
  }
#else
#define SP_MULTIVERSION(result, name, parameters, arguments)                   \
  static result name parameters { return name##Body arguments; }
#endif

#endif // SP_RUNTIME_CPU_MULTIVERSION_H
