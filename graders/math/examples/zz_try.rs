#![allow(missing_docs)]
use assay_core::{Item, Task};
fn main() {
    let mut line = String::new();
    while std::io::stdin().read_line(&mut line).unwrap() > 0 {
        let row: serde_json::Value = serde_json::from_str(&line).unwrap();
        line.clear();
        let task = Task::from_json(&row["task"].to_string()).unwrap();
        println!("== {}", row["completion"]);
        println!(
            "{}",
            assay_math::explain(&task, &Item::text(row["completion"].as_str().unwrap())).unwrap()
        );
    }
}
