//! The environment of SQLite: clock, randomness, files and memory. This module contains all unsafe
//! code of the crate, because SQLite has no safe interface to its environment.

pub(crate) mod memory;

use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use rusqlite::ffi;

/// Name of the virtual file system without files and with a fixed clock.
pub(crate) const VFS_NAME: &CStr = c"assay";

/// The fixed time of the clock in milliseconds since the Julian epoch: 2026-01-01 00:00:00 UTC.
const NOW: i64 = 1_767_225_600_000 + 210_866_760_000_000;

/// Seed of `random()` for each statement.
const SEED: c_int = 1;

/// Installs the counting allocator, and a virtual file system without files and with a fixed clock.
/// Must be called before connections are opened. Returns false if another part of this process
/// already uses SQLite.
#[expect(
    unsafe_code,
    reason = "a virtual file system is a table of C functions"
)]
pub(crate) fn register() -> bool {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    *REGISTERED.get_or_init(|| {
        if !memory::install() {
            return false;
        }
        // SAFETY: the default virtual file system is a static of SQLite. Its copy is never freed.
        // The replaced functions have the same types, and do not use its other fields.
        unsafe {
            let standard = ffi::sqlite3_vfs_find(ptr::null());
            if standard.is_null() {
                return false;
            }
            let mut system = ptr::read(standard);
            system.pNext = ptr::null_mut();
            system.zName = VFS_NAME.as_ptr();
            system.xOpen = Some(no_file);
            system.xDelete = Some(no_deletion);
            system.xAccess = Some(no_access);
            system.xCurrentTimeInt64 = Some(now);
            ffi::sqlite3_vfs_register(Box::into_raw(Box::new(system)), 0) == ffi::SQLITE_OK
        }
    })
}

/// Resets the seed of `random()`. SQLite has one generator for the whole process: until the guard
/// is dropped, no other thread runs a statement.
#[expect(unsafe_code, reason = "a call with a variable number of arguments")]
pub(crate) fn seeded() -> MutexGuard<'static, ()> {
    static GENERATOR: Mutex<()> = Mutex::new(());
    let guard = GENERATOR.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: this control takes an integer and a connection, which may be null.
    unsafe {
        ffi::sqlite3_test_control(
            ffi::SQLITE_TESTCTRL_PRNG_SEED,
            SEED,
            ptr::null_mut::<ffi::sqlite3>(),
        );
    }
    guard
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn now(_: *mut ffi::sqlite3_vfs, time: *mut ffi::sqlite3_int64) -> c_int {
    // SAFETY: SQLite passes a valid address for the number.
    unsafe { *time = NOW };
    ffi::SQLITE_OK
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn no_file(
    _: *mut ffi::sqlite3_vfs,
    _: *const c_char,
    file: *mut ffi::sqlite3_file,
    _: c_int,
    _: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes a valid file to initialise. A file without methods is not open.
    unsafe { (*file).pMethods = ptr::null() };
    ffi::SQLITE_CANTOPEN
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn no_deletion(_: *mut ffi::sqlite3_vfs, _: *const c_char, _: c_int) -> c_int {
    ffi::SQLITE_IOERR_DELETE
}

#[expect(unsafe_code, reason = "called by SQLite")]
unsafe extern "C" fn no_access(
    _: *mut ffi::sqlite3_vfs,
    _: *const c_char,
    _: c_int,
    result: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes a valid address for the result.
    unsafe { *result = 0 };
    ffi::SQLITE_OK
}
