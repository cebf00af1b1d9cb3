//! Lists the files of the migrations, so that the binary contains them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

type Error = Box<dyn std::error::Error>;

#[expect(
    clippy::disallowed_methods,
    reason = "Cargo passes folders in the environment"
)]
fn main() -> Result<(), Error> {
    let migrations = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../migrations");
    let output = PathBuf::from(env::var("OUT_DIR")?);
    for database in ["sqlite", "postgres"] {
        let folder = migrations.join(database);
        println!("cargo::rerun-if-changed={}", folder.display());
        fs::write(output.join(format!("{database}.rs")), list(&folder)?)?;
    }
    Ok(())
}

/// The source of a slice with version, description and text of each migration, in order.
fn list(folder: &Path) -> Result<String, Error> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    files.sort();
    let mut list = "&[\n".to_owned();
    for file in files {
        let name = file.file_stem().and_then(|name| name.to_str());
        let (version, description) = name
            .and_then(|name| name.split_once('_'))
            .ok_or_else(|| format!("`{}` is not named VERSION_DESCRIPTION.sql", file.display()))?;
        let version: i64 = version.parse()?;
        let description = description.replace('_', " ");
        let path = file.canonicalize()?;
        writeln!(
            list,
            "    ({version}, {description:?}, include_str!({path:?})),"
        )?;
    }
    list.push_str("]\n");
    Ok(list)
}
