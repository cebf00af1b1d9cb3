//! Build script for `candle-kernels`: the PTX of every module, and no library. Kernels for GGUF's
//! formats and for mixtures of experts are left out; a program that calls them does not link.

use std::{env, path::Path};

/// Sources of the library that is left out.
const LIBRARY: &[&str] = &["moe_*.cu", "mmvq_gguf.cu", "mmq_*.cu"];

fn main() -> cudaforge::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src");
    let table = Path::new(&env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("ptx.rs");
    let kernels = cudaforge::KernelBuilder::new().source_dir("src").exclude(LIBRARY);
    kernels.args(["--expt-relaxed-constexpr", "-std=c++17", "-O3", "-w"]).build_ptx()?.write(&table)?;
    Ok(())
}
