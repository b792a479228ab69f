//! Python's pickle, protocol 5 with out-of-band buffers (PEP 574): what columns travel as
//! when Arrow buffers cannot carry them exactly to the receiver.
//!
//! Bytes are written and read; nothing is ever executed.

mod opcode;
