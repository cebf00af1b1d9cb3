use assay_templates::{NAMES, Row, Template};
use serde_json::Value;
#[test]
fn show() {
    for name in NAMES {
        let t = Template::named(name).unwrap();
        let v: Value = serde_json::from_str(&std::fs::read_to_string(format!("../../tests/templates/{name}.json")).unwrap()).unwrap();
        let mut rows = vec![];
        if v.get("row").is_some_and(|r| !r.is_null()) { rows.push(v["row"].clone()); }
        for m in v.get("more").and_then(Value::as_array).into_iter().flatten() { rows.push(m["row"].clone()); }
        for r in rows {
            let row: Row = r.as_object().unwrap().clone();
            match t.task(&row) { Ok(t) => println!("OK {name}: {} {:.900}", t.body.get().len(), t.body.get()), Err(e) => println!("BAD {name}: {e}") }
            println!("   prompt {:?}", t.prompt(&row).map(|p| p.map(|p| p.to_string().chars().take(300).collect::<String>())));
        }
        let mut bad = vec![(v["broken"].clone(), v["error"].clone())];
        for m in v.get("refused").and_then(Value::as_array).into_iter().flatten() { bad.push((m["row"].clone(), m["error"].clone())); }
        for (r, e) in bad {
            match t.task(r.as_object().unwrap()) { Ok(t) => println!("BAD made {name} {t:?}"),
              Err(g) => { let g = g.to_string(); if !g.contains(e.as_str().unwrap()) { println!("BAD {name}: {g} / {e}") } } }
        }
    }
}
