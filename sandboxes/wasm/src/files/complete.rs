//! A tree of files that was read from the bytes of a frozen instance, which may be damaged.

use std::collections::BTreeSet;

use super::node::Content;
use super::{Directory, FileBytes, Files, LAST_DOT, MAX_BYTES, MAX_NAME, MAX_NODES, NodeId, ROOT};

/// Largest number of a node or a cookie: more than any session creates.
const MAX_NUMBER: u64 = 1 << 48;

impl Files {
    /// The contents of the files, in the order of their nodes.
    pub(crate) fn contents(&self) -> impl Iterator<Item = (NodeId, &FileBytes)> {
        self.nodes
            .iter()
            .filter_map(|(node, known)| match &known.content {
                Content::File(bytes) => Some((*node, bytes)),
                Content::Directory(_) | Content::Device(_) => None,
            })
    }

    /// Completes a tree with what is not serialized: the contents of its files, in the order of
    /// their nodes, and which nodes are open.
    ///
    /// # Errors
    /// If this is not the tree of any instance.
    pub(crate) fn complete(
        &mut self,
        contents: Vec<FileBytes>,
        opened: impl Iterator<Item = NodeId>,
    ) -> Result<(), &'static str> {
        let mut contents = contents.into_iter();
        for known in self.nodes.values_mut() {
            if let Content::File(bytes) = &mut known.content {
                *bytes = contents.next().ok_or("a file has no content")?;
                self.bytes += bytes.len() as u64;
            }
        }
        (self.max_nodes, self.max_bytes) = (MAX_NODES, MAX_BYTES);
        for node in opened {
            let known = self.nodes.get_mut(&node);
            known.ok_or("a descriptor refers to no file")?.opened += 1;
        }
        if contents.next().is_some() || self.nodes.len() > MAX_NODES || !self.is_tree() {
            return Err("its files are not a tree");
        }
        Ok(())
    }

    /// Whether every node is either linked exactly once, in a folder that is reached from the root,
    /// or removed and open.
    fn is_tree(&self) -> bool {
        let (mut linked, mut folders) = (BTreeSet::from([ROOT]), vec![ROOT]);
        while let Some(folder) = folders.pop() {
            let Some(directory) = self.node(folder).and_then(|node| node.directory()).ok() else {
                return false;
            };
            if !self.has_valid_entries(directory) {
                return false;
            }
            for entry in directory.entries.values() {
                let Some(node) = self.nodes.get(&entry.node) else {
                    return false;
                };
                if node.parent != folder || !linked.insert(entry.node) {
                    return false;
                }
                if let Content::Directory(_) = node.content {
                    folders.push(entry.node);
                }
            }
        }
        let highest = self.nodes.keys().next_back().copied().unwrap_or_default();
        (highest.max(LAST_DOT)..MAX_NUMBER).contains(&self.next)
            && self.nodes.iter().all(|(id, node)| {
                let is_linked = linked.contains(id);
                let is_empty = node
                    .directory()
                    .map_or(true, |found| found.entries.is_empty());
                node.is_linked == is_linked
                    && (is_linked || node.parent == *id && node.opened > 0 && is_empty)
            })
            && self
                .nodes
                .get(&ROOT)
                .is_some_and(|root| root.parent == ROOT)
    }

    fn has_valid_entries(&self, directory: &Directory) -> bool {
        directory.entries.len() == directory.order.len()
            && directory.order.iter().all(|(cookie, name)| {
                let is_name = !name.is_empty() && name.len() <= MAX_NAME;
                (LAST_DOT + 1..=self.next).contains(cookie)
                    && is_name
                    && !name.iter().any(|byte| matches!(byte, 0 | b'/'))
                    && ![&b"."[..], b".."].contains(&&name[..])
                    && directory
                        .entries
                        .get(name)
                        .is_some_and(|entry| entry.cookie == *cookie)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::OpenFlags;
    use super::*;

    fn tree() -> Files {
        let mut files = Files::new(0);
        files.store("a/b/c", b"text", 0).unwrap();
        let opened = files.open(ROOT, b"a/b/c", OpenFlags::default(), 0).unwrap();
        files.store("d", b"other", 0).unwrap();
        files.unlink(ROOT, b"a/b/c", 0).unwrap();
        assert_eq!(files.node(opened).unwrap().parent, opened);
        files
    }

    /// The tree as it is read again, after a change.
    fn completed(change: impl FnOnce(&mut Files)) -> Result<Files, &'static str> {
        let files = tree();
        let contents: Vec<FileBytes> = files.contents().map(|(_, bytes)| bytes.clone()).collect();
        let opened: Vec<NodeId> = files
            .nodes
            .iter()
            .filter_map(|(id, node)| (node.opened > 0).then_some(*id))
            .collect();
        let bytes = postcard::to_stdvec(&files).unwrap();
        let mut files: Files = postcard::from_bytes(&bytes).unwrap();
        change(&mut files);
        files.complete(contents, opened.into_iter()).map(|()| files)
    }

    #[test]
    fn a_tree_is_completed() {
        let files = completed(|_| {}).ok().unwrap();
        let removed = files.nodes.values().find(|node| node.opened > 0).unwrap();
        assert_eq!(removed.bytes().unwrap(), b"text");
        assert_eq!((files.content("d"), files.bytes), (Some(&b"other"[..]), 9));
        assert_eq!((files.max_bytes, files.max_nodes), (MAX_BYTES, MAX_NODES));
    }

    #[test]
    fn rejects_what_is_not_a_tree() {
        type Change = fn(&mut Files);
        let changes: [Change; 9] = [
            // A folder that contains itself.
            |files| {
                let (outer, inner) = (
                    files.find(ROOT, b"a").unwrap(),
                    files.find(ROOT, b"a/b").unwrap(),
                );
                files.node_mut(outer).unwrap().parent = inner;
            },
            |files| {
                let outer = files.find(ROOT, b"a").unwrap();
                files.link(outer, b"root", ROOT, 0);
            },
            |files| {
                let file = files.find(ROOT, b"d").unwrap();
                files.link(ROOT, b"second", file, 0);
            },
            |files| files.node_mut(ROOT).unwrap().parent = 2,
            |files| _ = files.nodes.remove(&ROOT),
            |files| files.next = 3,
            |files| files.next = u64::MAX,
            |files| {
                let file = files.find(ROOT, b"d").unwrap();
                files.node_mut(file).unwrap().is_linked = false;
            },
            |files| {
                let file = files.find(ROOT, b"d").unwrap();
                files.link(ROOT, b"a/b", file, 0);
            },
        ];
        for (at, change) in changes.into_iter().enumerate() {
            assert!(completed(change).is_err(), "change {at}");
        }
        let one_more = |files: &mut Files| {
            files.add(ROOT, b"more", Content::File(FileBytes::default()), 0);
        };
        assert!(completed(one_more).is_err(), "a file without content");
    }
}
