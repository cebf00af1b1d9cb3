//! `__escape`: confines itself like a worker and then tries to escape, as code in a compromised
//! worker would.

use std::io::{Error, PipeReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use assay_worker::ExecutableCode;
use serde_json::{Value, json};

/// First argument of a process that tries to escape, followed by the port of a listener, and by
/// `compiles` for a worker that compiles programs.
const ESCAPE: &str = "__escape";

/// The exit code if the arguments ask for it.
pub(crate) fn run() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next().as_deref() == Some(ESCAPE)).then(|| {
        let port = arguments.next().and_then(|port| port.parse().ok());
        let code = match arguments.next() {
            Some(_) => ExecutableCode::Compiled,
            None => ExecutableCode::Mapped,
        };
        port.map_or(ExitCode::FAILURE, |port| escape(port, code))
    })
}

/// Prints what a process can do without confinement, with the first mechanisms, and with all.
/// Numbers are `errno`; 0 is success.
fn escape(port: u16, code: ExecutableCode) -> ExitCode {
    let Ok((pipe, _writer)) = std::io::pipe() else {
        return ExitCode::FAILURE;
    };
    let free = attempts(port, &pipe);
    let isolation = assay_worker::isolate(&[]);
    let isolated = attempts(port, &pipe);
    let confinement = isolation.confine(code);
    let confined = attempts(port, &pipe);
    let report =
        json!({ "free": free, "isolated": isolated, "confined": confined, "walls": confinement });
    let mut out = std::io::stdout();
    let written = writeln!(out, "{report}").and_then(|()| out.flush());
    if written.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn attempts(port: u16, pipe: &PipeReader) -> Value {
    let listener = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    json!({
        "open": errno(std::fs::File::open("/etc/passwd").and_then(|mut file| file.read(&mut [0; 1]))),
        "create": errno(std::fs::write(std::env::temp_dir().join(format!("assay-escape-{}", std::process::id())), b"x")),
        "connect": errno(TcpStream::connect_timeout(&listener, Duration::from_secs(5))),
        "program": errno(std::process::Command::new("/bin/true").status()),
        "kill": errno(rustix::process::test_kill_process(parent())),
        "tgkill": signal(parent().as_raw_nonzero().get()),
        "tgkill_itself": signal(rustix::process::getpid().as_raw_nonzero().get()),
        "ioctl": errno(rustix::io::ioctl_fionread(pipe)),
        "code": map_code(),
        "published_code": protect(libc::PROT_READ | libc::PROT_EXEC),
        "writable_code": protect(libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC),
        "shared_memory": share_memory(),
        "memory_of_parent": read_memory(parent().as_raw_nonzero().get()),
    })
}

fn parent() -> rustix::process::Pid {
    rustix::process::getppid().unwrap_or(rustix::process::Pid::INIT)
}

/// Checks whether a signal could be sent to the first thread of a process.
#[expect(unsafe_code, reason = "no safe wrapper exists")]
fn signal(process: i32) -> i32 {
    // SAFETY: signal 0 has no effect on the process.
    let answered = unsafe { libc::syscall(libc::SYS_tgkill, process, process, 0) };
    if answered == 0 {
        0
    } else {
        Error::last_os_error().raw_os_error().unwrap_or(-1)
    }
}

/// Maps a page that could be executed.
#[expect(unsafe_code, reason = "no safe wrapper exists")]
fn map_code() -> i32 {
    let (read, execute) = (libc::PROT_READ, libc::PROT_EXEC);
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous page, which is never executed and stays until the process ends.
    let page = unsafe { libc::mmap(std::ptr::null_mut(), 4_096, read | execute, private, -1, 0) };
    if page == libc::MAP_FAILED {
        Error::last_os_error().raw_os_error().unwrap_or(-1)
    } else {
        0
    }
}

/// Changes the protection of a page that was written to.
#[expect(unsafe_code, reason = "no safe wrapper exists")]
fn protect(protection: i32) -> i32 {
    let writable = libc::PROT_READ | libc::PROT_WRITE;
    let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new anonymous page, which is never executed and stays until the process ends.
    let protected = unsafe {
        let page = libc::mmap(std::ptr::null_mut(), 4_096, writable, private, -1, 0);
        page != libc::MAP_FAILED && libc::mprotect(page, 4_096, protection) == 0
    };
    if protected {
        0
    } else {
        Error::last_os_error().raw_os_error().unwrap_or(-1)
    }
}

/// Creates a segment of shared memory and removes it.
#[expect(unsafe_code, reason = "no safe wrapper exists")]
fn share_memory() -> i32 {
    // SAFETY: the segment is private, is not mapped, and is removed again.
    unsafe {
        let segment = libc::shmget(libc::IPC_PRIVATE, 4_096, 0o600);
        if segment < 0 {
            return Error::last_os_error().raw_os_error().unwrap_or(-1);
        }
        libc::shmctl(segment, libc::IPC_RMID, std::ptr::null_mut())
    }
}

/// Reads memory of another process at an invalid address: the error is `EFAULT` if reading that
/// process is allowed, as for a debugger.
#[expect(unsafe_code, reason = "no safe wrapper exists")]
fn read_memory(process: i32) -> i32 {
    let mut byte = 0u8;
    let local = libc::iovec {
        iov_base: (&raw mut byte).cast(),
        iov_len: 1,
    };
    let there = libc::iovec {
        iov_base: std::ptr::without_provenance_mut(1),
        iov_len: 1,
    };
    // SAFETY: both vectors live as long as the call, and the byte may be written to.
    let read =
        unsafe { libc::process_vm_readv(process, &raw const local, 1, &raw const there, 1, 0) };
    if read >= 0 {
        0
    } else {
        Error::last_os_error().raw_os_error().unwrap_or(-1)
    }
}

fn errno<T, E: Into<Error>>(result: Result<T, E>) -> i32 {
    // Only errors of the standard library have no number; none of these calls returns one.
    result.map_or_else(|error| error.into().raw_os_error().unwrap_or(-1), |_| 0)
}
