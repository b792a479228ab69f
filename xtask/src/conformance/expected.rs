//! What must come of each file.

use super::corpus::Group;

/// What must come of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// It is read, and equals the JSON beside it.
    Truth,
    /// It is read, and equals the JSON beside it but for the names inside of maps.
    TruthButNames(&'static str),
    /// It is read.
    Data,
    /// It is refused with this kind of error, for this reason.
    Refused(&'static str, &'static str),
    /// It is refused, whatever the kind of error.
    Malformed,
}

/// What is not as its folder says, by the start of the path.
const EXCEPTIONS: [(&str, Expected); 9] = [
    ("golden/1.0.0-bigendian/", BIG_ENDIAN),
    ("golden/1.0.0-littleendian/generated_map_non_canonical.stream", CANONICAL),
    ("golden/cpp-21.0.0/generated_map_non_canonical.stream", CANONICAL),
    ("extra/arrow-r/data-arrow_0.17.0_lz4.feather", LEGACY),
    ("extra/arrow-r/data-arrow_0.17.0_zstd.feather", LEGACY),
    ("extra/pyarrow/v0.17.0.version.2-compression.lz4.feather", LEGACY),
    (
        "extra/nanoarrow/invalid.arrows",
        Expected::Refused("BadNumber", "invalid on purpose: a negative length"),
    ),
    (
        "forward-compat/schema_v6.arrow",
        Expected::Refused("MetadataVersion", "of metadata version V6, which is not known"),
    ),
    ("crashers/", Expected::Malformed),
];

const BIG_ENDIAN: Expected =
    Expected::Refused("BigEndian", "big-endian: its values would have to be swapped");

const LEGACY: Expected =
    Expected::Refused("LegacyCompression", "compressed by the experimental scheme of Arrow 0.17");

const CANONICAL: Expected = Expected::TruthButNames(
    "the stream itself has maps of `entries`, `key` and `value`; only the JSON and the file have other names",
);

/// What must come of the file at this path, in this form.
pub fn of(path: &str, group: Group) -> Expected {
    let exception = EXCEPTIONS.iter().find(|(start, _)| path.starts_with(start));
    match (exception, group) {
        (Some((_, expected)), _) => *expected,
        (None, Group::Golden) => Expected::Truth,
        (None, _) => Expected::Data,
    }
}
