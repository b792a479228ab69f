//! `exchange`: a dataframe to a second process and back as a verdict.
//!
//! [`sender`] is this process, [`receiver`] the second one, started and watched by
//! [`second_process`]. Both read the file. Over one [`socket`] the sender starts each
//! [`Run`](protocol::Run) with a byte; the receiver answers with [`protocol`]'s lines, the
//! last of which is what [`compare`] found. [`peer`] does the same job with arrow-ipc.

mod compare;
mod peer;
mod protocol;
mod receiver;
mod report;
mod second_process;
mod sender;
mod socket;

pub use receiver::receive;
pub use sender::run;
