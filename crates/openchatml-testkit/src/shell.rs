//! Servers of the Model Context Protocol as scripts for `sh`.

/// Returns a server that answers requests over its input and output, one per line.
///
/// `capabilities` are the declared capabilities, such as `"tools":{}`. `cases` are branches of a
/// `case` over the request, such as `*'"tools/list"'*) result='{"tools":[]}' ;;`. Each branch sets
/// `result`, or skips the response with `continue`. `$id` is the id of the request.
pub fn mcp_server(capabilities: &str, cases: &str) -> String {
    format!(
        r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"initialize"'*) result='{{"protocolVersion":"2025-06-18","capabilities":{{{capabilities}}},"serverInfo":{{"name":"sh","version":"1"}}}}' ;;
{cases}
    *) continue ;;
    esac
    printf '{{"jsonrpc":"2.0","id":%s,"result":%s}}\n' "$id" "$result"
done
"#
    )
}
