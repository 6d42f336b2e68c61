//! Walks `web/` and writes a table of what is in it: path, bytes gzipped, tag, type.
//! There is no other step between those files and a browser.

use flate2::{Compression, write::GzEncoder};
use std::{env, error::Error, fs, io::Write, path::Path, path::PathBuf};

#[path = "src/kinds.rs"]
mod kinds;
#[path = "src/policy.rs"]
mod policy;

fn main() -> Result<(), Box<dyn Error>> {
    let web = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("web");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=web");
    let mut files = Vec::new();
    walk(&web, &mut files)?;
    files.sort();
    let mut table = String::from("&[\n");
    for file in files {
        let Some(kind) = kinds::of(&file) else {
            continue;
        };
        println!("cargo::rerun-if-changed={}", file.display());
        let bytes = fs::read(&file)?;
        let name = file.strip_prefix(&web)?.to_string_lossy().into_owned();
        let tag = policy::tag(&bytes);
        let packed = out.join(format!("{}.gz", name.replace('/', "+")));
        fs::write(&packed, gzipped(&bytes)?)?;
        // The page itself is at the root.
        let path = match name.as_str() {
            "index.html" => "/".to_owned(),
            name => format!("/{name}"),
        };
        table.push_str(&format!(
            "    File {{ path: {path:?}, kind: {kind:?}, tag: {tag:?}, gzipped: include_bytes!({packed:?}) }},\n"
        ));
    }
    table.push_str("]\n");
    fs::write(out.join("files.rs"), table)?;
    let page = fs::read_to_string(web.join("index.html"))?;
    fs::write(out.join("policy.txt"), policy::policy(&page))?;
    Ok(())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => walk(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

fn gzipped(bytes: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes)?;
    Ok(packer.finish()?)
}
