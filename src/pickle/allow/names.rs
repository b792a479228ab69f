//! The table of allowed names, with the reason for each. `docs/PICKLE.md` is made of it.

use super::{AllowedName, Role};

// Each entry is a meaning, the role, whether this crate writes it, the reason, and the names
// that have this meaning, of which this crate writes the first: pandas and pyarrow have moved
// theirs.
macro_rules! names {
    ($($meaning:ident $role:ident $written:literal $reason:literal
        => $module:literal $name:literal $(, $other_module:literal $other_name:literal)*;)*) => {
        /// What a name means.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(in crate::pickle) enum Name {
            $($meaning,)*
        }

        pub(super) static TABLE: &[(Name, AllowedName)] = &[
            $(
                (Name::$meaning, AllowedName {
                    module: $module,
                    name: $name,
                    role: Role::$role,
                    is_written: $written,
                    reason: $reason,
                }),
                $((Name::$meaning, AllowedName {
                    module: $other_module,
                    name: $other_name,
                    role: Role::$role,
                    is_written: false,
                    reason: $reason,
                }),)*
            )*
        ];

        impl Name {
            /// The first of the names with this meaning.
            pub(in crate::pickle) fn text(self) -> &'static str {
                match self {
                    $(Name::$meaning => concat!($module, ".", $name),)*
                }
            }
        }
    };
}

names! {
    // numpy: arrays over given bytes or lists
    FromBuffer Call true
        "An array over a buffer; the dtype, the count and the buffer's length are checked."
        => "numpy" "frombuffer";
    Empty Call true
        "The empty object array whose state is then a list of Python objects."
        => "numpy" "empty";
    NpArray Call false
        "An object array of a list."
        => "numpy" "array";
    Take Call false
        "An object array from a dictionary; the indices are checked."
        => "numpy" "take";
    DtypeOf Call true
        "A dtype by its name; names and state are checked against a list."
        => "numpy" "dtype";
    NdArray Call false
        "An array of several dimensions over a buffer, never one of objects; also the class that `_reconstruct` is given."
        => "numpy" "ndarray";
    Reconstruct Call false
        "numpy's own way to make an empty array, whose state is then set."
        => "numpy._core.multiarray" "_reconstruct", "numpy.core.multiarray" "_reconstruct";
    NpFromBuffer Call false
        "numpy's own way to make an array over a buffer."
        => "numpy._core.numeric" "_frombuffer", "numpy.core.numeric" "_frombuffer";
    NpScalar Call false
        "One numpy value of a dtype and its bytes."
        => "numpy._core.multiarray" "scalar", "numpy.core.multiarray" "scalar";
    // Python: values in object columns
    ByteArray Call false
        "A bytearray; only of bytes, because of a number it would be that long."
        => "builtins" "bytearray";
    FrozenSet Call false
        "A frozenset of a list."
        => "builtins" "frozenset";
    Complex Call false
        "A complex number."
        => "builtins" "complex";
    StrSplit Call false
        "Many strings from one by a separator."
        => "builtins" "str.split";
    GetAttr Call false
        "Only with `ZoneInfo` and `_unpickle`: how Python 3.9 to 3.11 pickle a time zone. Any other use is refused."
        => "builtins" "getattr";
    Slice Call false
        "The place of a block's columns in a pandas DataFrame."
        => "builtins" "slice";
    OrderedDict Call false
        "A dict; its items are set one by one, as a dict's are."
        => "collections" "OrderedDict";
    Date Call true
        "A date of three numbers, or of its 4 bytes."
        => "datetime" "date";
    DateTime Call true
        "A datetime of numbers, or of its 10 bytes, and a time zone."
        => "datetime" "datetime";
    Time Call true
        "A time of numbers, or of its 6 bytes."
        => "datetime" "time";
    TimeDelta Call true
        "A duration of days, seconds and microseconds."
        => "datetime" "timedelta";
    TimeZone Call true
        "A fixed offset from UTC."
        => "datetime" "timezone";
    Decimal Call true
        "A decimal of its digits as text."
        => "decimal" "Decimal";
    Uuid CallOrNew true
        "A UUID of its text, or of its number as state."
        => "uuid" "UUID";
    // time zones
    ZoneInfo Call false
        "A time zone by name; the name's shape is checked, so that it is no path elsewhere."
        => "zoneinfo" "ZoneInfo", "backports.zoneinfo" "ZoneInfo";
    ZoneInfoUnpickle Call false
        "zoneinfo's own way to name a zone; the name's shape is checked."
        => "zoneinfo" "ZoneInfo._unpickle", "backports.zoneinfo" "ZoneInfo._unpickle";
    PytzZone Call false
        "pytz's own way to name a zone."
        => "pytz" "_p";
    PytzUtc Call false
        "pytz's UTC."
        => "pytz" "_UTC";
    PytzFixed Call false
        "pytz's fixed offset, in minutes."
        => "pytz" "FixedOffset";
    DateutilUnpickle Call false
        "dateutil's own way to name a zone and to list its transitions."
        => "dateutil.tz._tzfile" "_unpickle";
    DateutilFile Value false
        "The class that `_unpickle` is given."
        => "dateutil.tz._tzfile" "tzfile";
    DateutilUtc Call false
        "dateutil's UTC."
        => "dateutil.tz.tz" "tzutc";
    // pandas: arrays, each from its parts
    FromCodes Call true
        "A categorical of codes and categories; pandas checks the codes, and so is done here."
        => "pandas" "Categorical.from_codes";
    PdArray Call true
        "An array of values and a dtype."
        => "pandas" "array";
    TzConvert Call true
        "Datetimes in UTC moved to a time zone: the form for pandas 1.5 and 2.0."
        => "pandas.arrays" "DatetimeArray.tz_convert";
    NumpyExtensionArray Value true
        "Named and dropped again: it exists since pandas 2.1, so that older versions refuse a form that they would get wrong."
        => "pandas.arrays" "NumpyExtensionArray";
    IntegerArray CallOrNew true
        "Nullable integers of values and a mask of the same length."
        => "pandas.arrays" "IntegerArray", "pandas.core.arrays.integer" "IntegerArray";
    FloatingArray CallOrNew true
        "Nullable floats of values and a mask of the same length."
        => "pandas.arrays" "FloatingArray", "pandas.core.arrays.floating" "FloatingArray";
    BooleanArray CallOrNew true
        "Nullable booleans of values and a mask of the same length."
        => "pandas.arrays" "BooleanArray", "pandas.core.arrays.boolean" "BooleanArray";
    ArrowStringArray CallOrNew true
        "Strings in an Arrow array, which is checked in full."
        => "pandas.arrays" "ArrowStringArray", "pandas.core.arrays.string_arrow" "ArrowStringArray", "pandas.core.arrays.string_arrow" "ArrowStringArrayNumpySemantics";
    ArrowExtensionArray CallOrNew false
        "An Arrow array, which is checked in full, as a pandas array."
        => "pandas.arrays" "ArrowExtensionArray", "pandas.core.arrays.arrow.array" "ArrowExtensionArray";
    PeriodArray Call true
        "Periods of ordinals and a frequency; also the class that pandas' own way is given."
        => "pandas.arrays" "PeriodArray", "pandas.core.arrays.period" "PeriodArray";
    IntervalFromArrays Call true
        "Intervals of their bounds."
        => "pandas.arrays" "IntervalArray.from_arrays";
    IntervalArray Value false
        "The class that pandas' own way is given."
        => "pandas.arrays" "IntervalArray", "pandas.core.arrays.interval" "IntervalArray";
    CategoricalClass Value false
        "The class that pandas' own way is given."
        => "pandas" "Categorical", "pandas.core.arrays.categorical" "Categorical";
    DatetimeArray Value false
        "The class that pandas' own way is given."
        => "pandas.arrays" "DatetimeArray", "pandas.core.arrays.datetimes" "DatetimeArray";
    TimedeltaArray Value false
        "The class that pandas' own way is given."
        => "pandas.arrays" "TimedeltaArray", "pandas.core.arrays.timedeltas" "TimedeltaArray";
    StringArray Value false
        "The class that pandas' own way is given."
        => "pandas.arrays" "StringArray", "pandas.core.arrays.string_" "StringArray", "pandas.core.arrays.string_" "StringArrayNumpySemantics";
    SparseArray New false
        "A sparse array, from its state."
        => "pandas.arrays" "SparseArray", "pandas.core.arrays.sparse.array" "SparseArray";
    NdArrayBacked Call false
        "pandas' own way to make an array of a dtype and a numpy array."
        => "pandas._libs.arrays" "__pyx_unpickle_NDArrayBacked";
    IntervalMixin Call false
        "pandas' own way to make an interval array."
        => "pandas._libs.interval" "__pyx_unpickle_IntervalMixin";
    BlockIndex Call false
        "The places of a sparse array's values."
        => "pandas._libs.sparse" "BlockIndex";
    IntIndex Call false
        "The places of a sparse array's values."
        => "pandas._libs.sparse" "IntIndex";
    // pandas: dtypes
    DatetimeTzDtype CallOrNew true
        "The dtype of datetimes with a time zone; unit and zone are checked."
        => "pandas" "DatetimeTZDtype", "pandas.core.dtypes.dtypes" "DatetimeTZDtype";
    StringDtype CallOrNew true
        "The dtype of strings."
        => "pandas" "StringDtype", "pandas.core.arrays.string_" "StringDtype";
    FromArrow Call true
        "Strings of pandas 3 from an Arrow array, which is checked in full."
        => "pandas" "StringDtype.__from_arrow__";
    PeriodDtype Call true
        "The dtype of periods; the frequency is checked."
        => "pandas" "PeriodDtype", "pandas.core.dtypes.dtypes" "PeriodDtype";
    SparseDtype CallOrNew true
        "The dtype of sparse arrays."
        => "pandas" "SparseDtype", "pandas.core.arrays.sparse.dtype" "SparseDtype", "pandas.core.dtypes.dtypes" "SparseDtype";
    CategoricalDtype CallOrNew false
        "The dtype of categoricals."
        => "pandas" "CategoricalDtype", "pandas.core.dtypes.dtypes" "CategoricalDtype";
    IntervalDtype New false
        "The dtype of intervals, from its state."
        => "pandas" "IntervalDtype", "pandas.core.dtypes.dtypes" "IntervalDtype";
    ArrowDtype New false
        "The dtype of Arrow arrays, from its state."
        => "pandas" "ArrowDtype", "pandas.core.arrays.arrow.dtype" "ArrowDtype", "pandas.core.dtypes.dtypes" "ArrowDtype";
    MaskedDtype New false
        "The dtype of a nullable array; it has no state that matters."
        => "pandas" "Int8Dtype", "pandas.core.arrays.integer" "Int8Dtype", "pandas" "UInt8Dtype", "pandas.core.arrays.integer" "UInt8Dtype", "pandas" "Int16Dtype", "pandas.core.arrays.integer" "Int16Dtype", "pandas" "UInt16Dtype", "pandas.core.arrays.integer" "UInt16Dtype", "pandas" "Int32Dtype", "pandas.core.arrays.integer" "Int32Dtype", "pandas" "UInt32Dtype", "pandas.core.arrays.integer" "UInt32Dtype", "pandas" "Int64Dtype", "pandas.core.arrays.integer" "Int64Dtype", "pandas" "UInt64Dtype", "pandas.core.arrays.integer" "UInt64Dtype", "pandas" "Float32Dtype", "pandas.core.arrays.floating" "Float32Dtype", "pandas" "Float64Dtype", "pandas.core.arrays.floating" "Float64Dtype", "pandas" "BooleanDtype", "pandas.core.arrays.boolean" "BooleanDtype";
    // pandas: tables, columns and indexes
    DataFrame CallOrNew false
        "A dataframe of arrays by name."
        => "pandas" "DataFrame", "pandas.core.frame" "DataFrame";
    Series CallOrNew false
        "A column of an array and a name."
        => "pandas" "Series", "pandas.core.series" "Series";
    Index Call true
        "An index of an array; also the class that pandas' own way is given."
        => "pandas" "Index", "pandas.core.indexes.base" "Index";
    RangeIndex Call true
        "An index of start, stop and step; also the class that pandas' own way is given."
        => "pandas" "RangeIndex", "pandas.core.indexes.range" "RangeIndex";
    MultiIndex Call true
        "An index of levels and codes, which are checked; also the class that pandas' own way is given."
        => "pandas" "MultiIndex", "pandas.core.indexes.multi" "MultiIndex";
    IndexClass Value false
        "A class of index that pandas' own way is given."
        => "pandas" "CategoricalIndex", "pandas" "DatetimeIndex", "pandas" "IntervalIndex", "pandas" "PeriodIndex", "pandas" "TimedeltaIndex", "pandas.core.indexes.category" "CategoricalIndex", "pandas.core.indexes.datetimes" "DatetimeIndex", "pandas.core.indexes.interval" "IntervalIndex", "pandas.core.indexes.numeric" "Float64Index", "pandas.core.indexes.numeric" "Int64Index", "pandas.core.indexes.numeric" "UInt64Index", "pandas.core.indexes.period" "PeriodIndex", "pandas.core.indexes.timedeltas" "TimedeltaIndex";
    NewIndex Call false
        "pandas' own way to make an index."
        => "pandas.core.indexes.base" "_new_Index", "pandas.core.indexes.datetimes" "_new_DatetimeIndex", "pandas.core.indexes.interval" "_new_IntervalIndex", "pandas.core.indexes.period" "_new_PeriodIndex", "pandas.core.indexes.timedeltas" "_new_TimedeltaIndex";
    SingleBlockManager New false
        "What holds the array of a column, from its state."
        => "pandas.core.internals.managers" "SingleBlockManager";
    BlockManager Call false
        "What holds the arrays of a dataframe."
        => "pandas.core.internals.managers" "BlockManager";
    UnpickleBlock Call false
        "pandas' own way to make one block of a dataframe."
        => "pandas._libs.internals" "_unpickle_block";
    // pandas: values in object columns
    Na Value true
        "The missing value of nullable arrays."
        => "pandas" "NA", "pandas._libs.missing" "NA";
    NaT Value true
        "The missing datetime."
        => "pandas" "NaT";
    NatUnpickle Call false
        "pandas' own way to name the missing datetime."
        => "pandas._libs.tslibs.nattype" "_nat_unpickle", "pandas._libs.tslibs.nattype" "__nat_unpickle";
    Timestamp Call false
        "A datetime of its text."
        => "pandas" "Timestamp";
    TimestampUnpickle Call false
        "pandas' own way to make a datetime of its number."
        => "pandas._libs.tslibs.timestamps" "_unpickle_timestamp";
    TimedeltaUnpickle Call false
        "pandas' own way to make a duration of its number."
        => "pandas._libs.tslibs.timedeltas" "_timedelta_unpickle";
    Period Call false
        "A period of its ordinal and frequency."
        => "pandas" "Period", "pandas._libs.tslibs.period" "Period";
    Interval Call false
        "An interval of its bounds."
        => "pandas" "Interval", "pandas._libs.interval" "Interval";
    Offset Call false
        "A frequency, in periods and indexes."
        => "pandas._libs.tslibs.offsets" "Day", "pandas._libs.tslibs.offsets" "Hour", "pandas._libs.tslibs.offsets" "Minute", "pandas._libs.tslibs.offsets" "Second", "pandas._libs.tslibs.offsets" "Milli", "pandas._libs.tslibs.offsets" "Micro", "pandas._libs.tslibs.offsets" "Nano", "pandas._libs.tslibs.offsets" "BusinessDay", "pandas._libs.tslibs.offsets" "Week", "pandas._libs.tslibs.offsets" "MonthBegin", "pandas._libs.tslibs.offsets" "MonthEnd", "pandas._libs.tslibs.offsets" "QuarterBegin", "pandas._libs.tslibs.offsets" "QuarterEnd", "pandas._libs.tslibs.offsets" "YearBegin", "pandas._libs.tslibs.offsets" "YearEnd";
    // pyarrow: arrays over given buffers
    PyBuffer Call true
        "A buffer for Arrow."
        => "pyarrow" "py_buffer", "pyarrow.lib" "py_buffer";
    FromBuffers Call true
        "An Arrow array of a type, a length and buffers. pyarrow checks nothing, so all is checked here: lengths, offsets, text."
        => "pyarrow" "Array.from_buffers";
    ToPandas Call true
        "An Arrow array as whatever pandas' default for its type is."
        => "pyarrow" "Array.to_pandas";
    DictionaryFromArrays Call false
        "An Arrow dictionary array; the indices are checked."
        => "pyarrow" "DictionaryArray.from_arrays";
    PaBool Call false
        "An Arrow type."
        => "pyarrow" "bool_";
    PaInt8 Call false
        "An Arrow type."
        => "pyarrow" "int8";
    PaInt16 Call false
        "An Arrow type."
        => "pyarrow" "int16";
    PaInt32 Call false
        "An Arrow type."
        => "pyarrow" "int32";
    PaInt64 Call false
        "An Arrow type."
        => "pyarrow" "int64";
    PaUInt8 Call false
        "An Arrow type."
        => "pyarrow" "uint8";
    PaUInt16 Call false
        "An Arrow type."
        => "pyarrow" "uint16";
    PaUInt32 Call false
        "An Arrow type."
        => "pyarrow" "uint32";
    PaUInt64 Call false
        "An Arrow type."
        => "pyarrow" "uint64";
    PaFloat16 Call false
        "An Arrow type."
        => "pyarrow" "float16";
    PaFloat32 Call false
        "An Arrow type."
        => "pyarrow" "float32";
    PaFloat64 Call false
        "An Arrow type."
        => "pyarrow" "float64";
    PaDate32 Call false
        "An Arrow type."
        => "pyarrow" "date32";
    PaDate64 Call false
        "An Arrow type."
        => "pyarrow" "date64";
    PaString Call true
        "An Arrow type."
        => "pyarrow" "string";
    PaLargeString Call true
        "An Arrow type."
        => "pyarrow" "large_string";
    PaStringView Call false
        "An Arrow type."
        => "pyarrow" "string_view";
    PaLargeBinary Call false
        "An Arrow type."
        => "pyarrow" "large_binary";
    PaBinaryView Call false
        "An Arrow type."
        => "pyarrow" "binary_view";
    PaBinary Call false
        "An Arrow type; with a number, of that width."
        => "pyarrow" "binary", "pyarrow.lib" "binary";
    PaTime32 Call false
        "An Arrow type with its unit."
        => "pyarrow" "time32", "pyarrow.lib" "time32";
    PaTime64 Call false
        "An Arrow type with its unit."
        => "pyarrow" "time64", "pyarrow.lib" "time64";
    PaDuration Call false
        "An Arrow type with its unit."
        => "pyarrow" "duration", "pyarrow.lib" "duration";
    PaTimestamp Call false
        "An Arrow type with its unit and time zone."
        => "pyarrow" "timestamp", "pyarrow.lib" "timestamp";
    PaDecimal128 Call false
        "An Arrow type with its precision and scale."
        => "pyarrow" "decimal128", "pyarrow.lib" "decimal128";
    PaDecimal256 Call false
        "An Arrow type with its precision and scale."
        => "pyarrow" "decimal256", "pyarrow.lib" "decimal256";
    PaList Call false
        "An Arrow type with its field."
        => "pyarrow.lib" "list_";
    PaLargeList Call false
        "An Arrow type with its field."
        => "pyarrow.lib" "large_list";
    PaStruct Call false
        "An Arrow type with its fields."
        => "pyarrow.lib" "struct";
    PaDictionary Call false
        "An Arrow type of indices and values."
        => "pyarrow.lib" "dictionary";
    PaAlias Call false
        "An Arrow type by its name."
        => "pyarrow.lib" "type_for_alias";
    PaField Call false
        "A field of an Arrow type or schema."
        => "pyarrow.lib" "field";
    PaSchema Call false
        "The schema of an Arrow table."
        => "pyarrow.lib" "schema";
    RestoreArray Call false
        "pyarrow's own way to make an array of buffers and children."
        => "pyarrow.lib" "_restore_array";
    ChunkedArray Call false
        "Arrow arrays, one after the other."
        => "pyarrow.lib" "chunked_array";
    ReconstructBatch Call false
        "pyarrow's own way to make a record batch."
        => "pyarrow.lib" "_reconstruct_record_batch";
    ReconstructTable Call false
        "pyarrow's own way to make a table."
        => "pyarrow.lib" "_reconstruct_table";
}
