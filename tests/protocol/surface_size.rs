//! What the list of tools costs a model on each surface, and what it may cost at most. The table is printed:
//! `cargo test -p trellis-tests --test protocol surface_size -- --nocapture`.

use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;
use trellis_tests::harness::Home;

const FAMILIES: [&str; 6] = ["trellis", "vibe", "todo", "vine", "vault", "board"];

/// What one surface shows.
#[derive(Debug)]
struct SurfaceSize {
    tools: usize,
    /// Of the `tools` array as compact JSON.
    bytes: usize,
    /// Of `[{name, description, inputSchema}]` as compact JSON, which is what hosts show to their models.
    tokens: usize,
    /// In bytes.
    instructions: usize,
}

impl SurfaceSize {
    fn of(home: &Home, flags: &[&str]) -> Self {
        let mut host = home.connect(flags);
        let opening = host.initialize("2025-11-25");
        let instructions = opening["instructions"].as_str().unwrap_or_else(|| panic!("instructions: {opening}")).len();
        let list = host.request("tools/list", json!({}));
        assert!(list.get("nextCursor").is_none(), "the whole list on one page");
        let tools = list["tools"].as_array().expect("tools");
        let read = |tool: &Value| {
            let fields = ["name", "description", "inputSchema"].map(|name| (name.to_owned(), tool[name].clone()));
            Value::Object(fields.into_iter().collect())
        };
        let read = Value::Array(tools.iter().map(read).collect()).to_string();
        let tokens = o200k_base_singleton().encode_ordinary(&read).len();
        Self { tools: tools.len(), bytes: list["tools"].to_string().len(), tokens, instructions }
    }
}

#[test]
fn every_surface_stays_within_its_bounds() {
    let home = Home::new();
    let alone = FAMILIES.map(|family| vec!["--only", family]);
    let beside = FAMILIES.map(|family| vec!["--families", family]);
    let surfaces = [vec![], vec!["--profile", "core"]].into_iter().chain(beside).chain(alone);
    println!("{:<34} {:>5} {:>7} {:>7} {:>7}", "surface", "tools", "bytes", "tokens", "instr.");
    for flags in surfaces {
        let whole = SurfaceSize::of(&home, &flags);
        let reading = SurfaceSize::of(&home, &[&flags[..], &["--read-only"]].concat());
        let name = if flags.is_empty() { "default".to_owned() } else { flags.join(" ") };
        for (name, size) in [(name.clone(), &whole), (format!("{name} --read-only"), &reading)] {
            let SurfaceSize { tools, bytes, tokens, instructions } = size;
            println!("{name:<34} {tools:>5} {bytes:>7} {tokens:>7} {instructions:>7}");
            assert!(*tools > 0, "{name}: {size:?}");
            assert!(*bytes <= 48 * 1024, "{name}: {size:?}");
            assert!(*instructions <= 2048, "{name}: {size:?}");
            if flags.contains(&"core") {
                assert!(*tools <= 16 && *tokens <= 2500, "{name}: {size:?}");
            }
        }
        assert!(reading.tokens <= whole.tokens && reading.tools <= whole.tools, "{name}: {reading:?}, {whole:?}");
    }
}
