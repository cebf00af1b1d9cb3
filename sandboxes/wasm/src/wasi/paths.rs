//! System calls on paths: open, create, remove, rename. Layouts are those of WASI preview 1.

use wasmtime::{Caller, Linker, Result};

use super::abi::{CALL_WORK, MODULE, charge, error_number, memory, now, store, unsigned};
use super::descriptors::{APPEND, RIGHT_TO_READ, RIGHT_TO_WRITE, chosen_times, filestat};
use crate::errno::Errno;
use crate::files::{Files, MAX_PATH, NodeId, OpenFlags};
use crate::state::State;

/// Work of each byte of a path: every second byte may be a name to look up.
const PATH_WORK: u64 = 64;

pub(super) fn define(linker: &mut Linker<State>) -> Result<()> {
    linker.func_wrap(MODULE, "path_open", path_open)?;
    linker.func_wrap(MODULE, "path_filestat_get", path_filestat_get)?;
    linker.func_wrap(MODULE, "path_filestat_set_times", path_filestat_set_times)?;
    linker.func_wrap(MODULE, "path_readlink", path_readlink)?;
    linker.func_wrap(MODULE, "path_rename", path_rename)?;
    linker.func_wrap(
        MODULE,
        "path_create_directory",
        |caller: Caller<'_, State>, at: i32, path: i32, length: i32| {
            edit(caller, at, (path, length), Files::create_directory)
        },
    )?;
    linker.func_wrap(
        MODULE,
        "path_remove_directory",
        |caller: Caller<'_, State>, at: i32, path: i32, length: i32| {
            edit(caller, at, (path, length), Files::remove_directory)
        },
    )?;
    linker.func_wrap(
        MODULE,
        "path_unlink_file",
        |caller: Caller<'_, State>, at: i32, path: i32, length: i32| {
            edit(caller, at, (path, length), Files::unlink)
        },
    )?;
    Ok(())
}

/// Copies a path from the guest. Also returns the time of the guest's clock.
fn path_and_time(
    caller: &mut Caller<'_, State>,
    at: i32,
    length: i32,
) -> Result<std::result::Result<(Vec<u8>, u64), Errno>> {
    let (at, length) = (unsigned(at), unsigned(length));
    charge(caller, CALL_WORK + PATH_WORK * length.min(MAX_PATH) as u64)?;
    if length > MAX_PATH {
        return Ok(Err(Errno::NameTooLong));
    }
    let now = now(caller)?;
    let data = memory(caller)?.data(&*caller);
    let path = at.checked_add(length).and_then(|end| data.get(at..end));
    Ok(path.map(|path| (path.to_vec(), now)).ok_or(Errno::Fault))
}

/// Performs an operation on the tree of files that takes a path and returns nothing.
fn edit(
    mut caller: Caller<'_, State>,
    at: i32,
    (path, length): (i32, i32),
    action: impl FnOnce(&mut Files, NodeId, &[u8], u64) -> std::result::Result<(), Errno>,
) -> Result<i32> {
    let (path, now) = match path_and_time(&mut caller, path, length)? {
        Ok(found) => found,
        Err(error) => return Ok(error.number()),
    };
    let table = &caller.data().descriptors;
    Ok(error_number(table.folder(at).and_then(|folder| {
        action(&mut table.files(), folder, &path, now)
    })))
}

#[expect(clippy::too_many_arguments, reason = "the signature is WASI's")]
fn path_open(
    mut caller: Caller<'_, State>,
    at: i32,
    _lookup: i32,
    path: i32,
    length: i32,
    flags: i32,
    rights: i64,
    _inherited: i64,
    descriptor_flags: i32,
    opened: i32,
) -> Result<i32> {
    let (path, now) = match path_and_time(&mut caller, path, length)? {
        Ok(found) => found,
        Err(error) => return Ok(error.number()),
    };
    let rights = rights.cast_unsigned();
    let open_flags = OpenFlags {
        create: flags & 1 != 0,
        directory: flags & 2 != 0,
        exclusive: flags & 4 != 0,
        truncate: flags & 8 != 0,
        writes: rights & RIGHT_TO_WRITE != 0,
    };
    let reads_and_appends = (rights & RIGHT_TO_READ != 0, descriptor_flags & APPEND != 0);
    match caller
        .data_mut()
        .descriptors
        .open(at, &path, open_flags, reads_and_appends, now)
    {
        Ok(fd) => store(&mut caller, opened, &fd.to_le_bytes()),
        Err(error) => Ok(error.number()),
    }
}

fn path_filestat_get(
    mut caller: Caller<'_, State>,
    at: i32,
    _lookup: i32,
    path: i32,
    length: i32,
    target: i32,
) -> Result<i32> {
    let (path, _) = match path_and_time(&mut caller, path, length)? {
        Ok(found) => found,
        Err(error) => return Ok(error.number()),
    };
    let table = &caller.data().descriptors;
    let status = table.folder(at).and_then(|folder| {
        let files = table.files();
        files
            .find(folder, &path)
            .and_then(|node| files.status(node))
    });
    match status {
        Ok(status) => store(&mut caller, target, &filestat(&status)),
        Err(error) => Ok(error.number()),
    }
}

#[expect(clippy::too_many_arguments, reason = "the signature is WASI's")]
fn path_filestat_set_times(
    mut caller: Caller<'_, State>,
    at: i32,
    _lookup: i32,
    path: i32,
    length: i32,
    accessed: i64,
    modified: i64,
    flags: i32,
) -> Result<i32> {
    let (path, now) = match path_and_time(&mut caller, path, length)? {
        Ok(found) => found,
        Err(error) => return Ok(error.number()),
    };
    let table = &caller.data().descriptors;
    Ok(error_number(table.folder(at).and_then(|folder| {
        let (accessed, modified) = chosen_times(accessed, modified, flags, now)?;
        let mut files = table.files();
        let node = files.find(folder, &path)?;
        files.set_times(node, accessed, modified, now)
    })))
}

/// Always an error: there are no links.
fn path_readlink(
    mut caller: Caller<'_, State>,
    at: i32,
    path: i32,
    length: i32,
    _target: i32,
    _capacity: i32,
    _used: i32,
) -> Result<i32> {
    let (path, _) = match path_and_time(&mut caller, path, length)? {
        Ok(found) => found,
        Err(error) => return Ok(error.number()),
    };
    let table = &caller.data().descriptors;
    let found = table
        .folder(at)
        .and_then(|folder| table.files().find(folder, &path));
    Ok(found.map_or_else(Errno::number, |_| Errno::Invalid.number()))
}

fn path_rename(
    mut caller: Caller<'_, State>,
    from_at: i32,
    from: i32,
    from_length: i32,
    to_at: i32,
    to: i32,
    to_length: i32,
) -> Result<i32> {
    let from = path_and_time(&mut caller, from, from_length)?;
    let to = path_and_time(&mut caller, to, to_length)?;
    let table = &caller.data().descriptors;
    let renamed = from.and_then(|(from, _)| {
        let (to, now) = to?;
        let (from_folder, to_folder) = (table.folder(from_at)?, table.folder(to_at)?);
        table
            .files()
            .rename((from_folder, &from), (to_folder, &to), now)
    });
    Ok(error_number(renamed))
}
