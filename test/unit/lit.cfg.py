# The gtest suite: every executable of the build whose name ends in _tests.
import os

import lit.formats

config.name = "sp-Unit"
config.suffixes = []
config.test_source_root = os.path.join(config.sp_binary_dir, "bin")
config.test_exec_root = config.test_source_root
config.test_format = lit.formats.GoogleTest(".", "_tests")
