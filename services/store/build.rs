//! Owns one line: `sqlx::migrate!` reads the folder of migrations while compiling, which Cargo
//! cannot see.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations/sqlite");
}
