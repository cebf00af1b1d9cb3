//! JSON pointers (RFC 6901) as text.

use serde_path_to_error::Segment;

/// A key as a segment of a pointer (RFC 6901, section 3).
#[must_use]
pub fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The key that a segment of a pointer stands for.
#[must_use]
pub fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// The pointer to the member `key` of the object at `pointer`.
#[must_use]
pub fn member(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", escaped(key))
}

/// The path of an error as a pointer.
#[must_use]
pub fn json_pointer(path: &serde_path_to_error::Path) -> String {
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => member("", key),
        Segment::Enum { .. } | Segment::Unknown => String::new(),
    };
    path.iter().map(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_escaped_and_unescaped() {
        assert_eq!(member("/a", "b/c~d"), "/a/b~1c~0d");
        for key in ["", "a", "~1", "~01", "/~0~", "é"] {
            assert_eq!(unescaped(&escaped(key)), key);
        }
    }
}
