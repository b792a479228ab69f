//! Expressions of calls → pickles.

use arrow_frames::pickle::{PickleLimits, Writer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{
    IntoPyDict as _, PyBool, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyDict,
    PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTime, PyTimeAccess, PyTuple, PyTzInfo, PyTzInfoAccess,
};

use crate::errors::{Result, caught};
use crate::memory::{Place, Regions};

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
    let mut writing = Writing { writer: Writer::new(), regions: Regions::default(), containers: 0 };
    let (buffers, mut regions, containers) = caught(|| {
        writing.expression(expression, 0)?;
        Ok((writing.writer.finish(), writing.regions, writing.containers))
    })?;
    let room = buffers.first().map_or(0, |pickle| pickle.len() / 4) as u64;
    if containers > PickleLimits::default().max_free_containers.saturating_add(room) {
        return Err(PyTypeError::new_err("more lists, tuples, dicts and calls than a reader takes"));
    }
    // One behind the other, as they were imported.
    let buffers = regions.memories(buffers.iter().map(|buffer| (Place::default(), buffer)), true);
    buffers.into_iter().map(|memory| memory.view(py)).collect()
}

/// A pickle that is being written.
struct Writing {
    writer: Writer,
    regions: Regions,
    /// Lists, tuples, dicts and calls so far.
    containers: u64,
}

impl Writing {
    fn expression(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<()> {
        let py = value.py();
        if depth > MAX_DEPTH {
            return Err(PyTypeError::new_err("too many levels"));
        }
        if let Ok(call) = value.cast::<Call>() {
            let call = call.get();
            if let Some((module, name)) = &call.before {
                self.writer.global(module, name);
                self.writer.pop();
            }
            let arguments = call.arguments.bind(py);
            self.count(2);
            self.writer.start_call(&call.module, &call.name, arguments.len());
            for argument in arguments {
                self.expression(&argument, depth.saturating_add(1))?;
            }
            self.writer.end_call(arguments.len());
            return Ok(());
        }
        if let Ok(buffer) = value.cast::<OutOfBand>() {
            let buffer = self.regions.import(buffer.get().0.bind(py), "a buffer")?;
            self.writer.buffer(buffer);
            return Ok(());
        }
        if let Ok(objects) = value.cast::<Objects>() {
            let values = objects.get().0.bind(py);
            self.writer.start_objects(values.len());
            self.list(values, depth)?;
            self.writer.end_objects();
            return Ok(());
        }
        self.scalar(value, depth)
    }

    /// A value that Python's constructors of scalars and containers make again, exactly.
    fn scalar(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(PyTypeError::new_err("too many levels"));
        }
        if let Ok(text) = value.cast_exact::<PyString>() {
            self.writer.text(unicode(text)?);
        } else if value.is_none() {
            self.writer.none();
        } else if let Ok(float) = value.cast_exact::<PyFloat>() {
            self.writer.float(float.extract()?);
        } else if let Ok(boolean) = value.cast_exact::<PyBool>() {
            self.writer.boolean(boolean.is_true());
        } else if let Ok(int) = value.cast_exact::<PyInt>() {
            self.int(int)?;
        } else if let Ok(bytes) = value.cast_exact::<PyBytes>() {
            self.writer.bytes(bytes.as_bytes());
        } else if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            self.count(1);
            self.writer.start_tuple(tuple.len());
            for item in tuple {
                self.scalar(&item, depth.saturating_add(1))?;
            }
            self.writer.end_tuple(tuple.len());
        } else if let Ok(values) = value.cast_exact::<PyList>() {
            self.list(values, depth)?;
        } else if let Ok(values) = value.cast_exact::<PyDict>() {
            self.dict(values, depth)?;
        } else {
            self.object(value)?;
        }
        Ok(())
    }

    fn count(&mut self, containers: u64) {
        self.containers = self.containers.saturating_add(containers);
    }

    fn int(&mut self, int: &Bound<'_, PyInt>) -> Result<()> {
        if let Ok(small) = int.extract::<i128>() {
            self.writer.int(small);
            return Ok(());
        }
        let bits: usize = int.call_method0("bit_length")?.extract()?;
        // And its sign.
        let length = (bits / 8).saturating_add(1);
        if length > PickleLimits::default().max_integer_bytes {
            return Err(PyTypeError::new_err("an integer that is longer than a reader takes"));
        }
        let signed = [("signed", true)].into_py_dict(int.py())?;
        let bytes = int.call_method("to_bytes", (length, "little"), Some(&signed))?;
        self.writer.large_int(bytes.cast::<PyBytes>()?.as_bytes());
        Ok(())
    }

    fn list(&mut self, values: &Bound<'_, PyList>, depth: usize) -> Result<()> {
        self.count(1);
        // What `Writer::list` does, whose items may not fail.
        self.writer.start_list();
        for (number, value) in values.iter().enumerate() {
            self.writer.continue_list(number);
            self.expression(&value, depth.saturating_add(1))?;
        }
        self.writer.end_list();
        Ok(())
    }

    /// A dict whose keys are text: others' hashes may be made to collide, so that readers count them.
    fn dict(&mut self, values: &Bound<'_, PyDict>, depth: usize) -> Result<()> {
        self.count(1);
        self.writer.start_dict();
        // A copy: the code of a value's class may change the dict meanwhile.
        for item in values.items() {
            let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
            let key = key.cast_exact::<PyString>().map_err(|_| unsupported(&key))?;
            self.writer.text(unicode(key)?);
            self.scalar(&value, depth.saturating_add(1))?;
        }
        self.writer.end_dict();
        Ok(())
    }

    /// Dates, times, durations, decimals, UUIDs, and what pandas calls missing.
    fn object(&mut self, value: &Bound<'_, PyAny>) -> Result<()> {
        // The value's own, and perhaps its zone's.
        self.count(6);
        let w = &mut self.writer;
        let class = value.get_type();
        let (module, name) = (class.module()?, class.name()?);
        match (module.to_str()?, name.to_str()?) {
            (module, "NAType") if module.starts_with("pandas.") => w.global("pandas", "NA"),
            (module, "NaTType") if module.starts_with("pandas.") => w.global("pandas", "NaT"),
            ("datetime", "datetime") => datetime(w, value.cast_exact::<PyDateTime>()?)?,
            ("datetime", "date") => {
                let date = value.cast_exact::<PyDate>()?;
                let parts = [date.get_year().into(), date.get_month().into(), date.get_day().into()];
                w.call("datetime", "date", 3, |w| parts.into_iter().for_each(|part: i128| w.int(part)));
            }
            ("datetime", "time") => {
                let time = value.cast_exact::<PyTime>()?;
                if time.get_tzinfo().is_some() || time.get_fold() {
                    return Err(unsupported(value));
                }
                w.call("datetime", "time", 4, |w| clock(w, time));
            }
            ("datetime", "timedelta") => {
                let delta = value.cast_exact::<PyDelta>()?;
                let parts = [delta.get_days(), delta.get_seconds(), delta.get_microseconds()];
                w.call("datetime", "timedelta", 3, |w| {
                    parts.into_iter().for_each(|part| w.int(part.into()));
                });
            }
            ("decimal", "Decimal") => {
                let text: String = value.str()?.extract()?;
                w.call("decimal", "Decimal", 1, |w| w.text(&text));
            }
            // One that says how it was made would not say so again.
            ("uuid", "UUID") if value.getattr("is_safe")?.getattr("name")?.eq("unknown")? => {
                let text: String = value.str()?.extract()?;
                w.call("uuid", "UUID", 1, |w| w.text(&text));
            }
            _ => return Err(unsupported(value)),
        }
        Ok(())
    }
}

/// `datetime.datetime(…)`, without a zone or with one that is an offset from UTC.
fn datetime(w: &mut Writer, value: &Bound<'_, PyDateTime>) -> Result<()> {
    if value.get_fold() {
        return Err(unsupported(value));
    }
    let offset = match value.get_tzinfo() {
        None => None,
        Some(zone) => Some(offset(&zone)?.ok_or_else(|| unsupported(value))?),
    };
    let date = [i128::from(value.get_year()), value.get_month().into(), value.get_day().into()];
    w.call("datetime", "datetime", if offset.is_some() { 8 } else { 7 }, |w| {
        date.into_iter().for_each(|part| w.int(part));
        clock(w, value);
        if let Some(seconds) = offset {
            w.call("datetime", "timezone", 1, |w| {
                w.call("datetime", "timedelta", 2, |w| [0, seconds].into_iter().for_each(|part| w.int(part)));
            });
        }
    });
    Ok(())
}

/// Hour, minute, second and microsecond.
fn clock(w: &mut Writer, time: &impl PyTimeAccess) {
    [time.get_hour(), time.get_minute(), time.get_second()].into_iter().for_each(|part| w.int(part.into()));
    w.int(time.get_microsecond().into());
}

/// Seconds east of UTC of a `datetime.timezone` that has no name of its own.
fn offset(zone: &Bound<'_, PyTzInfo>) -> Result<Option<i128>> {
    let class = zone.get_type();
    if class.name()? != "timezone" || class.module()? != "datetime" {
        return Ok(None);
    }
    let arguments: Bound<'_, PyTuple> = zone.call_method0("__getinitargs__")?.extract()?;
    let (Ok(delta), 1) = (arguments.get_item(0), arguments.len()) else { return Ok(None) };
    let delta = delta.cast::<PyDelta>()?;
    let days = i128::from(delta.get_days()).checked_mul(86_400);
    let seconds = days.and_then(|seconds| seconds.checked_add(delta.get_seconds().into()));
    Ok(seconds.filter(|_| delta.get_microseconds() == 0))
}

fn unicode<'t>(text: &'t Bound<'_, PyString>) -> Result<&'t str> {
    // Text with lone surrogates has no UTF-8.
    text.to_str().map_err(|_| PyTypeError::new_err("text that is not Unicode"))
}

fn unsupported(value: &Bound<'_, PyAny>) -> PyErr {
    let class = value.get_type();
    PyTypeError::new_err(format!(
        "no form of {}",
        class.name().map_or("that".into(), |name| name.to_string())
    ))
}
