//! The error numbers of WASI preview 1 that calls return.

/// Why a system call of the guest failed. The discriminants are the numbers that the guest
/// receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Errno {
    BadDescriptor = 8,
    Busy = 10,
    Exists = 20,
    Fault = 21,
    Invalid = 28,
    IsDirectory = 31,
    TooManyOpen = 33,
    NameTooLong = 37,
    NotFound = 44,
    NoSpace = 51,
    NoSuchCall = 52,
    NotDirectory = 54,
    NotEmpty = 55,
    NotPermitted = 63,
    NotSeekable = 70,
    NotCapable = 76,
}

/// The result of a call that succeeds.
pub(crate) const SUCCESS: i32 = 0;

impl Errno {
    /// The number as a call returns it.
    pub(crate) fn number(self) -> i32 {
        i32::from(self as u16)
    }
}
