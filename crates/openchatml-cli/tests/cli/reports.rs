//! Machine-readable findings.

use crate::support::{BAD, Folder, GOOD, json, ocml_with};

#[test]
fn json_has_one_object_per_line() {
    let ran = ocml_with(["check", "--output-format", "json"], BAD).exits(1);
    assert_eq!(ran.stderr, "");
    let found: Vec<_> = ran.stdout.lines().map(json).collect();
    assert_eq!(found.len(), 3);
    for found in &found {
        assert_eq!(found["file"], "<stdin>");
        assert_eq!(found["severity"], "error");
        for (key, value) in found.as_object().unwrap() {
            let is_known = match key.as_str() {
                "file" | "code" | "severity" | "message" | "help" => value.is_string(),
                "summary" => {
                    let code: openchatml::Code = found["code"].as_str().unwrap().parse().unwrap();
                    *value == code.user_summary()
                }
                "line" | "column" => value.is_u64(),
                "span" => value["start"].is_u64() && value["end"].is_u64(),
                "fix" => value["span"]["start"].is_u64() && value["replacement"].is_string(),
                _ => false,
            };
            assert!(is_known, "{key}: {value}");
        }
    }
    let truncated = found.iter().find(|found| found["code"] == "E-STREAM-TRUNCATED").unwrap();
    assert_eq!(truncated["summary"], "The answer was cut off.");
    assert_eq!(truncated["fix"]["replacement"], "<|end|>");
    assert_eq!(truncated["span"]["start"], BAD.len());
    assert_eq!((&truncated["line"], &truncated["column"]), (&7.into(), &1.into()));
}

#[test]
fn json_input_has_pointers() {
    let input = r#"{"messages":[{"role":"nobody","content":"Hi."}]}"#;
    let ran = ocml_with(["check", "--output-format", "json"], input).exits(1);
    let found = json(ran.stdout.lines().next().unwrap());
    assert_eq!(found["pointer"], "/messages/0/role");
    assert_eq!(found["code"], "E-PARSE-JSON");
}

#[test]
fn notes_do_not_change_the_status() {
    let text = "version: 2.2\n\n\
        <|start|>assistant to=functions.f call_id=c<|channel|>commentary<|message|>{}<|call|>\n\
        <|start|>functions.f call_id=c to=assistant<|channel|>commentary<|message|>\
        {\"ok\":true,\"content\":1}<|end|>\n";
    let ran = ocml_with(["check", "--output-format", "json", "--deny-warnings"], text).exits(0);
    let found = json(&ran.stdout);
    assert_eq!((&found["code"], &found["severity"]), (&"W-LEGACY-ROLE".into(), &"note".into()));
}

#[test]
fn sarif_reports_are_valid_json() {
    let folder = Folder::new();
    folder.file("a b.txt", BAD);
    folder.file("good.txt", GOOD);
    folder.file("c.jsonl", format!("{}\n1\n2\n", serde_json::to_string(GOOD).unwrap()));
    let args = ["check", "--output-format", "sarif", "a b.txt", "good.txt", "c.jsonl"];
    let sarif = json(&folder.ocml(args).exits(1).stdout);
    assert_eq!(sarif["version"], "2.1.0");
    let run = &sarif["runs"][0];
    assert_eq!(run["columnKind"], "unicodeCodePoints");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), openchatml::Code::ALL.len());
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 5);
    for result in results {
        let rule = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[rule]["id"], result["ruleId"]);
        assert_eq!(result["level"], "error");
        assert_eq!(rules[rule]["properties"]["summary"], result["properties"]["summary"]);
        assert!(result["properties"]["summary"].is_string());
        assert!(result["message"]["text"].is_string());
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert!(region["startLine"].as_u64().unwrap() > 0);
        assert!(region["endColumn"].as_u64().unwrap() > 0);
    }
    let place = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b.txt");
    let fix = results.iter().find(|result| result.get("fixes").is_some()).unwrap();
    let replacement = &fix["fixes"][0]["artifactChanges"][0]["replacements"][0];
    assert_eq!(replacement["insertedContent"]["text"], "<|end|>");
}

#[test]
fn sarif_without_diagnostics_is_valid_json() {
    let sarif = json(&ocml_with(["check", "--output-format", "sarif"], GOOD).silent().stdout);
    assert_eq!(sarif["runs"][0]["results"], serde_json::json!([]));
}

#[test]
fn github_commands_are_escaped() {
    let folder = Folder::new();
    folder.file("a,b:100%.txt", BAD);
    let ran = folder.ocml(["check", "--output-format", "github", "a,b:100%.txt"]).exits(1);
    assert_eq!(ran.stdout.lines().count(), 3);
    for line in ran.stdout.lines() {
        let place = "::error file=a%2Cb%3A100%25.txt,line=";
        assert!(line.starts_with(place), "{line}");
        assert_eq!(line.matches("::").count(), 2, "{line}");
    }
    assert!(ran.stdout.contains(",title=E-PARSE-HEADER::unknown channel `finl`%0Ahelp: "));
}
