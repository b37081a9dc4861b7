//! Files of tools: all errors are reported at once, each with its place.

use openchatml_tools::config::Config;

/// The findings for a file.
fn said(text: &str) -> Vec<String> {
    match Config::parse(text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// Invalid files and their findings.
const WRONG: &str = include_str!("fixtures/wrong-tools.txt");

#[test]
fn all_errors_are_reported_with_their_places() {
    let mut count = 0;
    for case in WRONG.split("=====\n").skip(1) {
        let (text, expected) = case.split_once("-----\n").expect("a file and what is said of it");
        assert_eq!(said(text).join("\n"), expected.trim_end(), "{text}");
        count += 1;
    }
    assert!(count > 10, "{count}");
}

#[test]
fn places_of_errors_are_inside_the_file() {
    // Every prefix of a file, and every file with one byte removed, is read without a panic.
    let text = "[router]\nat_once = 4\n[tools.\"é\"]\ncommand = 'a'\nenv = { A = \"${B}\" }\n";
    for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
        let rest = text[at..].chars().next().map_or(0, char::len_utf8);
        for text in [text[..at].to_owned(), format!("{}{}", &text[..at], &text[at + rest..])] {
            for error in Config::parse(&text).err().unwrap_or_default() {
                assert!(error.span.start <= error.span.end && error.span.end <= text.len());
                assert!(error.line >= 1 && error.column >= 1);
            }
        }
    }
}

#[test]
fn the_files_of_the_guide_are_valid() {
    let guide = include_str!("../../../docs/guide/tools.md");
    let files: Vec<_> = guide.split("```toml\n").skip(1).collect();
    assert!(files.len() >= 6);
    for file in files {
        let text = file.split("```").next().unwrap_or_default();
        assert_eq!(said(text), [""; 0], "{text}");
    }
}

#[cfg(all(unix, feature = "process"))]
mod open {
    use openchatml::{Code, Value};
    use openchatml_tools::{Call, Toolbox};

    use super::{Config, said};

    async fn open(text: &str, base: &std::path::Path) -> Result<Toolbox, Vec<String>> {
        assert_eq!(said(text), [""; 0]);
        let opened = Config::parse(text).expect("it was checked").open(base).await;
        opened.map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[tokio::test]
    async fn programs_follow_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("schema.json"), r#"{"type":"object"}"#).unwrap();
        std::fs::create_dir(folder.path().join("data")).unwrap();
        std::fs::write(folder.path().join("data/script"), "echo \"[$A,$HOME,$(pwd)]\"").unwrap();
        let text = r#"
            [tools.b]
            command = "sh"
            args = ["script"]
            cwd = "data"
            env = { A = "a$$${CARGO_PKG_NAME}" }
            inherit = []
            result = "json-or-text"
            description = "Says it."
            parameters = "schema.json"
            idempotent = true
            timeout_ms = 50
            [tools."mail.a"]
            command = "/bin/sh"
            args = ["-c", "echo 12"]
            output_bytes = 2
            parameters = { type = "object", properties = { b = { minimum = 0x10 }, a = { maximum = 1.5 } } }
        "#;
        let tools = open(text, folder.path()).await.unwrap();
        let names: Vec<_> = tools.iter().map(|it| it.0).collect();
        assert_eq!(names, ["functions.b", "mail.a"]);
        let entry = tools.get("functions.b").unwrap();
        assert_eq!(entry.description.as_deref(), Some("Says it."));
        assert_eq!(
            entry.parameters.as_ref().map(Value::to_json).as_deref(),
            Some(r#"{"type":"object"}"#)
        );
        assert_eq!((entry.is_idempotent, entry.timeout.map(|it| it.as_millis())), (true, Some(50)));
        let output = entry.tool.call(&Call::new("functions.b", "c1", "{}")).await.unwrap();
        let data = folder.path().canonicalize().unwrap().join("data");
        let expected = format!("[a$openchatml-tools,,{}]\n", data.display());
        assert_eq!(output.content.as_str(), Some(&*expected));
        let entry = tools.get("mail.a").unwrap();
        let schema = r#"{"type":"object","properties":{"b":{"minimum":16},"a":{"maximum":1.5}}}"#;
        assert_eq!(entry.parameters.as_ref().map(Value::to_json).as_deref(), Some(schema));
        let failure = entry.tool.call(&Call::new("mail.a", "c1", "{}")).await.unwrap_err();
        assert_eq!(failure.code, Code::ToolOutput);
    }

    #[tokio::test]
    async fn sections_that_cannot_be_opened_are_reported_with_their_places() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("bad.json"), "{").unwrap();
        std::fs::write(folder.path().join("wrong.json"), r#"{"type":"strnig"}"#).unwrap();
        let text = r#"
[tools.a]
command = "x"
env = { A = "${OPENCHATML_NOT_SET}" }
[tools.b]
command = "x"
parameters = "bad.json"
[tools.c]
command = "x"
parameters = "none.json"
[tools."no name"]
command = "x"
[tools."functions.d"]
command = "x"
[tools.d]
command = "x"
[tools.e]
command = "x"
parameters = { type = "object", required = "n" }
[tools.f]
command = "x"
parameters = "wrong.json"
"#;
        let errors = open(text, folder.path()).await.unwrap_err();
        let expected = [
            "line 4, column 13: `tools.a.env.A`: variable `OPENCHATML_NOT_SET` is not set",
            "line 7, column 14: `tools.b.parameters`: the file is not JSON:",
            "line 10, column 14: `tools.c.parameters`: cannot read `none.json`:",
            "line 11, column 1: `tools.\"no name\"`: `functions.no name` cannot be written as a recipient",
            "line 15, column 1: `tools.d`: `functions.d` is the name of another tool",
            "line 19, column 14: `tools.e.parameters`: not a valid JSON Schema: ",
            "line 22, column 14: `tools.f.parameters`: not a valid JSON Schema: ",
        ];
        assert_eq!(errors.len(), expected.len(), "{errors:#?}");
        for (error, expected) in errors.iter().zip(expected) {
            assert!(error.starts_with(expected), "{error}");
        }
    }

    /// A server with three tools, a resource and a prompt.
    #[cfg(feature = "mcp")]
    fn server() -> String {
        let cases = r#"
    *'"tools/list"'*) result='{"tools":[{"name":"read/file","inputSchema":{"type":"object"}},{"name":"read/secret","inputSchema":{"type":"object"}},{"name":"list","inputSchema":{"type":"object"}}]}' ;;
    *'"resources/list"'*) result='{"resources":[{"uri":"file:///a","name":"a"}]}' ;;
    *'"resources/templates/list"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"none"}}\n' "$id"; continue ;;
    *'"prompts/list"'*) result='{"prompts":[{"name":"review"}]}' ;;"#;
        openchatml_testkit::shell::mcp_server(r#""tools":{},"resources":{},"prompts":{}"#, cases)
    }

    #[cfg(feature = "mcp")]
    #[tokio::test]
    async fn tools_of_servers_are_selected_by_names_and_patterns() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("server"), server()).unwrap();
        let text = |rest: &str| format!("[mcp.a]\ncommand = 'sh'\nargs = ['server']\n{rest}");
        for (rest, expected) in [
            ("", &["read_file", "read_secret", "list"][..]),
            ("tools = ['list', 'read_file']", &["read_file", "list"]),
            ("tools = ['read_*']", &["read_file", "read_secret"]),
            ("exclude_tools = ['*_secret']", &["read_file", "list"]),
            ("tools = ['read_*']\nexclude_tools = ['read_s?cret']", &["read_file"]),
            ("tools = []", &[]),
        ] {
            let opened = open(&text(rest), folder.path()).await;
            if expected.is_empty() {
                let error = opened.unwrap_err();
                let none =
                    "line 4, column 9: `mcp.a.tools`: the server has no tool left after filtering";
                assert_eq!(error, [none]);
                continue;
            }
            let tools = opened.unwrap();
            let names: Vec<_> =
                tools.iter().map(|it| it.0.trim_start_matches("functions.")).collect();
            assert_eq!(names, expected, "{rest}");
        }
    }

    #[cfg(feature = "mcp")]
    #[tokio::test]
    async fn a_pattern_without_a_match_is_reported_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("server"), server()).unwrap();
        let text = "[mcp.a]\ncommand = 'sh'\nargs = ['server']\ntools = [\n  'list',\n  'lst',\n]\nexclude_tools = ['write_*', 'list']\n";
        let errors = open(text, folder.path()).await.unwrap_err();
        let expected = [
            "line 6, column 3: `mcp.a.tools`: the server has no tool `lst`",
            "line 8, column 18: `mcp.a.exclude_tools`: no tool of the server matches `write_*`",
        ];
        assert_eq!(errors, expected);
    }

    #[cfg(feature = "mcp")]
    #[tokio::test]
    async fn sections_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("server"), server()).unwrap();
        let text = "[mcp.a]\ncommand = 'sh'\nargs = ['server']\ntools = ['list']\n[tools.echo]\ncommand = 'cat'\n";
        let listings = Config::parse(text).unwrap().listings(folder.path()).await.unwrap();
        let sections: Vec<_> = listings.iter().map(|it| it.section.as_str()).collect();
        assert_eq!(sections, ["tools.echo", "mcp.a"]);
        assert_eq!(listings[1].tools[0].0, "functions.list");
        assert_eq!(listings[1].resources[0].uri, "file:///a");
        assert_eq!(listings[1].prompts[0].name, "review");
        assert!(listings[0].resources.is_empty());
        // The server does not implement the list of templates, which is optional.
        assert!(listings[1].resource_templates.is_empty() && listings[1].unlisted.is_empty());
    }

    #[cfg(feature = "mcp")]
    #[tokio::test]
    async fn tools_whose_names_clash_can_be_excluded() {
        let folder = tempfile::tempdir().unwrap();
        let changed = server().replace(
            r#""name":"list""#,
            r#""name":"a.b","inputSchema":{"type":"object"}},{"name":"a_b""#,
        );
        assert_ne!(changed, server());
        std::fs::write(folder.path().join("server"), changed).unwrap();
        let text = "[mcp.a]\ncommand = 'sh'\nargs = ['server']\n";
        let errors = open(text, folder.path()).await.unwrap_err();
        let clash = "line 1, column 1: `mcp.a`: the server has two tools with the name `a_b` for models: exclude one with `exclude_tools`";
        assert_eq!(errors, [clash]);
        let text = format!("{text}exclude_tools = ['a_b']\n");
        let tools = open(&text, folder.path()).await.unwrap();
        assert!(tools.iter().count() > 0 && tools.get("functions.a_b").is_none());
    }

    #[cfg(feature = "mcp")]
    #[tokio::test]
    async fn errors_do_not_contain_variables() {
        let folder = tempfile::tempdir().unwrap();
        // An existing variable in the path of a URL and in the environment of a program.
        let path = std::env::var("CARGO_MANIFEST_DIR").unwrap();
        let error = r#"read -r line; echo '{"jsonrpc":"2.0","id":0,"error":{"code":-1,"message":"'"$KEY"'"}}'; read -r line"#;
        std::fs::write(folder.path().join("server"), error).unwrap();
        let text = "[mcp.a]\ncommand = 'sh'\nargs = ['server']\nenv = { KEY = 'x ${CARGO_MANIFEST_DIR}' }\n";
        let errors = open(text, folder.path()).await.unwrap_err();
        assert!(errors[0].contains("with the error -1: x [secret]"), "{errors:?}");
        assert!(!errors[0].contains(&path));
    }

    #[cfg(feature = "browser")]
    #[tokio::test]
    async fn a_browser_uses_the_search_engine_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("pages")).unwrap();
        std::fs::write(folder.path().join("pages/cats.md"), "cats purr").unwrap();
        let text = "[browser]\nhosts = ['a.example']\nindex = 'pages'\ntimeout_ms = 9\n";
        let tools = open(text, folder.path()).await.unwrap();
        let names: Vec<_> = tools.iter().map(|it| it.0).collect();
        assert_eq!(names, ["browser.search", "browser.open", "browser.find"]);
        let search = tools.get("browser.search").unwrap();
        assert_eq!(search.timeout.map(|it| it.as_millis()), Some(9));
        let call = Call::new("browser.search", "c1", r#"{"query":"purr"}"#);
        let found = search.tool.call(&call).await.unwrap();
        assert!(found.content.as_str().unwrap().contains("【0†cats.md】"));
        let errors = open("[browser]\nindex = 'none'\n", folder.path()).await.unwrap_err();
        assert!(errors[0].starts_with("line 1, column 1: `browser`:"), "{errors:?}");
    }

    #[cfg(feature = "python")]
    #[tokio::test]
    async fn an_interpreter_is_kept_unless_the_file_says_otherwise() {
        let is_required = std::env::var("OPENCHATML_SANDBOX").is_ok_and(|it| it == "required");
        let folder = tempfile::tempdir().unwrap();
        for (text, is_kept) in
            [("", true), ("stateless = false\n", true), ("stateless = true\n", false)]
        {
            let tools = match open(&format!("[python]\n{text}"), folder.path()).await {
                Ok(tools) => tools,
                Err(errors) if is_required => panic!("{errors:?}"),
                Err(errors) => {
                    openchatml_testkit::external_files::say_skipped("python", &errors.concat());
                    return;
                }
            };
            let python = &tools.get("python").unwrap().tool;
            let [set, get] = ["x = 1", "x"].map(|code| Call::new("python", "c1", code));
            python.call(&set).await.unwrap();
            let said = python.call(&get).await.unwrap();
            assert_eq!(said.content.as_str() == Some("1\n"), is_kept, "{text}");
        }
        let errors = open("[python]\nmemory_bytes = 4096\n", folder.path()).await.unwrap_err();
        assert!(errors[0].starts_with("line 1, column 1: `python`:"), "{errors:?}");
        assert!(errors[0].contains("within its limits: 4096 bytes of memory"), "{errors:?}");
    }

    #[cfg(feature = "http")]
    #[tokio::test]
    async fn only_named_operations_are_tools() {
        let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
        let text = |operations: &str| {
            format!(
                "[openapi.pets]\ndocument = 'pets.yaml'\nprefix = 'p_'\ntimeout_ms = 7\noperations = {operations}\n"
            )
        };
        let tools = open(&text("['pet', 'remove']"), &fixtures).await.unwrap();
        let names: Vec<_> = tools.iter().map(|it| it.0).collect();
        assert_eq!(names, ["functions.p_pet", "functions.p_remove"]);
        assert_eq!(tools.get("functions.p_pet").unwrap().timeout.map(|it| it.as_millis()), Some(7));
        let error = open(&text("['pet', 'upload']"), &fixtures).await.unwrap_err();
        let expected = "line 5, column 14: `openapi.pets.operations`: operation `upload`: a body that is not JSON";
        assert_eq!(error, [expected]);
        let error = open(&text("['cat']"), &fixtures).await.unwrap_err();
        assert!(
            error[0].contains("operation `cat`: it does not exist in the document"),
            "{error:?}"
        );
    }
}
