//===- Isolation.cpp - Work that may crash --------------------------------===//

#include "Isolation.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ErrorHandling.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace sp::test;

namespace {
struct Child {
  int64_t number;
  pid_t process;
  int pipe;
  std::string output;
};
} // namespace

static void writeAll(int file, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return; // The reader sees an incomplete text.
    text = text.drop_front(written);
  }
}

static Child start(int64_t number, unsigned timeoutSeconds,
                   llvm::function_ref<std::string(int64_t)> work) {
  int ends[2];
  if (pipe(ends) != 0)
    llvm::report_fatal_error("cannot create a pipe");
  pid_t process = fork();
  if (process < 0)
    llvm::report_fatal_error("cannot create a process");
  if (process == 0) {
    close(ends[0]);
    alarm(timeoutSeconds);
    writeAll(ends[1], work(number));
    _exit(0);
  }
  close(ends[1]);
  return {number, process, ends[0], ""};
}

/// False at the end of the output.
static bool readSome(Child &child) {
  char buffer[4096];
  ssize_t size = read(child.pipe, buffer, sizeof(buffer));
  if (size < 0 && errno == EINTR)
    return true;
  if (size <= 0)
    return false;
  child.output.append(buffer, size);
  return true;
}

static IsolatedResult finish(Child child) {
  close(child.pipe);
  int status = 0;
  while (waitpid(child.process, &status, 0) < 0 && errno == EINTR)
    ;
  IsolatedResult result;
  result.output = std::move(child.output);
  if (WIFSIGNALED(status))
    result.death =
        WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0)
    result.death = "exit with " + std::to_string(WEXITSTATUS(status));
  return result;
}

void sp::test::forEachIsolated(
    int64_t count, int64_t jobs, unsigned timeoutSeconds,
    llvm::function_ref<std::string(int64_t)> work,
    llvm::function_ref<void(int64_t, IsolatedResult)> done) {
  std::vector<Child> children;
  int64_t next = 0;
  while (next < count || !children.empty()) {
    while (next < count && static_cast<int64_t>(children.size()) < jobs)
      children.push_back(start(next++, timeoutSeconds, work));
    std::vector<pollfd> pipes;
    for (const Child &child : children)
      pipes.push_back({child.pipe, POLLIN, 0});
    if (poll(pipes.data(), pipes.size(), -1) < 0)
      continue;
    for (size_t i = pipes.size(); i-- > 0;) {
      if (pipes[i].revents == 0 || readSome(children[i]))
        continue;
      Child ended = std::move(children[i]);
      children.erase(children.begin() + i);
      int64_t number = ended.number;
      done(number, finish(std::move(ended)));
    }
  }
}
