// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd-see`: makes a page that shows a dispatch on each chip, from traces of runs.

mod kinds;
mod layouts;
mod page;
mod scene;
mod sources;
mod step;

use anyhow::{bail, Context, Result};
use clap::Parser;
use layouts::Sources;
use rkfd_trace::{device, driver};
use serde_json::{json, Map, Value};
use sources::Tree;
use std::path::{Path, PathBuf};

/// Makes one page, without network, of a dispatch on each chip.
#[derive(Parser)]
#[command(version, about)]
struct Args {
    /// A chip, mi308x or navi48, and the folder with its traces, trace.jsonl and driver.txt.
    #[arg(long, value_name = "CHIP=FOLDER", required = true)]
    chip: Vec<String>,
    /// This project's sources, of which the page names lines.
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    source: PathBuf,
    /// Linux' sources.
    #[arg(long, value_name = "FOLDER")]
    linux: PathBuf,
    /// The folder in which hsa/hsa.h lies.
    #[arg(long, value_name = "FOLDER")]
    hsa: PathBuf,
    /// The page.
    #[arg(long, value_name = "FILE.html")]
    out: PathBuf,
}

/// What a chip is called, and what tells it from others.
struct Chip {
    name: &'static str,
    title: &'static str,
    scheduler: &'static str,
    gfx: &'static str,
    is_gfx12: bool,
}

const CHIPS: [Chip; 2] = [
    Chip {
        name: "mi308x",
        title: "MI308X",
        scheduler: "CPSCH",
        gfx: "gfx942",
        is_gfx12: false,
    },
    Chip {
        name: "navi48",
        title: "Navi 48",
        scheduler: "MES",
        gfx: "gfx1201",
        is_gfx12: true,
    },
];

fn read(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn main() -> Result<()> {
    let args = Args::parse();
    let sources = Sources {
        ours: Tree::new(args.source),
        linux: Tree::new(args.linux),
        hsa: Tree::new(args.hsa),
    };
    let (mut chips, mut layouts, mut used) = (Vec::new(), Map::new(), Vec::new());
    let mut pool = step::Pool::default();
    for given in &args.chip {
        let (name, folder) = given.split_once('=').context("--chip needs CHIP=FOLDER")?;
        let Some(chip) = CHIPS.iter().find(|chip| chip.name == name) else {
            bail!("there is no chip {name}");
        };
        let folder = Path::new(folder);
        let device = device::parse(&read(&folder.join("trace.jsonl"))?)?;
        let driver = driver::parse(&read(&folder.join("driver.txt"))?);
        let scenes = scene::all(&device, &driver, chip.is_gfx12)?;
        for step in scenes.iter().flat_map(scene::Scene::steps) {
            let kind = kinds::find(step.kind).context(step.kind)?;
            if !used.iter().any(|k: &&kinds::Kind| k.key == kind.key) {
                used.push(kind);
            }
            let layout = step.layout.as_deref().filter(|l| !layouts.contains_key(*l));
            if let Some(layout) = layout {
                let described = layouts::describe(layout, &sources)?;
                layouts.insert(layout.into(), described.unwrap_or(Value::Null));
            }
        }
        let scenes: Vec<Value> = scenes.iter().map(|s| s.json(&mut pool)).collect();
        chips.push(
            json!({"name": chip.name, "title": chip.title, "scheduler": chip.scheduler,
                          "gfx": chip.gfx, "scenes": scenes}),
        );
    }
    let data = json!({
        "chips": chips, "layouts": layouts, "kinds": kinds::describe(&used, &sources)?,
        "entry": layouts::entry_bits(&sources)?, "pool": pool.json(),
    });
    std::fs::write(&args.out, page::assemble(&data))
        .with_context(|| args.out.display().to_string())?;
    println!("{}", args.out.display());
    Ok(())
}
