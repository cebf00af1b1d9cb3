//! Resets what a worker inherits from its parent: unintended file descriptors, the default actions
//! of some signals, namespaces, and the ability to outlive the parent. The only unsafe code of this
//! crate.

use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};

/// Closes every descriptor except the standard ones. A worker process calls this first, before it
/// opens anything.
#[expect(
    unsafe_code,
    reason = "descriptors without an owner in this process can only be closed by number"
)]
pub fn close_inherited() {
    // SAFETY: the process has just started and owns no descriptor above the standard ones, so no
    // owner loses one. A kernel without this call (before Linux 5.9) leaves them open, which the
    // system call filter makes harmless.
    // The C library has a function for it only since glibc 2.34, and packages support older ones.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Ignores SIGXFSZ, so that a write beyond the file size limit fails and does not end the process.
/// A log line written to a file must not end a process.
pub fn survive_file_limits() {
    ignore(&[libc::SIGXFSZ]);
}

/// Ignores the signals with which a terminal or a service manager stops a whole process group. A
/// worker ends when its parent closes its input or kills it, so the parent decides whether running
/// work finishes or fails.
pub fn ignore_stop_signals() {
    ignore(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP]);
}

#[expect(
    unsafe_code,
    reason = "the standard library has no call for the action of a signal"
)]
fn ignore(signals: &[libc::c_int]) {
    for signal in signals {
        // SAFETY: ignoring a signal installs no handler, so no code of this process runs in signal
        // context. The call fails only for invalid signal numbers.
        let _ = unsafe { libc::signal(*signal, libc::SIG_IGN) };
    }
}

/// Moves the process into new namespaces: a user namespace without privileges, and empty ones for
/// the network, shared memory and host names. The kernel allows this only while the process has one
/// thread.
///
/// # Errors
/// The error of the system. Many systems do not allow it to unprivileged processes.
#[expect(
    unsafe_code,
    reason = "rustix cannot know that the descriptor table stays shared"
)]
pub(crate) fn enter_namespaces() -> io::Result<()> {
    let own =
        UnshareFlags::NEWUSER | UnshareFlags::NEWNET | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    // SAFETY: `CLONE_FILES` is not among the flags, so the descriptor table stays shared.
    unsafe { unshare_unsafe(own) }.map_err(io::Error::from)
}

/// Starts a thread that exits the process when the parent has ended, even during a request. The
/// calling thread must not end before the process.
///
/// # Errors
/// If the system cannot start a thread.
pub fn end_with_parent() -> io::Result<()> {
    // A process that the parent has stopped must continue to notice its end. The signal is also
    // sent when only the thread ends that started this process; then a stopped process continues
    // early. Where the system lacks it, only stopped processes outlive a parent that was killed.
    let _ = set_parent_process_death_signal(Some(Signal::CONT));
    std::thread::Builder::new()
        .name("assay-parent".to_owned())
        .spawn(|| {
            let requests = io::stdin();
            loop {
                // No events are requested: POLLHUP, for a closed writing end, is always reported.
                let mut watched = [PollFd::new(&requests, PollFlags::empty())];
                if poll(&mut watched, None).is_ok() && watched[0].revents().contains(PollFlags::HUP)
                {
                    std::process::exit(0);
                }
            }
        })?;
    Ok(())
}
