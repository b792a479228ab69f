"""Names, attributes and labels as JSON: exactly, or as a pickle that the reader must allow."""

import base64
import math
import pickle
import re

import numpy as np
import pandas as pd

from arrow_frames import _zones
from arrow_frames._errors import UntrustedPickleError
from arrow_frames._native import DecodeError
from arrow_frames._parts import dtype_of, items

#: Keys of a dict that are no text.
MAX_KEYS = 1_000

#: Numbers that JSON has not.
FLOATS = {repr(number): number for number in (math.nan, math.inf, -math.inf)}

#: numpy's names of its numbers, and of its datetimes and durations.
NUMBER = re.compile(r"[<>|][biuf][1248]")
MOMENT = re.compile(r"[<>][mM]8\[[A-Za-z]+\]")


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
        if (number := FLOATS.get(value["float"])) is None:
            raise DecodeError(f"{what} has the number {str(value['float'])[:50]!r}")
        return number
    if "tuple" in value:
        return tuple(decode(item, what, allow_pickle) for item in items(value["tuple"], what))
    if "dict" in value:
        if sum(not isinstance(key, str) for key, _ in items(value["dict"], what)) > MAX_KEYS:
            # Whose hashes can be made to collide.
            raise DecodeError(f"{what} has a dict of {len(value['dict']):,} keys that are no text")
        pairs = (
            (decode(key, what, allow_pickle), decode(item, what, allow_pickle)) for key, item in value["dict"]
        )
        return dict(pairs)
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
    name, number = parts
    if not NUMBER.fullmatch(name):
        # Of other kinds a number is a length.
        raise DecodeError(f"{str(name)[:50]!r} is no kind of number")
    dtype = dtype_of(name)
    expected = {"f": str, "b": bool}.get(dtype.kind, int)
    if type(number) is not expected:
        raise DecodeError(f"{str(number)[:50]!r} is no number of the kind {name!r}")
    if dtype.kind == "f":
        number = float.fromhex(number)
    elif dtype.kind in "iu" and not np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
        raise DecodeError(f"{number} is no number of the kind {name!r}")
    return dtype.type(number)


def moment(parts):
    """`["<M8[ns]", 0, "Europe/Paris", "zoneinfo"]`"""
    kind, number, *zone = parts
    if not MOMENT.fullmatch(kind) or type(number) is not int or not -(2**63) <= number < 2**63:
        raise DecodeError(f"{str(number)[:50]} is no number of the kind {str(kind)[:50]!r}")
    value = np.int64(number).view(dtype_of(kind))
    if value.dtype.kind == "m":
        return pd.Timedelta(value)
    stamp = pd.Timestamp(value)
    if not zone:
        return stamp
    from arrow_frames._rebuild import zone_of

    name, library = zone
    own = pd.DatetimeTZDtype("ns", _zones.checked(name)).tz
    return stamp.tz_localize("UTC").tz_convert(zone_of(own, library))


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
