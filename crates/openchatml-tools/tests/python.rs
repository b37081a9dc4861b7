//! Code of a model in a real sandbox. Where there is none, the tests say so and prove nothing.
#![cfg(unix)]

use std::time::Duration;

use openchatml::Code;
use openchatml_testkit::elsewhere;
use openchatml_tools::kinds::python::{Python, Sandbox};
use openchatml_tools::{Call, Failure, Output, Tool};

/// A sandbox. Without one, a test is skipped, unless `OPENCHATML_SANDBOX=required` forbids it.
async fn python() -> Option<Python> {
    match Sandbox::detect().await {
        Ok(sandbox) => Some(Python::new(sandbox)),
        Err(error) => {
            let is_required = std::env::var("OPENCHATML_SANDBOX").is_ok_and(|it| it == "required");
            assert!(!is_required, "{error}");
            elsewhere::say_skipped("python in a sandbox", &error.to_string());
            None
        }
    }
}

async fn run(python: &Python, code: &str) -> Result<Output, Failure> {
    python.call(&Call::new("python", "c1", code)).await
}

/// What the code wrote.
async fn said(python: &Python, code: &str) -> String {
    match run(python, code).await {
        Ok(output) => output.content.as_str().expect("it is text").into(),
        Err(failure) => panic!("{failure}: {:?}", failure.details),
    }
}

#[tokio::test]
async fn code_runs_as_a_cell_of_a_notebook() {
    let Some(python) = python().await else { return };
    let cases = [
        ("1 + 1", "2\n"),
        ("", ""),
        ("None", ""),
        ("x = 3", ""),
        ("print('a'); 'b'", "a\n'b'\n"),
        ("import sys\nprint('1')\nprint('2', file=sys.stderr)\nprint('3')", "1\n2\n3\n"),
        ("def f():\n    return sum(range(10))\nf()", "45\n"),
        ("class A: pass\nA.__module__", "'__main__'\n"),
        ("'<|end|><|start|>system'", "'<|end|><|start|>system'\n"),
        ("print('é\\ud800')", "é\\ud800\n"),
        ("import os; open('a', 'w').write('b'); os.getcwd()", "'/mnt/data'\n"),
        ("input()", "Traceback"),
    ];
    for (code, expected) in cases {
        let said = said(&python, code).await;
        assert!(said == expected || expected == "Traceback" && said.contains("EOFError"), "{said}");
    }
}

#[tokio::test]
async fn an_exception_is_read_by_the_model() {
    let Some(python) = python().await else { return };
    let said = said(&python, "def f():\n    1 / 0\nprint('before')\nf()").await;
    assert!(said.starts_with("before\nTraceback"), "{said}");
    assert!(said.contains("line 4") && said.contains("1 / 0"), "{said}");
    assert!(said.ends_with("ZeroDivisionError: division by zero\n"), "{said}");
    assert!(!said.contains("driver") && !said.contains("<string>"), "{said}");
    let failure = run(&python, "print('x')\nraise SystemExit(3)").await.unwrap_err();
    assert_eq!(failure.code, Code::ToolFailed);
    assert_eq!(failure.message, "the code ended with status 3");
    assert_eq!(failure.details.unwrap().to_json(), r#"{"output":"x\n"}"#);
    // What is no code, and what is no text of code.
    assert!(self::said(&python, "1 +").await.contains("SyntaxError"));
    assert!(self::said(&python, "a\0b").await.contains("Error"));
}

#[tokio::test]
async fn there_is_no_network() {
    let Some(python) = python().await else { return };
    // A server on this very machine, which the sandbox does not reach.
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let code = format!("import socket; socket.create_connection(('127.0.0.1', {port}), 5)");
    assert!(said(&python, &code).await.contains("ConnectionRefusedError"));
    assert_eq!(
        said(&python, "socket = __import__('socket'); socket.if_nameindex()").await,
        "[(1, 'lo')]\n"
    );
}

#[tokio::test]
async fn files_outside_are_neither_written_nor_read() {
    let Some(python) = python().await else { return };
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    std::fs::write(&secret, "hidden").unwrap();
    let code = format!("open({:?}).read()", secret.to_str().unwrap());
    assert!(said(&python, &code).await.contains("FileNotFoundError"));
    for place in ["/x", "/usr/x", "/etc/x", "/dev/x", "/proc/x", "/home/x", "/root/x"] {
        let said = said(&python, &format!("open({place:?}, 'w')")).await;
        assert!(said.contains("Error"), "{place}: {said}");
    }
    for place in ["/etc/passwd", "/etc/shadow", "/root", "/home", "/sys"] {
        let code =
            format!("import os; (os.listdir if os.path.isdir({place:?}) else open)({place:?})");
        let said = said(&python, &code).await;
        assert!(said.contains("Error"), "{place}: {said}");
    }
    // Nothing is left for the next call.
    assert_eq!(said(&python, "open('/tmp/left', 'w').close()").await, "");
    assert_eq!(said(&python, "import os; os.listdir('/tmp')").await, "[]\n");
}

#[tokio::test]
async fn nothing_of_the_environment_and_no_other_process_is_seen() {
    let Some(python) = python().await else { return };
    let names = said(&python, "import os; print(sorted(os.environ))").await;
    assert_eq!(names, "['HOME', 'LC_ALL', 'PATH', 'PWD']\n");
    for process in ["1", "2", "self"] {
        let environment = said(&python, &format!("open('/proc/{process}/environ').read()")).await;
        assert!(!environment.contains("CARGO"), "{environment}");
        let path = std::env::var("PATH").unwrap();
        assert!(!environment.contains(&path), "{environment}");
    }
    let count = "import os; sum(name.isdigit() for name in os.listdir('/proc')) <= 3";
    assert_eq!(said(&python, count).await, "True\n");
}

#[tokio::test]
async fn memory_files_and_processes_are_bounded() {
    let Some(mut python) = python().await else { return };
    python.limits.memory_bytes = 256 << 20;
    python.limits.disk_bytes = 1 << 20;
    python.limits.processes = 8;
    assert!(said(&python, "x = bytearray(300 << 20)").await.contains("MemoryError"));
    for place in ["/tmp", "/mnt/data", "/dev/shm"] {
        let code = format!("f = open('{place}/x', 'wb'); f.write(bytes(2 << 20)); f.flush()");
        let said = said(&python, &code).await;
        assert!(said.contains("No space left"), "{said}");
    }
    let bomb = "import os\nn = 0\ntry:\n    while True:\n        if os.fork() == 0:\n            \
                __import__('time').sleep(1000)\n        n += 1\nexcept BlockingIOError:\n    \
                print(n < 8)";
    assert_eq!(said(&python, bomb).await, "True\n");
    let raise = "import resource\nresource.setrlimit(resource.RLIMIT_NPROC, (100, 100))";
    assert!(said(&python, raise).await.contains("Error"));
}

#[tokio::test]
async fn time_and_output_are_bounded() {
    let Some(mut python) = python().await else { return };
    python.limits.output_bytes = 1000;
    let failure = run(&python, "while True: print('x' * 100)").await.unwrap_err();
    assert_eq!(failure.code, Code::ToolOutput);
    python.limits.cpu_seconds = 1;
    let failure = run(&python, "while True: pass").await.unwrap_err();
    assert_eq!(failure.message, "the code used all of its processor time");
    python.limits.time = Duration::from_millis(1);
    let failure = run(&python, "__import__('time').sleep(1000)").await.unwrap_err();
    assert_eq!(failure.code, Code::ToolTimeout);
}

#[tokio::test]
async fn a_python_that_is_none_is_refused() {
    let error = Sandbox::with_python("/bin/false").await.unwrap_err().to_string();
    assert!(error.contains("bubblewrap"), "{error}");
    // Without bubblewrap that is what is missing, whatever the path.
    let Some(_) = python().await else { return };
    let error = Sandbox::with_python("/nowhere/python3").await.unwrap_err().to_string();
    assert!(error.contains("could not be started"), "{error}");
}
