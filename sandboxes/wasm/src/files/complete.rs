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
