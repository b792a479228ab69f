//! What does not parse: malformed pickles, names that are not allowed, bombs.

use std::time::{Duration, Instant};

use arrow_frames::Fault;
use arrow_frames::pickle::{Pickle, PickleBudget, PickleFault, PickleLimits, allowed_names};

use crate::assemble::*;

/// The fault of these opcodes between `PROTO 5` and `STOP`.
fn fault(ops: &[u8]) -> PickleFault {
    fault_of(&raw(ops))
}

fn fault_of(value: &Value) -> PickleFault {
    refused(value.parse().unwrap_err()).1
}

/// The fault of these bytes, and where.
fn fault_at(bytes: &[u8]) -> (u64, PickleFault) {
    refused(Pickle::parse(&[bytes.into()]).unwrap_err())
}

#[test]
fn no_pickle_at_all() {
    let truncated = |needed, available| PickleFault::Truncated { needed, available };
    assert_eq!(refused(Pickle::parse(&[]).unwrap_err()), (0, truncated(2, 0)));
    assert_eq!(fault_at(b""), (0, truncated(2, 0)));
    assert_eq!(fault_at(b"\x80"), (0, truncated(2, 1)));
    assert_eq!(fault_at(b"\x80\x05"), (2, truncated(1, 0)));
    assert_eq!(fault_at(b"."), (0, PickleFault::Protocol { version: None }));
}

#[test]
fn another_protocol() {
    for version in [0, 1, 2, 3, 6, 255] {
        let expected = PickleFault::Protocol { version: Some(version) };
        assert_eq!(fault_at(&[0x80, version, b'N', b'.']), (0, expected));
    }
    assert!(Pickle::parse(&[b"\x80\x04N.".as_slice().into()]).is_ok());
    assert_eq!(fault(b"N\x80\x05"), PickleFault::Misplaced { opcode: 0x80 });
}

#[test]
fn every_opcode_that_is_not_needed() {
    let allowed = b"\x80\x95.(01\x94hjN\x88\x89JKM\x8a\x8bG\x8cX\x8dCB\x8e\x96\x97\x98]ae}su\x8f\x90\x91)t\x85\x86\x87\x93R\x81b";
    assert_eq!(allowed.len(), 45);
    for opcode in (0..=u8::MAX).filter(|opcode| !allowed.contains(opcode)) {
        assert_eq!(fault_at(&[0x80, 5, opcode, b'.']), (2, PickleFault::Opcode { opcode }), "{opcode:#x}");
    }
}

#[test]
fn a_length_beyond_the_end() {
    for ops in [
        b"X\xff\xff\xff\xffx".as_slice(),
        b"B\x00\x00\x00\x80x",
        b"\x8e\x00\x00\x00\x00\x00\x00\x40\x78x",
        b"\x8d\xff\xff\xff\xff\xff\xff\xff\xffx",
        b"\x96\xff\xff\xff\xff\xff\xff\xff\x7fx",
        b"\x8b\xff\xff\xff\x7fx",
    ] {
        assert!(matches!(fault(ops), PickleFault::Truncated { .. } | PickleFault::Budget { .. }), "{ops:?}");
    }
}

#[test]
fn text_that_is_not_utf8() {
    assert_eq!(fault(b"\x8c\x02\xff\xfe"), PickleFault::Utf8);
    // A surrogate, which Python's UTF-8 would let pass.
    assert_eq!(fault(b"\x8c\x03\xed\xa0\x80"), PickleFault::Utf8);
}

#[test]
fn frames_that_do_not_hold() {
    assert!(raw(b"\x95\x02\0\0\0\0\0\0\0N").parse().is_ok());
    assert!(matches!(fault(b"\x95\0\0\0\0\0\0\0\0N"), PickleFault::Frame { length: 0, .. }));
    assert!(matches!(fault(b"\x95\0\0\0\0\0\0\0\x40N"), PickleFault::Frame { .. }));
    // A frame in a frame.
    let nested = b"\x95\x0b\0\0\0\0\0\0\0\x95\x01\0\0\0\0\0\0\0N";
    assert_eq!(fault(nested), PickleFault::Misplaced { opcode: 0x95 });
    // So it is in a list of nothing but text.
    let list = [b"\x95\x06\0\0\0\0\0\0\0](\x8c\x03abc".as_slice(), b"e"].concat();
    assert_eq!(fault(&list), PickleFault::FrameEnd { end: 17 });
    let text = b"\x95\x08\0\0\0\0\0\0\0](\x8c\x03abc";
    assert!(raw(&[text.as_slice(), b"e"].concat()).parse().is_ok());
    // Text that lies across the frame's end.
    assert_eq!(fault(b"\x95\x01\0\0\0\0\0\0\0\x8c\x03abc"), PickleFault::FrameEnd { end: 12 });
}

#[test]
fn a_stack_that_does_not_hold() {
    assert_eq!(fault(b"0N"), PickleFault::Underflow { opcode: b'0' });
    assert_eq!(fault(b"N\x86"), PickleFault::Underflow { opcode: 0x86 });
    // Values below a mark belong to others.
    assert_eq!(fault(b"NN(N\x87"), PickleFault::Underflow { opcode: 0x87 });
    assert_eq!(fault(b"N(0"), PickleFault::Underflow { opcode: b'0' });
    assert_eq!(fault(b"Ne"), PickleFault::NoMark { opcode: b'e' });
    assert_eq!(fault(b"}(NNNu"), PickleFault::Underflow { opcode: b'u' });
    assert_eq!(fault(b"N("), PickleFault::Unfinished { values: 1, marks: 1 });
    assert_eq!(fault(b"NN"), PickleFault::Unfinished { values: 2, marks: 0 });
    assert_eq!(fault(b""), PickleFault::Unfinished { values: 0, marks: 0 });
}

#[test]
fn bytes_behind_the_end() {
    assert_eq!(fault_at(b"\x80\x05N.\x80\x05N."), (4, PickleFault::Trailing { bytes: 4 }));
}

#[test]
fn a_memo_that_has_no_such_value() {
    assert_eq!(fault(b"h\x05"), PickleFault::Memo { index: 5, memoized: 0 });
    assert_eq!(
        fault(b"N\x94j\xff\xff\xff\xff"),
        PickleFault::Memo { index: u64::from(u32::MAX), memoized: 1 }
    );
    assert_eq!(fault(b"(\x94"), PickleFault::Underflow { opcode: 0x94 });
}

#[test]
fn operands_of_another_kind() {
    assert!(matches!(fault(b"NNa"), PickleFault::Operand { opcode: b'a', .. }));
    assert!(matches!(fault(b"N(e"), PickleFault::Operand { opcode: b'e', .. }));
    assert!(matches!(fault(b"]NNs"), PickleFault::Operand { opcode: b's', .. }));
    assert!(matches!(fault(b"K\x01\x98"), PickleFault::Operand { opcode: 0x98, .. }));
    assert!(matches!(fault(b"K\x01}b"), PickleFault::Operand { opcode: b'b', .. }));
    assert!(matches!(fault(b"K\x01K\x02\x93"), PickleFault::Operand { opcode: 0x93, .. }));
    assert!(matches!(fault(b"C\x02osC\x06system\x93"), PickleFault::Operand { opcode: 0x93, .. }));
    // Nothing is appended to an object.
    let object = join([call("pandas", "RangeIndex", []), raw(b"Na")]);
    assert!(matches!(fault_of(&object), PickleFault::Operand { opcode: b'a', .. }));
}

#[test]
fn names_that_are_not_on_the_list() {
    let gadgets = [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("builtins", "__import__"),
        ("functools", "partial"),
        ("operator", "attrgetter"),
        ("copyreg", "_reconstructor"),
        ("numpy", "load"),
        ("numpy", "memmap"),
        ("numpy", "frombuffer.__self__"),
        ("numpy.f2py.crackfortran", "myeval"),
        ("pandas", "read_pickle"),
        ("pandas", "eval"),
        ("pandas", "io.common.os.system"),
        ("pandas", "Categorical.from_codes.__globals__"),
        ("pandas", "DataFrame.query"),
        ("pandas", "Series.__class__"),
        ("pandas.arrays", ""),
        ("", "pandas.array"),
        ("pyarrow", "memory_map"),
        ("zoneinfo", "ZoneInfo._unpickle.__self__"),
        // Cyrillic.
        ("p\u{430}ndas", "array"),
    ];
    for (module, name) in gadgets {
        let expected = PickleFault::Name { module: module.to_owned(), name: name.to_owned() };
        assert_eq!(fault_of(&global(module, name)), expected);
    }
}

#[test]
fn a_name_in_the_state_of_an_object() {
    let class = (text("__class__"), global("os", "system"));
    let state = join([none(), dict([class]), raw(b"\x86")]);
    assert!(matches!(fault_of(&made("pandas", "Series", state)), PickleFault::Name { .. }));
}

#[test]
fn calls_of_what_must_not_be_called() {
    assert_eq!(fault_of(&call("pandas", "NaT", [])), PickleFault::Call { name: "pandas.NaT" });
    let made_array = join([global("numpy", "frombuffer"), raw(b")\x81")]);
    assert_eq!(fault_of(&made_array), PickleFault::Call { name: "numpy.frombuffer" });
    // The arguments must be a tuple, and the function a name.
    let of_list = join([global("pandas", "Series"), raw(b"]R")]);
    assert!(matches!(fault_of(&of_list), PickleFault::Operand { opcode: b'R', .. }));
    assert!(matches!(fault(b"N)R"), PickleFault::Operand { opcode: b'R', .. }));
    let result = join([call("pandas", "RangeIndex", []), raw(b")R")]);
    assert!(matches!(fault_of(&result), PickleFault::Operand { opcode: b'R', .. }));
}

#[test]
fn the_one_attribute_that_may_be_taken() {
    let zone = global("zoneinfo", "ZoneInfo");
    let taken = |of: Value, name: &str| call("builtins", "getattr", [of, text(name)]);
    assert!(taken(zone.clone(), "_unpickle").parse().is_ok());
    for (of, name) in [
        (zone.clone(), "__class__"),
        (zone.clone(), "from_file"),
        (global("pandas", "Series"), "_unpickle"),
        (call("zoneinfo", "ZoneInfo", [text("UTC")]), "_unpickle"),
        (text("zoneinfo"), "_unpickle"),
    ] {
        assert_eq!(fault_of(&taken(of, name)), PickleFault::Call { name: "builtins.getattr" });
    }
    let three = call("builtins", "getattr", [zone, text("_unpickle"), none()]);
    assert_eq!(fault_of(&three), PickleFault::Call { name: "builtins.getattr" });
}

#[test]
fn changes_of_what_something_refers_to() {
    // Python's call would have had the list as it was: an empty one.
    let late =
        join([raw(b"]\x94"), global("pyarrow", "Array.from_buffers"), raw(b"h\x00\x85R0(N"), raw(b"e")]);
    assert_eq!(fault_of(&late), PickleFault::Changed { opcode: b'e' });
    let built = join([call("uuid", "UUID", []), raw(b"}b}b")]);
    assert_eq!(fault_of(&built), PickleFault::Changed { opcode: b'b' });
    let used = join([call("uuid", "UUID", []), raw(b"\x94\x85h\x00}b\x86")]);
    assert_eq!(fault_of(&used), PickleFault::Changed { opcode: b'b' });
}

#[test]
fn values_that_contain_themselves() {
    assert_eq!(fault(b"]\x94h\x00a"), PickleFault::Cycle);
    // Through something else, it is a change of what that refers to.
    assert_eq!(fault(b"]\x94h\x00\x85\x94a"), PickleFault::Changed { opcode: b'a' });
    let state = join([raw(b"\x94}("), text("me"), raw(b"h\x00u")]);
    let object = join([global("pandas", "Series"), raw(b")\x81"), state, raw(b"b")]);
    assert_eq!(fault_of(&object), PickleFault::Changed { opcode: b'b' });
    // Also where nothing refers to them.
    assert_eq!(fault(b"]\x94h\x00a0N"), PickleFault::Cycle);
}

#[test]
fn deep_nesting() {
    let budget = |budget, allowed| PickleFault::Budget { budget, allowed };
    let lists = |depth: usize| raw(&[b"]".repeat(depth), b"a".repeat(depth - 1)].concat());
    assert!(lists(100).parse().is_ok());
    assert_eq!(fault_of(&lists(101)), budget(PickleBudget::Depth, 100));
    // A million: the containers run out before the depth is asked.
    let tuples = raw(&[b"N".to_vec(), b"\x85".repeat(1_000_000)].concat());
    assert!(matches!(fault_of(&tuples), PickleFault::Budget { budget: PickleBudget::Containers, .. }));
    // In a pickle with room for so many, it is the depth.
    let padded = join([tuples, bytes(&vec![0; 8_000_000]), raw(b"\x86")]);
    assert_eq!(fault_of(&padded), budget(PickleBudget::Depth, 100));
}

#[test]
fn many_containers_for_few_bytes() {
    for container in [b"]", b"\x8f", b"}"] {
        let many = raw(&[b"(".as_slice(), &container.repeat(1_000_000), b"t"].concat());
        let expected = PickleFault::Budget { budget: PickleBudget::Containers, allowed: 65_536 + 250_001 };
        assert_eq!(fault_of(&many), expected);
    }
    // Real lists have something in them.
    let real = list((0..200_000).map(|n| list([int(n % 256), none()])));
    assert!(real.parse().is_ok());
}

#[test]
fn laughs() {
    // Ten levels of lists that refer to the one before a hundred times; all but the last one
    // are dropped.
    let level = |level: u8| raw(&[b"]\x94(".as_slice(), &[b'h', level].repeat(100), b"e"].concat());
    let laughs = |levels: u8| {
        let lists = join((0..levels).map(level));
        join([raw(b"(\x8c\x03lol\x94"), lists, raw(b"1h"), raw(&[levels])])
    };
    assert!(laughs(2).parse().is_ok());
    let expansion = fault_of(&laughs(10));
    assert!(
        matches!(expansion, PickleFault::Budget { budget: PickleBudget::Expansion, .. }),
        "{expansion:?}"
    );
}

#[test]
fn large_integers() {
    let digits =
        |count: usize| raw(&[b"\x8b".as_slice(), &(count as u32).to_le_bytes(), &vec![0x7f; count]].concat());
    assert!(digits(1024).parse().is_ok());
    let expected = PickleFault::Budget { budget: PickleBudget::IntegerBytes, allowed: 1024 };
    assert_eq!(fault_of(&digits(1025)), expected);
    assert_eq!(fault_of(&digits(1_000_000)), expected);
}

#[test]
fn keys_that_cannot_be_keys() {
    assert_eq!(fault(b"}]Ns"), PickleFault::Unhashable { found: "list" });
    assert_eq!(fault(b"}]\x85Ns"), PickleFault::Unhashable { found: "tuple" });
    assert_eq!(fault(b"\x8f(}\x90"), PickleFault::Unhashable { found: "dict" });
    assert_eq!(fault(b"(]\x91"), PickleFault::Unhashable { found: "list" });
    assert_eq!(fault(b"}K\x01NsK\x01Ns"), PickleFault::DuplicateKey);
    assert_eq!(fault_of(&dict([(text("a"), none()), (text("a"), none())])), PickleFault::DuplicateKey);
}

#[test]
fn keys_whose_hashes_collide() {
    // Multiples of 2^61 - 1 all hash to 0.
    let key = |n: i128| raw(&[b"\x8a\x0c".as_slice(), &(n * ((1 << 61) - 1)).to_le_bytes()[..12]].concat());
    let dict_of = |count| dict((1..=count).map(|n| (key(n), none())));
    assert!(dict_of(1_000).parse().is_ok());
    let expected = PickleFault::Budget { budget: PickleBudget::CollidingKeys, allowed: 1_000 };
    assert_eq!(fault_of(&dict_of(1_001)), expected);
    // Those of text and of small numbers do not.
    assert!(dict((0..2_000).map(|n| (int(n), none()))).parse().is_ok());
    assert!(dict((0..2_000).map(|n| (text(&n.to_string()), none()))).parse().is_ok());
}

#[test]
fn buffers_that_are_left_or_missing() {
    let one = numbers(&[1i64], "<i8");
    assert!(one.parse().is_ok());
    let mut pickle = one.pickle();
    pickle.push(vec![0u8].into());
    let left = refused(Pickle::parse(&pickle).unwrap_err()).1;
    assert_eq!(left, PickleFault::Buffers { used: 1, given: 2 });
    let missing = refused(Pickle::parse(&one.pickle()[..1]).unwrap_err()).1;
    assert_eq!(missing, PickleFault::Buffers { used: 1, given: 0 });
}

#[test]
fn every_budget_is_named() {
    let tight = PickleLimits::default();
    let fault = |value: &Value, limits: PickleLimits| {
        let error = Pickle::parse_within(&value.pickle(), &limits).unwrap_err();
        assert_eq!(error.fault(), Fault::Limit);
        refused(error).1
    };
    let budget = |budget, allowed| PickleFault::Budget { budget, allowed };
    let value = raw(b"](K\x01\x94K\x02\x94e");
    for (limits, expected) in [
        (PickleLimits { max_operations: 3, ..tight.clone() }, budget(PickleBudget::Operations, 3)),
        (PickleLimits { max_nodes: 2, ..tight.clone() }, budget(PickleBudget::Nodes, 2)),
        (PickleLimits { max_edges: 1, ..tight.clone() }, budget(PickleBudget::Edges, 1)),
        (PickleLimits { max_memo: 1, ..tight.clone() }, budget(PickleBudget::Memo, 1)),
        (PickleLimits { max_depth: 0, ..tight.clone() }, budget(PickleBudget::Depth, 0)),
    ] {
        assert_eq!(fault(&value, limits), expected);
    }
    // Runs of text, which take no memory, count as well.
    let run = texts(["a", "b", "c"]);
    let operations = PickleLimits { max_operations: 5, ..tight.clone() };
    assert_eq!(fault(&run, operations), budget(PickleBudget::Operations, 5));
    let nodes = PickleLimits { max_nodes: 3, ..tight };
    assert_eq!(fault(&run, nodes), budget(PickleBudget::Nodes, 3));
}

#[test]
fn refusals_take_no_time() {
    let started = Instant::now();
    let bombs = [
        raw(&b"\x95\0\0\0\0\0\0\0\0".repeat(1_000_000)),
        raw(&[b"}(".as_slice(), &b"K\x01N".repeat(1_000_000), b"u"].concat()),
        raw(&[b"(".as_slice(), &b"]".repeat(4_000_000), b"t"].concat()),
        raw(&b"(".repeat(4_000_000)),
    ];
    for bomb in &bombs {
        bomb.parse().unwrap_err();
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[test]
fn the_list_has_no_name_twice() {
    let names = allowed_names();
    for pair in names.windows(2) {
        assert!((pair[0].module, pair[0].name) < (pair[1].module, pair[1].name), "{:?}", pair[1]);
    }
    assert!(names.iter().all(|name| !name.reason.is_empty()));
}
