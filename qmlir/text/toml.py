"""Values as TOML, which the standard library reads and does not write."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def toml_value(value: object) -> str:
    """A truth value, number, string, list or table in TOML, on one line; of any other value its text as a string."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)  # inf and nan too
        case list() | tuple():
            return f"[{', '.join(map(toml_value, cast(Sequence[Any], value)))}]"
        case Mapping():
            entries = cast(Mapping[str, Any], value).items()
            return f"{{ {', '.join(f'{_key(name)} = {toml_value(each)}' for name, each in entries)} }}"
        case _:
            # JSON escapes strings as TOML does, but for one character, which JSON leaves as it is.
            return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else toml_value(name)
