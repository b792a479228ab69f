//! Timestamps of a named zone as text.

use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::DataType;

/// The same instants in UTC, if the array has a time zone; otherwise the array.
///
/// Text of a named zone would need the zone database, and could not say which of the two
/// hours is meant when a clock is set back.
pub fn utc(array: &ArrayRef) -> ArrayRef {
    let DataType::Timestamp(unit, Some(_)) = array.data_type() else { return array.clone() };
    let data_type = DataType::Timestamp(*unit, Some("+00:00".into()));
    // The zone says how to show an instant; its number is the same in all of them.
    let data = array.to_data().into_builder().data_type(data_type).build();
    data.map_or_else(|_| array.clone(), make_array)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::TimestampSecondArray;
    use arrow_cast::display::array_value_to_string;

    use super::*;

    #[test]
    fn instants_stay() {
        let array = TimestampSecondArray::from(vec![Some(1_383_454_800), None]);
        let array: ArrayRef = Arc::new(array.with_timezone("America/New_York"));
        let shown = utc(&array);
        assert_eq!(array_value_to_string(&shown, 0).unwrap(), "2013-11-03T05:00:00Z");
        assert!(shown.is_null(1));
    }
}
