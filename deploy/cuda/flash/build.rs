//! Build script for `candle-flash-attn`: links the kernels that `flash.py` compiled into the folder
//! of the crate.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR");
    let libraries = env::var("CUDA_HOME").expect("cargo.py sets CUDA_HOME");
    println!("cargo::rustc-link-search=native={folder}");
    println!("cargo::rustc-link-search=native={libraries}/lib");
    println!("cargo::rustc-link-lib=static=flashattention");
    // The static library opens the driver when it is first called, so the binary starts without.
    println!("cargo::rustc-link-lib=static:-bundle=cudart_static");
    for library in ["dl", "rt", "pthread", "stdc++"] {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
}
