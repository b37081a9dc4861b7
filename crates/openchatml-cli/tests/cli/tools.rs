//! `ocml tools`: the tools of a `tools.toml`.

#![cfg(unix)]

use serde_json::{Value, json};

use openchatml_testkit::shell::mcp_server;

use crate::support::Folder;

/// A server whose texts contain control sequences for terminals.
fn server() -> String {
    let cases = r#"
    *'"tools/list"'*) result='{"tools":[{"name":"read","description":"Reads.\u001b[2J\u009b1m\nAll.\u202e\u2028\udb40\udc41","inputSchema":{"type":"object","maxProperties":100000000000000000000}}]}' ;;
    *'"resources/list"'*) result='{"resources":[{"uri":"file:///a\u0007","name":"a","mimeType":"text/plain","description":"A file."}]}' ;;
    *'"resources/templates/list"'*) result='{"resourceTemplates":[{"uriTemplate":"file:///{path}\u0007","name":"any","mimeType":"text/plain","description":"Any file."}]}' ;;
    *'"prompts/list"'*) result='{"prompts":[{"name":"review","description":"Reviews.","arguments":[{"name":"code","required":true},{"name":"style"}]}]}' ;;"#;
    mcp_server(r#""tools":{},"resources":{},"prompts":{}"#, cases)
}

const TOOLS: &str = "\
[tools.echo]
command = 'cat'
idempotent = true

[mcp.files]
command = 'sh'
args = ['server']
prefix = 'files_'
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("server", server());
    folder.file("tools.toml", TOOLS);
    folder
}

#[test]
fn sections_are_listed_and_texts_of_servers_are_escaped() {
    let listed = folder().ocml(["tools", "tools.toml"]).silent().stdout;
    let expected = "\
tools.echo
  functions.echo
mcp.files
  functions.files_read
    Reads.␛[2J\u{fffd}1m␊All.\u{fffd}\u{fffd}\u{fffd}
  resource file:///a␇: a, text/plain
    A file.
  resources file:///{path}␇: any, text/plain
    Any file.
  prompt review(code, [style])
    Reviews.
";
    assert_eq!(listed, expected);
}

#[test]
fn sections_are_json_lines() {
    let listed = folder().ocml(["tools", "--json", "tools.toml"]).silent().stdout;
    let is_invisible =
        |c: char| c.is_control() && c != '\n' || matches!(c, '\u{2028}' | '\u{202e}');
    assert!(!listed.chars().any(is_invisible), "{listed:?}");
    // Numbers keep their digits.
    assert!(listed.contains(r#""maxProperties":100000000000000000000"#), "{listed}");
    let lines: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    let echo = json!({"name": "functions.echo", "description": null, "parameters": null,
        "idempotent": true});
    assert_eq!(
        lines[0],
        json!({"section": "tools.echo", "tools": [echo], "resources": [],
        "resource_templates": [], "prompts": []})
    );
    let files = &lines[1];
    assert_eq!(
        files["tools"][0]["description"],
        "Reads.\u{1b}[2J\u{9b}1m\nAll.\u{202e}\u{2028}\u{e0041}"
    );
    assert_eq!(
        files["resources"],
        json!([{"uri": "file:///a\u{7}", "name": "a", "title": null,
        "description": "A file.", "mime_type": "text/plain", "size": null}])
    );
    assert_eq!(
        files["resource_templates"],
        json!([{"uri_template": "file:///{path}\u{7}", "name": "any", "title": null,
        "description": "Any file.", "mime_type": "text/plain"}])
    );
    let argument = |name: &str, required: bool| json!({"name": name, "description": null, "required": required});
    assert_eq!(
        files["prompts"],
        json!([{"name": "review", "title": null,
        "description": "Reviews.",
        "arguments": [argument("code", true), argument("style", false)]}])
    );
}

#[test]
fn sections_that_cannot_be_opened_are_reported_with_their_places() {
    let folder = folder();
    folder.file("tools.toml", format!("{TOOLS}exclude_tools = ['write']\n"));
    let ran = folder.ocml(["tools", "tools.toml"]).exits(1);
    assert_eq!(ran.stdout, "");
    let ran = ran.says("the server has no tool `write`").says("tools.toml:9:18");
    ran.says("invalid tools in `tools.toml`");
}

#[test]
fn tools_are_listed_even_if_resources_fail() {
    let folder = folder();
    let answer = r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"No.\\nNever."}}\n' "$id"; continue"#;
    let server = server().replace(
        "*'\"resources/list\"'*)",
        &format!("*'\"resources/list\"'*) {answer} ;; *none*)"),
    );
    folder.file("server", server);
    let ran = folder.ocml(["tools", "tools.toml"]).exits(1);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(
        lines[..4],
        ["tools.echo", "  functions.echo", "mcp.files", "  functions.files_read"]
    );
    assert!(ran.stdout.contains("prompt review") && !ran.stdout.contains("resource "));
    assert!(ran.stdout.contains("resources file:///{path}"), "{ran:?}");
    ran.says(
        "warning: in `tools.toml`, line 5, column 1: `mcp.files`: its resources: the server cannot be used: \
         it answers `resources/list` with the error -32601: No.\\nNever.\n",
    );
}
