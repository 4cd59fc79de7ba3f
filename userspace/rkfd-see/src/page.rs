// SPDX-License-Identifier: MIT OR Apache-2.0

//! The page: one file with its style, its scripts and its data.

use serde_json::Value;

const FRAME: &str = include_str!("../page/page.html");
const STYLE: &str = include_str!("../page/style.css");
const SCRIPTS: [&str; 6] = [
    include_str!("../page/decode.js"),
    include_str!("../page/model.js"),
    include_str!("../page/diagram.js"),
    include_str!("../page/bytes.js"),
    include_str!("../page/state.js"),
    include_str!("../page/main.js"),
];

/// The whole file.
pub fn assemble(data: &Value) -> String {
    // In a script's text only `</` could end it.
    let data = data.to_string().replace("</", "<\\/");
    FRAME
        .replace("/*STYLE*/", STYLE)
        .replace("/*SCRIPTS*/", &SCRIPTS.concat())
        .replace("/*DATA*/", &data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_page_loads_nothing_and_data_cannot_end_its_script() {
        let page = assemble(&json!({"text": "</script><b>"}));
        assert!(page.contains(r#"{"text":"<\/script><b>"}"#));
        // These name a namespace, and a mark within the page.
        let own = ["http://www.w3.org/2000/svg", "url(#tip)"];
        let page = own.iter().fold(page, |page, own| page.replace(own, ""));
        for what in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(what), "{what}");
        }
    }
}
