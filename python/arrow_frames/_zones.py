"""Which names of time zones may reach pandas."""

import re
from typing import Any

from arrow_frames._native import DecodeError

#: The name of a zone of the IANA database, or an offset from UTC.
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*|(?:UTC)?[+-][0-9]{2}:[0-9]{2}")

#: Files beside those of the database: the zone of the machine, and what is no zone.
OTHERS = re.compile(r"localtime|posixrules|factory|(?:posix|right|dateutil)/?.*", re.IGNORECASE)

#: No name of the database is longer.
MAX_NAME = 64


def checked(name: Any) -> str:
    """The name, if it is that of a zone or an offset.

    pandas opens files by names that start with `dateutil/`, and takes `tzlocal()` and `localtime` for the zone of the
    machine.
    """
    if (
        not isinstance(name, str)
        or len(name) > MAX_NAME
        or not NAME.fullmatch(name)
        or OTHERS.fullmatch(name)
    ):
        raise DecodeError(f"there is no time zone {str(name)[:50]!r}")
    return name
