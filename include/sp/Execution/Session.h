//===- Session.h - a program with its memory, on T ranks --------*- C++ -*-===//

#ifndef SP_EXECUTION_SESSION_H
#define SP_EXECUTION_SESSION_H

#include "sp/Execution/Compiler.h"
#include "sp/IO/ParameterSource.h"

#include <array>
#include <optional>

namespace sp {

/// The collectives of one kind that one rank took part in.
struct CollectiveTotal {
  int64_t count = 0;
  int64_t bytes = 0;
};

struct RunOptions {
  int64_t threadsPerRank = 1;
  /// How long ranks wait for each other; by default what the environment's
  /// SP_COMM_TIMEOUT_SECONDS says, or 60.
  std::optional<double> timeoutSeconds;
  /// The run is repeated, for its time; the results are the last run's.
  int64_t repeat = 1;
};

/// What was measured in a run.
struct RunReport {
  /// The median over the repetitions of the slowest rank's time.
  double stepMilliseconds = 0;
  /// One rank's, in one repetition: all_reduce, reduce_scatter, all_gather.
  std::array<CollectiveTotal, 3> collectives;
  /// Per rank, the end of the highest byte that was written.
  std::vector<int64_t> arenaBytesTouched;
};

/// Each rank has its own arena and its own copy of its part of every argument.
class Session {
public:
  /// `program` must outlive the session.
  static llvm::Expected<std::unique_ptr<Session>>
  create(const CompiledProgram &program);
  ~Session();

  /// Gives every rank its part of every parameter.
  llvm::Error loadParameters(const ParameterSource &source);

  /// Gives every rank its part of every input. The file's tensors must be
  /// exactly the program's inputs, in shape and kind of number; floating point
  /// types are converted.
  llvm::Error loadInputs(const SafetensorsFile &file);

  /// After an error the results are undefined.
  llvm::Expected<RunReport> run(const RunOptions &options);

  /// The results in their global shapes, in the program's order; valid until
  /// the next run. An invariant result that differs between ranks is an error.
  llvm::Expected<std::vector<TensorData>> gatherResults();

private:
  struct Rank;

  explicit Session(const CompiledProgram &program);

  const CompiledProgram &compiled;
  const Program &program;
  std::vector<std::unique_ptr<Rank>> ranks;
  std::vector<std::vector<char>> gathered;
};

} // namespace sp

#endif // SP_EXECUTION_SESSION_H
