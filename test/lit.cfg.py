# The lit suite: IR tests, tool tests, and whole runs in Integration/.
import os

import lit.formats

config.name = "sp"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "data", "fuzz", "tools", "unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.sp_binary_dir, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.sp_binary_dir, "bin"), config.llvm_tools_dir, os.environ["PATH"]]
)
# FileCheck's options for every test: variables are scoped to their label.
config.environment["FILECHECK_OPTS"] = "-enable-var-scope"
config.substitutions.append(("%data", os.path.join(config.test_source_root, "data")))
config.substitutions.append(("%configs", os.path.join(config.sp_source_dir, "configs")))
