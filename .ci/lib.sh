# What the scripts of this folder share. Each of them begins with `. .ci/lib.sh`, in the root.
# shellcheck shell=bash

# Everything is built once and thrown away: no state to build on, and no more of debugging
# information than backtraces need.
export CARGO_INCREMENTAL=0
export CARGO_PROFILE_DEV_DEBUG=line-tables-only CARGO_PROFILE_TEST_DEBUG=line-tables-only

# With the minutes since the first step began.
step() { printf '\n== %s (%d:%02d)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }

# as_tests COMMAND...: runs cargo so that everything is built once, as `test` builds it: quick
# enough for large inputs, and counting lines.
as_tests() {
    RUSTC_WORKSPACE_WRAPPER=$PWD/.ci/coverage-rustc \
        LLVM_PROFILE_FILE=${LLVM_PROFILE_FILE:-/dev/null} "$@"
}

# programs_of_tests: builds what the tests run, the command and the examples with it, and says where.
programs_of_tests() {
    as_tests cargo test --quiet --workspace --no-run --locked
    echo "${CARGO_TARGET_DIR:-target}/debug"
}

# skip NAME REASON...: says that something was not checked, and why. By hand that is all. In `run` it
# is a failure, unless CI_MAY_SKIP names it, and then said again at the end.
skip() {
    local name=$1
    shift
    printf 'SKIPPED %s: %s\n' "$name" "$*"
    [ -n "${CI_SKIPPED:-}" ] || return 0
    case " ${CI_MAY_SKIP:-} " in
        *" $name "*) printf '%s: %s\n' "$name" "$*" >>"$CI_SKIPPED" ;;
        *)
            printf 'this has to be checked, or CI_MAY_SKIP has to name it: %s\n' "$name" >&2
            exit 1
            ;;
    esac
}

# have_nightly [component...]: whether there is a nightly toolchain with these components. What is
# missing is installed where that is possible.
have_nightly() {
    local component have
    if ! cargo +nightly --version >/dev/null 2>&1; then
        rustup toolchain install nightly --profile minimal --no-self-update || return 1
    fi
    for component in "$@"; do
        have=$(rustup +nightly component list --installed 2>/dev/null || true)
        grep -q "^$component" <<<"$have" && continue
        rustup component add --toolchain nightly "$component" || return 1
    done
}

# have_tool CRATE VERSION: whether there is this command of cargo. Installs it if not.
have_tool() {
    command -v "$1" >/dev/null && return
    cargo install --locked --quiet "$1@$2"
}
