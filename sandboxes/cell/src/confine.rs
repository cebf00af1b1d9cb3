//! What a cell gives up before it touches untrusted work: new files, new programs, the network, other processes.
//!
//! The sandbox inside the cell should never ask for any of it. This is the wall behind that wall.

use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule, TargetArch};

/// What the kernel of this machine agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Confinement {
    /// Whether system calls are filtered.
    pub seccomp: bool,
}

/// System calls a running cell makes: reading and writing its pipes, memory, threads it already has, signals of traps, time.
#[rustfmt::skip]
const ALLOWED: &[i64] = &[
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64, libc::SYS_close,
    libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mprotect, libc::SYS_madvise, libc::SYS_mremap, libc::SYS_brk,
    libc::SYS_ioctl, libc::SYS_futex, libc::SYS_sched_yield, libc::SYS_rseq, libc::SYS_set_robust_list, 
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn, libc::SYS_sigaltstack,
    libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_nanosleep, libc::SYS_gettimeofday, libc::SYS_getrandom,
    libc::SYS_ppoll, libc::SYS_getpid, libc::SYS_gettid, libc::SYS_tgkill, libc::SYS_restart_syscall, libc::SYS_membarrier,
    libc::SYS_sched_getaffinity, libc::SYS_getrusage, libc::SYS_exit, libc::SYS_exit_group,
];

/// Open files a cell may have: its pipes, and room to spare.
const OPEN_FILES: u64 = 32;

/// Gives up what a cell needs no more. Called once images are mapped and threads started.
#[must_use]
pub fn confine() -> Confinement {
    let limits = [(Resource::Core, 0), (Resource::Fsize, 0), (Resource::Nofile, OPEN_FILES)];
    for (resource, most) in limits {
        if let Err(error) = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }) {
            tracing::warn!(?resource, %error, "a limit of the cell stays as it was");
        }
    }
    let filtered =
        filter().and_then(|program| seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string()));
    if let Err(error) = &filtered {
        tracing::warn!(error, "system calls of the cell are not filtered; the sandbox inside stands alone");
    }
    Confinement { seccomp: filtered.is_ok() }
}

/// Anything else answers `EPERM`: a guest cannot tell, and a slip of ours is an error, not a dead cell.
fn filter() -> Result<BpfProgram, String> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let rules = ALLOWED.iter().map(|call| (*call, Vec::<SeccompRule>::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture);
    filter.and_then(TryInto::try_into).map_err(|error: seccompiler::BackendError| error.to_string())
}
