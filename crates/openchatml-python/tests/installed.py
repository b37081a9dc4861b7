"""A plugin for pytest: tests of `openai_harmony` test `openchatml.compat.openai_harmony`."""

from __future__ import annotations

import openchatml.compat

openchatml.compat.install(guard=False)
