//! What a pickle may ask for.

/// What a pickle may ask for before it is refused.
///
/// As with [`Limits`](crate::Limits), exceeding one is an error that names the budget, and
/// nothing is allocated ahead of the bytes that need it.
///
/// ```
/// use arrow_frames::pickle::{Pickle, PickleLimits};
///
/// let limits = PickleLimits { max_depth: 2, ..PickleLimits::default() };
/// // [[[]]]
/// let error = Pickle::parse_within(&[b"\x80\x05]]]aa.".as_slice().into()], &limits).unwrap_err();
/// assert_eq!(error.to_string(), "pickle refused at byte 2: more than 2 levels of nesting");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PickleLimits {
    /// Opcodes. Default 2³⁰: an opcode takes some 5 ns, so that this is seconds, and it is
    /// ten times what the largest column of 100 million strings needs.
    pub max_operations: u64,
    /// Values. Default 2²⁸. Scalars take no memory of their own, others 8 bytes; there are
    /// never more than 2³¹ of those.
    pub max_nodes: u64,
    /// References from containers to values, but for runs of text in lists. Default 2²⁹: they
    /// take 4 bytes each; there are never more than 2³¹.
    pub max_edges: u64,
    /// Memoized values. Default 2²⁸: they take 4 bytes each.
    pub max_memo: u64,
    /// Containers and calls beyond one per four bytes of pickle. Default 65,536. A list takes
    /// 1 byte of pickle and 56 in Python, a set 216; those of real columns have some content
    /// that takes bytes too.
    pub max_free_containers: u64,
    /// Levels of nesting. Default 100: pandas' own go to some 20, and the checks, which are
    /// recursive, fit any thread's stack with room to spare.
    pub max_depth: usize,
    /// Bytes of one integer. Default 1,024, the size at which Python itself starts to refuse
    /// to print one: arithmetic with them is quadratic.
    pub max_integer_bytes: usize,
    /// Values that the pickle would have if every reference were a copy, beyond 16 for each
    /// reference and 1 for each byte that was given; 16 bytes of text, of bytes or of a buffer
    /// count as one value. Default 1,000,000. Memoized lists of memoized lists double with every
    /// level, and a memoized text is as long at each of its places.
    pub max_free_expansion: u64,
    /// Keys, in one dict or set, of the kinds whose hashes can be made to collide: large
    /// integers, floats, tuples and objects. Default 1,000: inserting n such takes n² steps.
    pub max_colliding_keys: usize,
}

impl Default for PickleLimits {
    fn default() -> Self {
        PickleLimits {
            max_operations: 1 << 30,
            max_nodes: 1 << 28,
            max_edges: 1 << 29,
            max_memo: 1 << 28,
            max_free_containers: 1 << 16,
            max_depth: 100,
            max_integer_bytes: 1024,
            max_free_expansion: 1_000_000,
            max_colliding_keys: 1_000,
        }
    }
}
