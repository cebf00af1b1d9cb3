//! System calls on open descriptors: reading, writing, seeking, listing. Layouts are those of WASI
//! preview 1.

use wasmtime::{Caller, Linker, Result};

use super::abi::{CALL_WORK, MAX_LIST, MODULE, charge, error_number, memory, now, store, unsigned};
use crate::descriptors::{Descriptor, PREOPENED, Target, Whence};
use crate::errno::{Errno, SUCCESS};
use crate::files::{Device, FileType, MAX_BYTES, Status};
use crate::state::State;

/// Most bytes that one read returns from an endless device.
const ENDLESS_READ: usize = 64 << 10;

/// Work of each entry of a listing, in addition to one unit per byte.
const ENTRY_WORK: u64 = 200;

/// `fd_read` and `fd_write` among the rights of a descriptor.
pub(super) const RIGHT_TO_READ: u64 = 1 << 1;
pub(super) const RIGHT_TO_WRITE: u64 = 1 << 6;

/// `append` among the flags of a descriptor.
pub(super) const APPEND: i32 = 1;

pub(super) fn define(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(
        MODULE,
        "fd_read",
        |caller: Caller<'_, State>, fd: i32, list: i32, count: i32, read: i32| {
            fd_read(caller, fd, (list, count), None, read)
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_pread",
        |caller: Caller<'_, State>, fd: i32, list: i32, count: i32, at: i64, read: i32| {
            fd_read(caller, fd, (list, count), Some(at.cast_unsigned()), read)
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_write",
        |caller: Caller<'_, State>, fd: i32, list: i32, count: i32, written: i32| {
            fd_write(caller, fd, (list, count), None, written)
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_pwrite",
        |caller: Caller<'_, State>, fd: i32, list: i32, count: i32, at: i64, written: i32| {
            fd_write(caller, fd, (list, count), Some(at.cast_unsigned()), written)
        },
    )?;
    linker.func_wrap(MODULE, "fd_seek", fd_seek)?;
    linker.func_wrap(
        MODULE,
        "fd_tell",
        |caller: Caller<'_, State>, fd: i32, at: i32| fd_seek(caller, fd, 0, 1, at),
    )?;
    linker.func_wrap(MODULE, "fd_close", fd_close)?;
    linker.func_wrap(
        MODULE,
        "fd_advise",
        |caller: Caller<'_, State>, fd: i32, _: i64, _: i64, _: i32| is_open(caller, fd),
    )?;
    linker.func_wrap(MODULE, "fd_sync", is_open)?;
    linker.func_wrap(MODULE, "fd_datasync", is_open)?;
    linker.func_wrap(MODULE, "fd_allocate", fd_allocate)?;
    linker.func_wrap(MODULE, "fd_readdir", fd_readdir)?;
    linker.func_wrap(MODULE, "fd_fdstat_get", fd_fdstat_get)?;
    linker.func_wrap(MODULE, "fd_fdstat_set_flags", fd_fdstat_set_flags)?;
    linker.func_wrap(MODULE, "fd_filestat_get", fd_filestat_get)?;
    linker.func_wrap(MODULE, "fd_filestat_set_size", fd_filestat_set_size)?;
    linker.func_wrap(MODULE, "fd_filestat_set_times", fd_filestat_set_times)?;
    linker.func_wrap(MODULE, "fd_prestat_get", fd_prestat_get)?;
    linker.func_wrap(MODULE, "fd_prestat_dir_name", fd_prestat_dir_name)?;
    Ok(())
}

/// Work for each byte by which a file grows. The memory is requested from the system and cleared:
/// 60 MiB took 45 ms.
const GROWTH_WORK: u64 = 8;

/// The buffers of a vectored read or write, as ranges of the memory; `None` if one is outside.
fn buffers(data: &[u8], (list, count): (i32, i32)) -> Option<Vec<std::ops::Range<usize>>> {
    let read_u32 = |at: usize| {
        Some(u32::from_le_bytes(data.get(at..at.checked_add(4)?)?.try_into().ok()?) as usize)
    };
    (0..unsigned(count))
        .map(|index| {
            let at = unsigned(list).checked_add(index * 8)?;
            let (start, length) = (read_u32(at)?, read_u32(at + 4)?);
            let range = start..start.checked_add(length)?;
            (range.end <= data.len()).then_some(range)
        })
        .collect()
}

/// Reads into the buffers until one is not filled. With `at`, the position of the descriptor does
/// not change.
fn fd_read(
    mut caller: Caller<'_, State>,
    fd: i32,
    list: (i32, i32),
    at: Option<u64>,
    read: i32,
) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    if list.1.cast_unsigned() > MAX_LIST {
        return Ok(Errno::Invalid.number());
    }
    let (data, state) = memory(&mut caller)?.data_and_store_mut(&mut caller);
    let Some(ranges) = buffers(data, list) else {
        return Ok(Errno::Fault.number());
    };
    let mut total = 0;
    for range in ranges {
        let capacity = range.len();
        match read_some(
            state,
            fd,
            at.map(|at| at.saturating_add(total)),
            &mut data[range],
        ) {
            Ok(length) => {
                total += length as u64;
                if length < capacity {
                    break;
                }
            }
            Err(_) if total > 0 => break,
            Err(error) => return Ok(error.number()),
        }
    }
    charge(&mut caller, total)?;
    // A read is at most as long as the memory, which 32 bits address.
    store(
        &mut caller,
        read,
        &u32::try_from(total).unwrap_or(u32::MAX).to_le_bytes(),
    )
}

fn read_some(
    state: &mut State,
    fd: i32,
    at: Option<u64>,
    target: &mut [u8],
) -> Result<usize, Errno> {
    let known = state.descriptors.get(fd)?;
    let Target::Device(device) = known.target else {
        return state.descriptors.read(fd, at, target);
    };
    let endless = target.len().min(ENDLESS_READ);
    match device {
        _ if !known.reads => Err(Errno::BadDescriptor),
        Device::Stdin if at.is_some() => Err(Errno::NotSeekable),
        Device::Stdin => Ok(state.read_stdin(target)),
        Device::Stdout | Device::Stderr => Err(Errno::BadDescriptor),
        Device::Null => Ok(0),
        Device::Zero => {
            target[..endless].fill(0);
            Ok(endless)
        }
        Device::Random => {
            state.random.fill(&mut target[..endless]);
            Ok(endless)
        }
    }
}

fn fd_write(
    mut caller: Caller<'_, State>,
    fd: i32,
    list: (i32, i32),
    at: Option<u64>,
    written: i32,
) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    if list.1.cast_unsigned() > MAX_LIST {
        return Ok(Errno::Invalid.number());
    }
    let now = now(&caller)?;
    let (data, state) = memory(&mut caller)?.data_and_store_mut(&mut caller);
    let Some(ranges) = buffers(data, list) else {
        return Ok(Errno::Fault.number());
    };
    let before = state.descriptors.files().total_bytes();
    let mut total = 0;
    for range in ranges {
        let capacity = range.len();
        match write_some(
            state,
            fd,
            at.map(|at| at.saturating_add(total)),
            &data[range],
            now,
        )? {
            Ok(length) => {
                total += length as u64;
                if length < capacity {
                    break;
                }
            }
            Err(_) if total > 0 => break,
            Err(error) => return Ok(error.number()),
        }
    }
    // A write beyond the end of a file fills the gap as well.
    let growth = state
        .descriptors
        .files()
        .total_bytes()
        .saturating_sub(before);
    charge(&mut caller, total.max(growth * GROWTH_WORK))?;
    store(
        &mut caller,
        written,
        &u32::try_from(total).unwrap_or(u32::MAX).to_le_bytes(),
    )
}

/// The outer error ends the program. The inner one is returned to it.
fn write_some(
    state: &mut State,
    fd: i32,
    at: Option<u64>,
    bytes: &[u8],
    now: u64,
) -> Result<std::result::Result<usize, Errno>> {
    let known = match state.descriptors.get(fd) {
        Ok(known) => known,
        Err(error) => return Ok(Err(error)),
    };
    let Target::Device(device) = known.target else {
        return Ok(state.descriptors.write(fd, at, bytes, now));
    };
    match device {
        _ if !known.writes => return Ok(Err(Errno::BadDescriptor)),
        Device::Stdin => return Ok(Err(Errno::BadDescriptor)),
        Device::Stdout | Device::Stderr if at.is_some() => return Ok(Err(Errno::NotSeekable)),
        Device::Stdout => state.write_stdout(bytes)?,
        Device::Stderr => state.write_stderr(bytes),
        Device::Null | Device::Zero | Device::Random => {}
    }
    Ok(Ok(bytes.len()))
}

fn fd_seek(
    mut caller: Caller<'_, State>,
    fd: i32,
    offset: i64,
    whence: i32,
    at: i32,
) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    let whence = match whence {
        0 => Whence::Start,
        1 => Whence::Current,
        2 => Whence::End,
        _ => return Ok(Errno::Invalid.number()),
    };
    match caller.data_mut().descriptors.seek(fd, offset, whence) {
        Ok(position) => store(&mut caller, at, &position.to_le_bytes()),
        Err(error) => Ok(error.number()),
    }
}

fn fd_close(mut caller: Caller<'_, State>, fd: i32) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    Ok(error_number(caller.data_mut().descriptors.close(fd)))
}

/// Implements calls without an effect, such as `fd_sync`: files exist only in memory.
fn is_open(mut caller: Caller<'_, State>, fd: i32) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    Ok(error_number(caller.data().descriptors.get(fd).map(|_| ())))
}

fn fd_allocate(mut caller: Caller<'_, State>, fd: i32, offset: i64, length: i64) -> Result<i32> {
    let end = offset
        .cast_unsigned()
        .saturating_add(length.cast_unsigned());
    charge(&mut caller, CALL_WORK + end.min(MAX_BYTES) * GROWTH_WORK)?;
    if length == 0 {
        return Ok(Errno::Invalid.number());
    }
    let now = now(&caller)?;
    let descriptors = &caller.data().descriptors;
    let known = descriptors
        .node(fd, Errno::NotSeekable)
        .and_then(|node| descriptors.files().status(node));
    Ok(error_number(match known {
        Ok(status) if status.kind == FileType::File && status.size >= end => Ok(()),
        Ok(_) => descriptors.resize(fd, end, now),
        Err(error) => Err(error),
    }))
}

/// Lists a folder after a cookie. The last entry is truncated at the end of the buffer: a full
/// buffer means that the guest must call again.
fn fd_readdir(
    mut caller: Caller<'_, State>,
    fd: i32,
    at: i32,
    length: i32,
    cookie: i64,
    used: i32,
) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    let capacity = unsigned(length);
    let (mut listed, mut entries) = (Vec::new(), 0);
    {
        let descriptors = &caller.data().descriptors;
        let files = descriptors.files();
        let found = descriptors
            .node(fd, Errno::NotDirectory)
            .and_then(|node| files.list(node, cookie.cast_unsigned()));
        let found = match found {
            Ok(found) => found,
            Err(error) => return Ok(error.number()),
        };
        for (name, node, kind, cookie) in found {
            // At most a few hundred bytes exceed the buffer.
            if listed.len() >= capacity {
                break;
            }
            listed.extend_from_slice(&cookie.to_le_bytes());
            listed.extend_from_slice(&node.to_le_bytes());
            listed.extend_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
            listed.extend_from_slice(&[kind as u8, 0, 0, 0]);
            listed.extend_from_slice(name);
            entries += 1;
        }
    }
    listed.truncate(capacity);
    charge(&mut caller, entries * ENTRY_WORK + listed.len() as u64)?;
    match store(&mut caller, at, &listed)? {
        SUCCESS => store(
            &mut caller,
            used,
            &u32::try_from(listed.len())
                .unwrap_or(u32::MAX)
                .to_le_bytes(),
        ),
        failed => Ok(failed),
    }
}

fn fd_fdstat_get(mut caller: Caller<'_, State>, fd: i32, at: i32) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    let known = match caller.data().descriptors.get(fd) {
        Ok(known) => known,
        Err(error) => return Ok(error.number()),
    };
    let kind = match status(caller.data(), &known) {
        Ok(status) => status.kind,
        Err(error) => return Ok(error.number()),
    };
    let mut stat = [0u8; 24];
    stat[0] = kind as u8;
    stat[2] = u8::from(known.appends);
    // All rights except those without which the descriptor was opened. Each call checks whether it
    // is allowed.
    let mut rights = u64::MAX;
    if fd != PREOPENED && kind != FileType::Unknown {
        rights &= if known.reads {
            u64::MAX
        } else {
            !RIGHT_TO_READ
        };
        rights &= if known.writes {
            u64::MAX
        } else {
            !RIGHT_TO_WRITE
        };
    }
    stat[8..16].copy_from_slice(&rights.to_le_bytes());
    stat[16..24].fill(0xff);
    store(&mut caller, at, &stat)
}

fn fd_fdstat_set_flags(mut caller: Caller<'_, State>, fd: i32, flags: i32) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    Ok(error_number(
        caller
            .data_mut()
            .descriptors
            .get_mut(fd)
            .map(|known| known.appends = flags & APPEND != 0),
    ))
}

/// Metadata of an open descriptor.
fn status(state: &State, known: &Descriptor) -> std::result::Result<Status, Errno> {
    let stream = |kind, size| Status {
        node: 0,
        kind,
        links: 1,
        size,
        accessed: 0,
        modified: 0,
        changed: 0,
    };
    Ok(match known.target {
        Target::Node(node) => return state.descriptors.files().status(node),
        // Programs may read the size of their input, as they would of a file.
        Target::Device(Device::Stdin) => stream(FileType::Unknown, state.stdin.len() as u64),
        Target::Device(Device::Stdout | Device::Stderr) => stream(FileType::Unknown, 0),
        Target::Device(Device::Null | Device::Zero | Device::Random) => stream(FileType::Device, 0),
    })
}

fn fd_filestat_get(mut caller: Caller<'_, State>, fd: i32, at: i32) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    let state = caller.data();
    match state
        .descriptors
        .get(fd)
        .and_then(|known| status(state, &known))
    {
        Ok(status) => store(&mut caller, at, &filestat(&status)),
        Err(error) => Ok(error.number()),
    }
}

/// A `filestat`: 64 bytes.
pub(super) fn filestat(status: &Status) -> [u8; 64] {
    let mut stat = [0u8; 64];
    let fields = [
        (0, 1),
        (8, status.node),
        (16, u64::from(status.kind as u8)),
        (24, status.links),
        (32, status.size),
        (40, status.accessed),
        (48, status.modified),
        (56, status.changed),
    ];
    for (at, value) in fields {
        stat[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    stat
}

fn fd_filestat_set_size(mut caller: Caller<'_, State>, fd: i32, size: i64) -> Result<i32> {
    let size = size.cast_unsigned();
    charge(&mut caller, CALL_WORK + size.min(MAX_BYTES) * GROWTH_WORK)?;
    let now = now(&caller)?;
    Ok(error_number(
        caller.data().descriptors.resize(fd, size, now),
    ))
}

fn fd_filestat_set_times(
    mut caller: Caller<'_, State>,
    fd: i32,
    accessed: i64,
    modified: i64,
    flags: i32,
) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    let now = now(&caller)?;
    let descriptors = &caller.data().descriptors;
    let times = chosen_times(accessed, modified, flags, now);
    Ok(error_number(
        descriptors.node(fd, Errno::NotPermitted).and_then(|node| {
            let (accessed, modified) = times?;
            descriptors.files().set_times(node, accessed, modified, now)
        }),
    ))
}

/// The times to set, by the flags: 1 and 4 select the given times, 2 and 8 the current time.
pub(super) fn chosen_times(
    accessed: i64,
    modified: i64,
    flags: i32,
    now: u64,
) -> std::result::Result<(Option<u64>, Option<u64>), Errno> {
    let choose = |given: i64, flags: i32| match flags & 3 {
        0 => Ok(None),
        1 => Ok(Some(given.cast_unsigned())),
        2 => Ok(Some(now)),
        _ => Err(Errno::Invalid),
    };
    Ok((choose(accessed, flags)?, choose(modified, flags >> 2)?))
}

/// The one preopened folder: a `prestat` with tag 0 and the length of `/`.
fn fd_prestat_get(mut caller: Caller<'_, State>, fd: i32, at: i32) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    if fd == PREOPENED {
        store(&mut caller, at, &[0, 0, 0, 0, 1, 0, 0, 0])
    } else {
        Ok(Errno::BadDescriptor.number())
    }
}

fn fd_prestat_dir_name(
    mut caller: Caller<'_, State>,
    fd: i32,
    at: i32,
    length: i32,
) -> Result<i32> {
    charge(&mut caller, CALL_WORK)?;
    match (fd, length) {
        (PREOPENED, 1..) => store(&mut caller, at, b"/"),
        (PREOPENED, _) => Ok(Errno::NameTooLong.number()),
        _ => Ok(Errno::BadDescriptor.number()),
    }
}
