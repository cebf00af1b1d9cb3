//! All files of a tree by their paths.

use super::node::Content;
use super::{FileBytes, Files, ROOT};

impl Files {
    /// The files and their paths, folder by folder, each in the order of names. Those whose names
    /// are not UTF-8 are omitted.
    pub(crate) fn all(&self) -> Vec<(String, &FileBytes)> {
        let (mut found, mut folders) = (Vec::new(), vec![(ROOT, String::new())]);
        while let Some((folder, prefix)) = folders.pop() {
            let directory = self.node(folder).and_then(|node| node.directory());
            for (name, entry) in directory.into_iter().flat_map(|known| &known.entries) {
                let (Ok(name), Ok(node)) = (str::from_utf8(name), self.node(entry.node)) else {
                    continue;
                };
                let path = format!("{prefix}{name}");
                match &node.content {
                    Content::File(bytes) => found.push((path, bytes)),
                    Content::Directory(_) => folders.push((entry.node, path + "/")),
                    Content::Device(_) => {}
                }
            }
        }
        found
    }
}
