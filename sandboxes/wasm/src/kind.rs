//! The table of images.

/// An image that can be built. A language can have several, with different packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageKind {
    /// Its name in tasks.
    pub name: &'static str,
    /// The language of its programs.
    pub language: &'static str,
    /// What it consists of.
    pub(crate) content: ImageContent,
}

/// What an image consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageContent {
    /// An interpreter, as a snapshot of its memory after startup.
    Interpreter,
    /// A compiler, and the library that its programs share.
    Toolchain,
}

/// All images, in the order in which they are shown.
pub const IMAGES: &[ImageKind] = &[
    ImageKind {
        name: "python",
        language: "python",
        content: ImageContent::Interpreter,
    },
    ImageKind {
        name: "python-scientific",
        language: "python",
        content: ImageContent::Interpreter,
    },
    ImageKind {
        name: "javascript",
        language: "javascript",
        content: ImageContent::Interpreter,
    },
    ImageKind {
        name: "cpp",
        language: "cpp",
        content: ImageContent::Toolchain,
    },
];

/// The image of this name.
#[must_use]
pub fn kind(name: &str) -> Option<&'static ImageKind> {
    IMAGES.iter().find(|kind| kind.name == name)
}
