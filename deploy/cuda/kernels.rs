//! Build script for `candle-kernels`: compiles the PTX of every module, but no library. Kernels for
//! GGUF formats and mixtures of experts are omitted; a program that calls them does not link.

use std::{env, path::Path};

/// Sources of the omitted library.
const LIBRARY: &[&str] = &["moe_*.cu", "mmvq_gguf.cu", "mmq_*.cu"];

fn main() -> cudaforge::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src");
    let table = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("ptx.rs");
    let kernels = cudaforge::KernelBuilder::new()
        .source_dir("src")
        .exclude(LIBRARY);
    let arguments = ["--expt-relaxed-constexpr", "-std=c++17", "-O3", "-w"];
    kernels.args(arguments).build_ptx()?.write(&table)?;
    Ok(())
}
