"""Makes the stubs before hatchling gathers the files of the wheel."""

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class StubsHook(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import stubs

        stubs.make()
        # The full text, where Debian has it; the notice is at the top of the source tree.
        text = "/usr/share/common-licenses/Apache-2.0"
        if os.path.exists(text):
            build_data["force_include"][text] = "dpnmf/LICENSE.txt"
