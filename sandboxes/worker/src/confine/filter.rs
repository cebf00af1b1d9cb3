//! The system call filter.

use rustix::process::getpid;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// System calls that a running worker may make with any arguments: reading and writing its pipes,
/// memory, threads that it already has, signals of traps, time.
#[rustfmt::skip]
const ALLOWED: &[i64] = &[
    libc::SYS_read, libc::SYS_write, libc::SYS_readv, libc::SYS_writev, libc::SYS_pread64,
    libc::SYS_close,
    libc::SYS_munmap, libc::SYS_madvise, libc::SYS_mremap, libc::SYS_brk,
    libc::SYS_futex, libc::SYS_sched_yield, libc::SYS_rseq, libc::SYS_set_robust_list,
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_clock_gettime, libc::SYS_clock_nanosleep, libc::SYS_nanosleep,
    libc::SYS_gettimeofday, libc::SYS_getrandom,
    libc::SYS_ppoll, libc::SYS_getpid, libc::SYS_gettid, libc::SYS_restart_syscall,
    libc::SYS_membarrier,
    libc::SYS_sched_getaffinity, libc::SYS_getrusage, libc::SYS_exit, libc::SYS_exit_group,
];

/// The code that a worker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutableCode {
    /// All of it is mapped before the worker is confined.
    Mapped,
    /// The worker also compiles programs. Memory can become executable, but only when it stops
    /// being writable.
    Compiled,
}

/// The `PAGEMAP_SCAN` ioctl, with which the pages that an instance wrote to are found.
const PAGEMAP_SCAN: u64 = 0xc060_6610;

/// Filters the system calls of every thread from now on. Calls that are not allowed fail with
/// `EPERM` rather than kill the process, so that a call missing from the list is an error and not a
/// dead worker.
pub(super) fn apply(code: ExecutableCode) -> Result<(), String> {
    let program = filter(code)?;
    seccompiler::apply_filter_all_threads(&program).map_err(|error| error.to_string())
}

fn filter(code: ExecutableCode) -> Result<BpfProgram, String> {
    let architecture =
        TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let own_process = u64::from(getpid().as_raw_nonzero().get().unsigned_abs());
    let not_executable = SeccompCmpOp::MaskedEq(u64::from(libc::PROT_EXEC.unsigned_abs()));
    let mut conditions = vec![
        // `abort` signals a thread of this process; other processes must not be signalled.
        (libc::SYS_tgkill, 0, SeccompCmpOp::Eq, own_process),
        (libc::SYS_ioctl, 1, SeccompCmpOp::Eq, PAGEMAP_SCAN),
        (libc::SYS_mmap, 2, not_executable.clone(), 0),
        (libc::SYS_mprotect, 2, not_executable, 0),
    ];
    match code {
        ExecutableCode::Mapped => {}
        ExecutableCode::Compiled => {
            let published = u64::from((libc::PROT_READ | libc::PROT_EXEC).unsigned_abs());
            conditions.push((libc::SYS_mprotect, 2, SeccompCmpOp::Eq, published));
        }
    }
    let filter_error = |error: BackendError| error.to_string();
    for (call, argument, operator, value) in conditions {
        let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
            .map_err(filter_error)?;
        let rule = SeccompRule::new(vec![condition]).map_err(filter_error)?;
        rules.entry(call).or_default().push(rule);
    }
    let deny = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, deny, SeccompAction::Allow, architecture)
        .map_err(filter_error)?;
    filter.try_into().map_err(filter_error)
}
