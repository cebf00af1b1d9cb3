//! The table of images.

/// An image that can be built. A language can have several, with different packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageKind {
    /// Its name in tasks.
    pub name: &'static str,
    /// The language of its programs.
    pub language: &'static str,
}

/// All images, in the order in which they are shown.
pub const IMAGES: &[ImageKind] = &[
    ImageKind {
        name: "python",
        language: "python",
    },
    ImageKind {
        name: "python-scientific",
        language: "python",
    },
    ImageKind {
        name: "javascript",
        language: "javascript",
    },
];

/// The image of this name.
pub(crate) fn kind(name: &str) -> Option<&'static ImageKind> {
    IMAGES.iter().find(|kind| kind.name == name)
}
