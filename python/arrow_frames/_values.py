"""Names, attributes and labels as JSON: exactly, or as a pickle that the reader must allow."""

import base64
import math
import pickle
import re

import numpy as np
import pandas as pd

from arrow_frames._errors import UntrustedPickleError
from arrow_frames._native import DecodeError
from arrow_frames._parts import dtype_of

#: Keys of a dict that are no text.
MAX_KEYS = 1_000

#: The name of a time zone, or an offset from UTC.
ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+)*|[+-]\d\d:\d\d")


def encode(value):
    """A value as JSON has it; what JSON has not is marked by an object of one key."""
    kind = type(value)
    if value is None or kind is str and is_unicode(value) or kind is bool:
        return value
    if kind is int and -(2**63) <= value < 2**64:
        return value
    if kind is float:
        return value if math.isfinite(value) else {"float": repr(value)}
    if kind is tuple:
        return {"tuple": [encode(item) for item in value]}
    if kind is list:
        return [encode(item) for item in value]
    if kind is dict:
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    if (known := encode_scalar(value)) is not None:
        return known
    return {"pickle": base64.b64encode(pickle.dumps(value, 5)).decode()}


def decode(value, what: str, allow_pickle: bool):
    """What `encode` was given."""
    if isinstance(value, list):
        return [decode(item, what, allow_pickle) for item in value]
    if not isinstance(value, dict):
        return value
    if "float" in value:
        return float(value["float"])
    if "tuple" in value:
        return tuple(decode(item, what, allow_pickle) for item in value["tuple"])
    if "dict" in value:
        if sum(not isinstance(key, str) for key, _ in value["dict"]) > MAX_KEYS:
            # Whose hashes can be made to collide.
            raise DecodeError(f"{what} has a dict of {len(value['dict']):,} keys that are no text")
        items = (
            (decode(key, what, allow_pickle), decode(item, what, allow_pickle)) for key, item in value["dict"]
        )
        return dict(items)
    for key, known in SCALARS.items():
        if key in value:
            return known(value[key])
    if not allow_pickle:
        raise UntrustedPickleError(what, "it is no plain value")
    return pickle.loads(base64.b64decode(value["pickle"]))


def encode_scalar(value):
    """A scalar of numpy or pandas, if what JSON has of it makes the same one again."""
    if value is pd.NA:
        return {"missing": "NA"}
    if value is pd.NaT:
        return {"missing": "NaT"}
    if isinstance(value, np.generic) and value.dtype.kind in "iufb" and value.dtype.itemsize <= 8:
        return {"numpy": [value.dtype.str, float(value).hex() if value.dtype.kind == "f" else value.item()]}
    if type(value) is pd.Timedelta:
        known = {"moment": numbers(value.to_numpy())}
        return (
            known if getattr(decode(known, "", False), "unit", None) == getattr(value, "unit", None) else None
        )
    if type(value) is not pd.Timestamp:
        return None
    if value.tz is None:
        known = {"moment": numbers(value.to_datetime64())}
    else:
        from arrow_frames._arrays import zone_library, zone_name

        try:
            zone = [zone_name(value.tz, as_call=False), zone_library(value.tz)]
        except TypeError:
            return None
        known = {"moment": numbers(value.tz_convert("UTC").tz_localize(None).to_datetime64()) + zone}
    again = decode(known, "", False)
    is_same = again == value and type(again.tz) is type(value.tz) and again.fold == value.fold
    return known if is_same and getattr(again, "unit", None) == getattr(value, "unit", None) else None


def numbers(value) -> list:
    """numpy's datetime or duration as the name of its dtype and an integer."""
    return [value.dtype.str, int(value.view("i8"))]


def numpy_scalar(parts):
    """`["<f8", "0x1.8p+0"]`"""
    dtype = dtype_of(parts[0])
    return dtype.type(float.fromhex(parts[1]) if dtype.kind == "f" else parts[1])


def moment(parts):
    """`["<M8[ns]", 0, "Europe/Paris", "zoneinfo"]`"""
    kind, number, *zone = parts
    value = np.int64(number).view(dtype_of(kind))
    if value.dtype.kind == "m":
        return pd.Timedelta(value)
    stamp = pd.Timestamp(value)
    if not zone:
        return stamp
    from arrow_frames._rebuild import zone_of

    name, library = zone
    if not ZONE.fullmatch(name) or len(name) > 64 or name.startswith("dateutil/"):
        # pandas opens files by such names.
        raise DecodeError(f"there is no time zone {name[:50]!r}")
    return stamp.tz_localize("UTC").tz_convert(zone_of(pd.DatetimeTZDtype("ns", name).tz, library))


#: What makes the scalars of numpy and pandas again.
SCALARS = {"numpy": numpy_scalar, "moment": moment, "missing": {"NA": pd.NA, "NaT": pd.NaT}.__getitem__}


def is_unicode(text: str) -> bool:
    """Whether text has no lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
