use proptest::prelude::*;
use serde_json::Value;

use super::*;

fn replaced(text: &str) -> Option<(String, Vec<String>)> {
    let replaced = replace(text.as_bytes(), "", |_| Treatment::Replace).unwrap()?;
    Some((String::from_utf8(replaced.text).unwrap(), replaced.pointers))
}

#[test]
fn replaces_lone_surrogates_and_keeps_pairs() {
    assert_eq!(replaced(r#"{"a":"\ud83d\ude00 \u00e9 \\ud800"}"#), None);
    let (text, pointers) =
        replaced(r#"{"a":["x","\ud83d"],"b/c":{"d":"\udE00\ud83d\ude00\uD83D"}}"#).unwrap();
    assert_eq!(
        text,
        r#"{"a":["x","\ufffd"],"b/c":{"d":"\ufffd\ud83d\ude00\ufffd"}}"#
    );
    assert_eq!(pointers, ["/a/1", "/b~1c/d"]);
    let (text, pointers) = replaced(r#"{"\ud800":"\ud800"}"#).unwrap();
    assert_eq!(
        (text.as_str(), pointers),
        (r#"{"\ufffd":"\ufffd"}"#, vec!["/\u{fffd}".to_owned()])
    );
}

#[test]
fn replaces_high_surrogates_before_other_escapes() {
    assert_eq!(
        replaced(r#""\ud800\n\udc00""#).unwrap().0,
        r#""\ufffd\n\ufffd""#
    );
    assert_eq!(
        replaced(r#""\ud800\ud800\udc00""#).unwrap().0,
        r#""\ufffd\ud800\udc00""#
    );
    assert_eq!(replaced(r#""\\\ud800""#).unwrap().0, r#""\\\ufffd""#);
}

#[test]
fn limits_the_number_of_warnings() {
    let text = format!("[{}]", vec![r#""\ud800""#; 100].join(","));
    let replaced = replace(text.as_bytes(), "", |_| Treatment::Replace)
        .unwrap()
        .unwrap();
    let warnings: Vec<_> = replaced.into_warnings().collect();
    assert_eq!(warnings.len(), MAX_WARNINGS + 1);
    assert!(warnings.last().unwrap().message.starts_with("80 further"));
}

#[test]
fn finds_the_pointer_of_an_offset() {
    let text = br#"{"a":[1,{"b":NaN}],"c":2}"#;
    assert_eq!(pointer_at(text, 13), "/a/1/b");
    assert_eq!(pointer_at(text, 6), "/a/0");
    assert_eq!(pointer_at(text, 0), "");
    assert_eq!(pointer_at(text, 1_000), "");
}

proptest! {
    #[test]
    fn replaced_texts_can_be_parsed(
        units in proptest::collection::vec(
            prop_oneof![0xd7f0..0xe010u16, any::<u16>()], 0..12,
        ),
    ) {
        let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let text = format!(r#"{{"k":["{escapes}"]}}"#);
        let read = serde_json::from_str::<Value>(&text).is_ok();
        let replaced = replaced(&text);
        prop_assert_eq!(read, replaced.is_none());
        if let Some((text, pointers)) = replaced {
            let value: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(value["k"][0].as_str().unwrap(), String::from_utf16_lossy(&units));
            prop_assert_eq!(pointers, vec!["/k/0".to_owned()]);
        }
    }

    #[test]
    fn terminates_on_any_bytes(bytes in proptest::collection::vec(
        prop_oneof![
            Just(b'"'), Just(b'\\'), Just(b'{'), Just(b'['), Just(b']'), Just(b','), Just(b'u'),
            Just(b'd'), any::<u8>(),
        ], 0..100,
    )) {
        let _ = replace(&bytes, "", |_| Treatment::Replace);
        let _ = pointer_at(&bytes, bytes.len() / 2);
    }
}
