//! Expressions of calls → pickles.

use arrow_frames::pickle::Writer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyFloat, PyInt, PyList,
    PyMemoryView, PyString, PyTime, PyTimeAccess, PyTuple, PyTzInfoAccess,
};

use crate::errors::Result;
use crate::memory::Regions;

/// Levels of lists, tuples and dicts in an object: more are left to Python's own pickle, as is what
/// contains itself.
const MAX_DEPTH: usize = 24;

/// A call of a public constructor. `before` is a name that is only looked up.
#[pyclass(frozen, module = "arrow_frames._native")]
pub struct Call {
    module: String,
    name: String,
    arguments: Py<PyTuple>,
    before: Option<(String, String)>,
}

#[pymethods]
impl Call {
    #[new]
    #[pyo3(signature = (module, name, *arguments, before=None))]
    fn new(module: String, name: String, arguments: Py<PyTuple>, before: Option<(String, String)>) -> Self {
        Call { module, name, arguments, before }
    }
}

/// A buffer that stays outside the pickle.
#[pyclass(frozen, module = "arrow_frames._native")]
pub struct OutOfBand(Py<PyAny>);

#[pymethods]
impl OutOfBand {
    #[new]
    fn new(object: Py<PyAny>) -> Self {
        OutOfBand(object)
    }
}

/// A numpy array of `object`, of one dimension, given as the list of its values.
#[pyclass(frozen, module = "arrow_frames._native")]
pub struct Objects(Py<PyList>);

#[pymethods]
impl Objects {
    #[new]
    fn new(values: Py<PyList>) -> Self {
        Objects(values)
    }
}

/// Writes the pickle of an expression: the pickle, then its out-of-band buffers.
///
/// # Errors
///
/// `TypeError` for a value that no form carries exactly.
#[pyfunction]
pub fn pickle<'py>(py: Python<'py>, expression: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyMemoryView>>> {
    let mut regions = Regions::default();
    let mut writer = Writer::new();
    write(&mut writer, &mut regions, expression, 0)?;
    writer.finish().iter().map(|buffer| regions.memory(buffer, true).view(py)).collect()
}

fn write(w: &mut Writer, regions: &mut Regions, value: &Bound<'_, PyAny>, depth: usize) -> Result<()> {
    let py = value.py();
    if let Ok(call) = value.cast::<Call>() {
        let call = call.get();
        if let Some((module, name)) = &call.before {
            w.global(module, name);
            w.pop();
        }
        let arguments = call.arguments.bind(py);
        w.start_call(&call.module, &call.name, arguments.len());
        for argument in arguments {
            write(w, regions, &argument, depth + 1)?;
        }
        w.end_call(arguments.len());
        return Ok(());
    }
    if let Ok(buffer) = value.cast::<OutOfBand>() {
        w.buffer(regions.import(buffer.get().0.bind(py), "a buffer")?);
        return Ok(());
    }
    if let Ok(objects) = value.cast::<Objects>() {
        let values = objects.get().0.bind(py);
        w.start_objects(values.len());
        list(w, regions, values, depth)?;
        w.end_objects();
        return Ok(());
    }
    scalar(w, regions, value, depth)
}

/// A value that Python's constructors of scalars and containers make again, exactly.
fn scalar(w: &mut Writer, regions: &mut Regions, value: &Bound<'_, PyAny>, depth: usize) -> Result<()> {
    if depth > MAX_DEPTH {
        return Err(PyTypeError::new_err("too many levels"));
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        // Text with lone surrogates has no UTF-8.
        let text = text.to_str().map_err(|_| PyTypeError::new_err("text that is not Unicode"))?;
        w.text(text);
    } else if value.is_none() {
        w.none();
    } else if let Ok(float) = value.cast_exact::<PyFloat>() {
        w.float(float.extract()?);
    } else if let Ok(boolean) = value.cast_exact::<PyBool>() {
        w.boolean(boolean.is_true());
    } else if let Ok(int) = value.cast_exact::<PyInt>() {
        w.int(int.extract::<i128>().map_err(|_| PyTypeError::new_err("a large integer"))?);
    } else if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        w.bytes(bytes.as_bytes());
    } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
        w.start_tuple(tuple.len());
        for item in tuple {
            scalar(w, regions, &item, depth + 1)?;
        }
        w.end_tuple(tuple.len());
    } else if let Ok(values) = value.cast_exact::<PyList>() {
        list(w, regions, values, depth)?;
    } else {
        return moment(w, value);
    }
    Ok(())
}

fn list(w: &mut Writer, regions: &mut Regions, values: &Bound<'_, PyList>, depth: usize) -> Result<()> {
    let mut outcome = Ok(());
    w.list(values.iter(), |w, value| {
        if outcome.is_ok() {
            outcome = write(w, regions, &value, depth + 1);
        }
    });
    outcome
}

/// Dates, times, durations and decimals.
fn moment(w: &mut Writer, value: &Bound<'_, PyAny>) -> Result<()> {
    let class = value.get_type();
    let unsupported = || {
        PyTypeError::new_err(format!(
            "no form of {}",
            class.name().map_or_else(|_| "that".into(), |n| n.to_string())
        ))
    };
    if value.is_exact_instance_of::<PyDateTime>() {
        return Err(unsupported());
    }
    if let Ok(date) = value.cast_exact::<PyDate>() {
        let parts = [date.get_year().into(), date.get_month().into(), date.get_day().into()];
        w.call("datetime", "date", 3, |w| parts.into_iter().for_each(|part: i128| w.int(part)));
    } else if let Ok(time) = value.cast_exact::<PyTime>() {
        if time.get_tzinfo().is_some() || time.get_fold() {
            return Err(unsupported());
        }
        let parts = [time.get_hour(), time.get_minute(), time.get_second()].map(i128::from);
        w.call("datetime", "time", 4, |w| {
            parts.into_iter().for_each(|part| w.int(part));
            w.int(time.get_microsecond().into());
        });
    } else if let Ok(delta) = value.cast_exact::<PyDelta>() {
        let parts = [delta.get_days(), delta.get_seconds(), delta.get_microseconds()];
        w.call("datetime", "timedelta", 3, |w| parts.into_iter().for_each(|part| w.int(part.into())));
    } else if class.name()? == "Decimal" && class.module()? == "decimal" {
        let text: String = value.str()?.extract()?;
        w.call("decimal", "Decimal", 1, |w| w.text(&text));
    } else {
        return Err(unsupported());
    }
    Ok(())
}
