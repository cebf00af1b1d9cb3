use super::*;

const CREATE: OpenFlags = OpenFlags {
    create: true,
    exclusive: false,
    truncate: false,
    directory: false,
    writes: true,
};
const READ: OpenFlags = OpenFlags {
    create: false,
    exclusive: false,
    truncate: false,
    directory: false,
    writes: false,
};

fn files() -> Files {
    Files::new(100)
}

fn written(files: &mut Files, path: &[u8], bytes: &[u8]) -> NodeId {
    let node = files.open(ROOT, path, CREATE, 1).unwrap();
    assert_eq!(files.write(node, 0, bytes, 1), Ok(bytes.len()));
    files.close(node);
    node
}

fn names(files: &Files, path: &[u8]) -> Vec<String> {
    let node = files.find(ROOT, path).unwrap();
    files
        .list(node, 0)
        .unwrap()
        .map(|(name, ..)| String::from_utf8_lossy(name).into_owned())
        .collect()
}

#[test]
fn new_trees_contain_devices_and_a_folder_for_temporary_files() {
    let mut files = files();
    assert_eq!(names(&files, b"."), [".", "..", "tmp", "dev"]);
    let opened = files.open(ROOT, b"dev/stdin", READ, 1).unwrap();
    assert_eq!(files.device(opened), Some(Device::Stdin));
    let opened = files.open(ROOT, b"dev/fd/2", READ, 1).unwrap();
    assert_eq!(files.device(opened), Some(Device::Stderr));
    assert_eq!(
        files.open(ROOT, b"input.txt", READ, 1),
        Err(Errno::NotFound)
    );
    assert_eq!(
        files.open(ROOT, b"dev/stdin/x", CREATE, 1),
        Err(Errno::NotDirectory)
    );
}

#[test]
fn reads_what_was_written() {
    let mut files = files();
    let node = written(&mut files, b"tmp/a", b"hello");
    let mut buffer = [0; 8];
    assert_eq!(files.read(node, 1, &mut buffer), Ok(4));
    assert_eq!(&buffer[..4], b"ello");
    assert_eq!(files.read(node, u64::MAX, &mut buffer), Ok(0));
    assert_eq!(files.write(node, 7, b"x", 9), Ok(1));
    assert_eq!(files.read(node, 0, &mut buffer), Ok(8));
    assert_eq!(&buffer, b"hello\0\0x");
    assert_eq!(files.status(node).unwrap().size, 8);
    assert_eq!(files.status(node).unwrap().modified, 9);
    assert_eq!(files.write(node, 0, b"", 1), Ok(0));
    files
        .open(
            ROOT,
            b"tmp/a",
            OpenFlags {
                truncate: true,
                ..CREATE
            },
            2,
        )
        .unwrap();
    assert_eq!(files.status(node).unwrap().size, 0);
}

#[test]
fn resolves_paths_like_linux() {
    let mut files = files();
    files.create_directory(ROOT, b"a/", 1).unwrap();
    files.create_directory(ROOT, b"a/b", 1).unwrap();
    let b = files.find(ROOT, b"a//b/.").unwrap();
    assert_eq!(files.find(b, b"../../a/b/"), Ok(b));
    assert_eq!(files.find(b, b"../../../../a/b"), Ok(b));
    written(&mut files, b"a/f", b"");
    assert_eq!(files.find(ROOT, b"a/f/"), Err(Errno::NotDirectory));
    assert_eq!(files.find(ROOT, b"a/f/."), Err(Errno::NotDirectory));
    assert_eq!(files.find(ROOT, b""), Err(Errno::NotFound));
    assert_eq!(files.find(ROOT, b"/a"), Err(Errno::NotCapable));
    assert_eq!(files.find(ROOT, b"a\0b"), Err(Errno::Invalid));
    assert_eq!(files.find(ROOT, &[b'n'; 256]), Err(Errno::NameTooLong));
    assert_eq!(
        files.find(ROOT, &b"x/".repeat(4_096)),
        Err(Errno::NameTooLong)
    );
    assert_eq!(
        files.find(files.find(ROOT, b"a/f").unwrap(), b"x"),
        Err(Errno::NotDirectory)
    );
}

#[test]
fn open_respects_its_flags() {
    let mut files = files();
    let exclusive = OpenFlags {
        exclusive: true,
        ..CREATE
    };
    assert!(files.open(ROOT, b"f", exclusive, 1).is_ok());
    assert_eq!(files.open(ROOT, b"f", exclusive, 1), Err(Errno::Exists));
    assert_eq!(
        files.open(
            ROOT,
            b"f",
            OpenFlags {
                directory: true,
                ..READ
            },
            1
        ),
        Err(Errno::NotDirectory)
    );
    assert_eq!(files.open(ROOT, b"tmp", CREATE, 1), Err(Errno::IsDirectory));
    assert_eq!(
        files.open(
            ROOT,
            b"tmp",
            OpenFlags {
                writes: true,
                ..READ
            },
            1
        ),
        Err(Errno::IsDirectory)
    );
    assert!(
        files
            .open(
                ROOT,
                b"tmp",
                OpenFlags {
                    directory: true,
                    ..READ
                },
                1
            )
            .is_ok()
    );
    assert_eq!(
        files.open(ROOT, b"new/", CREATE, 1),
        Err(Errno::IsDirectory)
    );
    assert_eq!(
        files.open(ROOT, b"no/such", CREATE, 1),
        Err(Errno::NotFound)
    );
}

#[test]
fn removed_files_exist_while_they_are_open() {
    let mut files = files();
    let node = files.open(ROOT, b"f", CREATE, 1).unwrap();
    files.write(node, 0, b"kept", 1).unwrap();
    files.unlink(ROOT, b"f", 2).unwrap();
    assert_eq!(files.find(ROOT, b"f"), Err(Errno::NotFound));
    assert_eq!(files.status(node).unwrap().links, 0);
    assert_eq!(files.read(node, 0, &mut [0; 4]), Ok(4));
    files.close(node);
    assert_eq!(files.bytes, 0);
    assert_eq!(files.read(node, 0, &mut [0; 4]), Err(Errno::BadDescriptor));
}

#[test]
fn remove_returns_the_errors_of_linux() {
    let mut files = files();
    files.create_directory(ROOT, b"d", 1).unwrap();
    written(&mut files, b"d/f", b"x");
    assert_eq!(files.unlink(ROOT, b"d", 1), Err(Errno::IsDirectory));
    assert_eq!(files.unlink(ROOT, b"d/.", 1), Err(Errno::IsDirectory));
    assert_eq!(files.unlink(ROOT, b"none", 1), Err(Errno::NotFound));
    assert_eq!(files.remove_directory(ROOT, b"d", 1), Err(Errno::NotEmpty));
    assert_eq!(
        files.remove_directory(ROOT, b"d/f", 1),
        Err(Errno::NotDirectory)
    );
    assert_eq!(files.remove_directory(ROOT, b".", 1), Err(Errno::Busy));
    assert_eq!(files.remove_directory(ROOT, b"..", 1), Err(Errno::Busy));
    assert_eq!(files.remove_directory(ROOT, b"d/.", 1), Err(Errno::Invalid));
    files.unlink(ROOT, b"d/f", 1).unwrap();
    let folder = files.open(ROOT, b"d", READ, 1).unwrap();
    files.remove_directory(ROOT, b"d/", 1).unwrap();
    assert_eq!(files.open(folder, b"f", CREATE, 1), Err(Errno::NotFound));
    assert_eq!(
        files.create_directory(folder, b"f", 1),
        Err(Errno::NotFound)
    );
    assert_eq!(files.find(folder, b".."), Ok(folder));
    files.close(folder);
}

#[test]
fn rename_replaces_only_compatible_nodes() {
    let mut files = files();
    written(&mut files, b"f", b"1");
    let other = written(&mut files, b"g", b"22");
    files.create_directory(ROOT, b"d", 1).unwrap();
    files.create_directory(ROOT, b"e", 1).unwrap();
    let mut rename = |from: &[u8], to: &[u8]| files.rename((ROOT, from), (ROOT, to), 5);
    assert_eq!(rename(b"f", b"d"), Err(Errno::IsDirectory));
    assert_eq!(rename(b"d", b"f"), Err(Errno::NotDirectory));
    assert_eq!(rename(b"d", b"d/x"), Err(Errno::Invalid));
    assert_eq!(rename(b"d", b"d"), Ok(()));
    assert_eq!(rename(b"none", b"x"), Err(Errno::NotFound));
    assert_eq!(rename(b"d/..", b"x"), Err(Errno::Busy));
    assert_eq!(rename(b"f", b"x/"), Err(Errno::NotDirectory));
    assert_eq!(rename(b"g", b"f"), Ok(()));
    assert_eq!(rename(b"f", b"e/f"), Ok(()));
    assert_eq!(rename(b"d", b"e"), Err(Errno::NotEmpty));
    assert_eq!(rename(b"e", b"d"), Ok(()));
    assert_eq!(names(&files, b"."), [".", "..", "tmp", "dev", "d"]);
    assert_eq!(files.find(ROOT, b"d/f"), Ok(other));
    assert_eq!(files.bytes, 2);
    let folder = files.find(ROOT, b"d").unwrap();
    assert_eq!(files.find(folder, b".."), Ok(ROOT));
}

#[test]
fn listings_continue_after_entries_were_removed() {
    let mut files = files();
    for name in [b"tmp/a", b"tmp/b", b"tmp/c"] {
        written(&mut files, name, b"");
    }
    let node = files.find(ROOT, b"tmp").unwrap();
    let cookies: Vec<u64> = files
        .list(node, 0)
        .unwrap()
        .map(|(.., cookie)| cookie)
        .collect();
    files.unlink(ROOT, b"tmp/a", 1).unwrap();
    let rest: Vec<&[u8]> = files
        .list(node, cookies[2])
        .unwrap()
        .map(|(name, ..)| name)
        .collect();
    assert_eq!(rest, [b"b", b"c"]);
    assert_eq!(files.list(node, u64::MAX).unwrap().count(), 0);
}

#[test]
fn limits_the_bytes_of_all_files() {
    let mut files = files();
    let first = files.open(ROOT, b"a", CREATE, 1).unwrap();
    assert_eq!(files.resize(first, MAX_BYTES + 1, 1), Err(Errno::NoSpace));
    assert_eq!(files.resize(first, u64::MAX, 1), Err(Errno::NoSpace));
    assert_eq!(files.resize(first, MAX_BYTES - 3, 1), Ok(()));
    let second = files.open(ROOT, b"b", CREATE, 1).unwrap();
    assert_eq!(files.write(second, 0, b"12345", 1), Ok(3));
    assert_eq!(files.write(second, 3, b"45", 1), Err(Errno::NoSpace));
    assert_eq!(files.write(second, u64::MAX, b"x", 1), Err(Errno::NoSpace));
    assert_eq!(files.write(second, 1, b"xy", 1), Ok(2));
    assert_eq!(files.resize(first, 0, 1), Ok(()));
    assert_eq!(files.write(second, 3, b"45", 1), Ok(2));
    assert_eq!(files.bytes, 5);
}

#[test]
fn truncated_files_release_their_capacity() {
    let mut files = files();
    let node = written(&mut files, b"a", b"x");
    files.resize(node, MAX_BYTES, 1).unwrap();
    files.resize(node, 1, 1).unwrap();
    let Content::File(FileBytes::Owned(bytes)) = &files.nodes[&node].content else {
        panic!("it is a file in memory")
    };
    assert!(bytes.capacity() < 1 << 20, "{}", bytes.capacity());
}

#[test]
fn limits_the_number_of_nodes() {
    let mut files = files();
    let made = (0..2 * MAX_NODES).map_while(|number| {
        files
            .open(ROOT, format!("f{number}").as_bytes(), CREATE, 1)
            .map(|node| files.close(node))
            .ok()
    });
    assert!(made.count() < MAX_NODES);
    assert_eq!(files.create_directory(ROOT, b"d", 1), Err(Errno::NoSpace));
    assert_eq!(files.nodes.len(), MAX_NODES);
    files.unlink(ROOT, b"f0", 1).unwrap();
    assert_eq!(files.create_directory(ROOT, b"d", 1), Ok(()));
}

#[test]
fn folders_and_devices_cannot_be_read_as_files() {
    let mut files = files();
    let folder = files.open(ROOT, b"tmp", READ, 1).unwrap();
    assert_eq!(files.read(folder, 0, &mut [0; 4]), Err(Errno::IsDirectory));
    assert_eq!(files.write(folder, 0, b"x", 1), Err(Errno::IsDirectory));
    assert_eq!(files.resize(folder, 1, 1), Err(Errno::IsDirectory));
    let device = files.find(ROOT, b"dev/null").unwrap();
    assert_eq!(files.read(device, 0, &mut [0; 4]), Err(Errno::Invalid));
    assert_eq!(files.resize(device, 1, 1), Err(Errno::Invalid));
    let file = written(&mut files, b"f", b"");
    assert!(files.list(file, 0).is_err());
}

#[test]
fn counts_stay_consistent_after_any_sequence_of_calls() {
    // A fixed generator instead of a random one: the same sequence everywhere.
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut files = files();
    let mut opened = Vec::new();
    let paths: [&[u8]; 8] = [
        b"a",
        b"b",
        b"a/b",
        b"a/b/c",
        b"b/c",
        b"a/../b",
        b"tmp/x",
        b"dev/null",
    ];
    for _ in 0..20_000 {
        let (path, other) = (paths[next(8) as usize], paths[next(8) as usize]);
        match next(8) {
            0 => _ = files.create_directory(ROOT, path, 1),
            1 => _ = files.remove_directory(ROOT, path, 1),
            2 => _ = files.unlink(ROOT, path, 1),
            3 => _ = files.rename((ROOT, path), (ROOT, other), 1),
            4 => opened.extend(files.open(ROOT, path, CREATE, 1)),
            5 if !opened.is_empty() => {
                files.close(opened.swap_remove(next(opened.len() as u64) as usize));
            }
            6 if !opened.is_empty() => _ = files.write(opened[0], next(99), b"some bytes", 1),
            _ if !opened.is_empty() => _ = files.resize(opened[0], next(99), 1),
            _ => {}
        }
        let lengths = files
            .nodes
            .values()
            .filter_map(|node| node.bytes().ok())
            .map(|bytes| bytes.len() as u64);
        assert_eq!(files.bytes, lengths.sum::<u64>());
        for (id, node) in &files.nodes {
            let Ok(directory) = node.directory() else {
                continue;
            };
            assert_eq!(directory.entries.len(), directory.order.len());
            for entry in directory.entries.values() {
                assert!(
                    files.nodes[&entry.node].parent == *id && files.nodes[&entry.node].is_linked
                );
            }
        }
    }
    opened.drain(..).for_each(|node| files.close(node));
    assert!(files.nodes.values().all(|node| node.is_linked));
}

#[test]
fn clones_share_files_until_one_changes_them() {
    let base = Files::with_base(
        [("include/a.h", b"int a;"[..].into()), ("b", b""[..].into())],
        MAX_BYTES,
        0,
    )
    .unwrap();
    let mut first = base.clone();
    first.store("include/a.h", b"int b;", 0).unwrap();
    assert_eq!(first.content("include/a.h"), Some(&b"int b;"[..]));
    assert_eq!(base.content("include/a.h"), Some(&b"int a;"[..]));
}

#[test]
fn files_of_the_base_do_not_count_towards_the_limits() {
    let large = vec![0; usize::try_from(MAX_BYTES).unwrap()];
    let mut files = Files::with_base([("base", large[..].into())], MAX_BYTES, 0).unwrap();
    files.store("first", &large, 0).unwrap();
    assert_eq!(files.store("second", b"x", 0), Err(Errno::NoSpace));
}
