//===- OpenMP.h - the threads of oneDNN -------------------------*- C++ -*-===//

#ifndef SP_RUNTIME_CPU_OPENMP_H
#define SP_RUNTIME_CPU_OPENMP_H

namespace sp {

/// Sets how many threads oneDNN uses when this thread calls it. Found at run
/// time, so that no compiler of ours needs OpenMP; without it, does nothing.
void setOpenMPThreads(int count);
/// 1 without OpenMP.
int getOpenMPThreads();

/// One thread in a scope that is itself parallel.
class SingleOpenMPThread {
public:
  SingleOpenMPThread() : before(getOpenMPThreads()) { setOpenMPThreads(1); }
  ~SingleOpenMPThread() { setOpenMPThreads(before); }
  SingleOpenMPThread(const SingleOpenMPThread &) = delete;

private:
  int before;
};

} // namespace sp

#endif // SP_RUNTIME_CPU_OPENMP_H
