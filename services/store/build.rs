//! `sqlx::migrate!` reads the folder of migrations at compile time; Cargo must rebuild the crate
//! when it changes.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations/sqlite");
}
