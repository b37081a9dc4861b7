//! Code of a model in a real sandbox. Where the system has none, the tests are skipped and say so.
#![cfg(unix)]

use std::time::Duration;

use openchatml::Code;
use openchatml_testkit::external_files;
use openchatml_tools::kinds::python::{Python, Sandbox};
use openchatml_tools::{Call, Failure, Output, Tool};

/// A sandbox. Without one, a test is skipped, unless `OPENCHATML_SANDBOX=required` forbids it.
async fn python() -> Option<Python> {
    match Sandbox::detect().await {
        Ok(sandbox) => Some(Python::new(sandbox)),
        Err(error) => {
            let is_required = std::env::var("OPENCHATML_SANDBOX").is_ok_and(|it| it == "required");
            assert!(!is_required, "{error}");
            external_files::say_skipped("python in a sandbox", &error.to_string());
            None
        }
    }
}

async fn run(python: &Python, code: &str) -> Result<Output, Failure> {
    python.call(&Call::new("python", "c1", code)).await
}

/// The output of the code.
async fn said(python: &Python, code: &str) -> String {
    match run(python, code).await {
        Ok(output) => output.content.as_str().expect("it is text").into(),
        Err(failure) => panic!("{failure}: {:?}", failure.details),
    }
}

/// The same tool, once with a persistent interpreter and once without.
fn both(python: Python) -> [Python; 2] {
    let mut once = python.clone();
    once.is_stateless = true;
    [python, once]
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
    for python in both(python) {
        for (code, expected) in cases {
            let said = said(&python, code).await;
            let is_traceback = expected == "Traceback" && said.contains("EOFError");
            assert!(said == expected || is_traceback, "{said}");
        }
    }
}

#[tokio::test]
async fn an_exception_is_read_by_the_model() {
    let Some(python) = python().await else { return };
    for python in both(python) {
        explains(&python).await;
    }
}

async fn explains(python: &Python) {
    let said = said(python, "def f():\n    1 / 0\nprint('before')\nf()").await;
    assert!(said.starts_with("before\nTraceback"), "{said}");
    assert!(said.contains("line 4") && said.contains("1 / 0"), "{said}");
    assert!(said.ends_with("ZeroDivisionError: division by zero\n"), "{said}");
    assert!(!said.contains("driver") && !said.contains("<string>"), "{said}");
    let failure = run(python, "print('x')\nraise SystemExit(3)").await.expect_err("it ends");
    assert_eq!(failure.code, Code::ToolFailed);
    assert_eq!(failure.message, "the code ended with status 3");
    assert_eq!(failure.details.expect("it says more").to_json(), r#"{"output":"x\n"}"#);
    // Invalid code, and code with a NUL character.
    assert!(self::said(python, "1 +").await.contains("SyntaxError"));
    assert!(self::said(python, "a\0b").await.contains("Error"));
}

#[tokio::test]
async fn there_is_no_network() {
    let Some(python) = python().await else { return };
    // A server on this machine, which the sandbox must not reach.
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
async fn files_outside_of_the_sandbox_are_inaccessible() {
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
    // Without a persistent interpreter nothing remains for the next call.
    let [_, python] = both(python);
    assert_eq!(said(&python, "open('/tmp/left', 'w').close()").await, "");
    assert_eq!(said(&python, "import os; os.listdir('/tmp')").await, "[]\n");
}

#[tokio::test]
async fn the_environment_and_other_processes_are_invisible() {
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
async fn memory_files_and_processes_are_limited() {
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
async fn time_and_output_are_limited() {
    let Some(python) = python().await else { return };
    for mut python in both(python) {
        python.limits.output_bytes = 1000;
        let failure = run(&python, "while True: print('x' * 100)").await.unwrap_err();
        assert_eq!(failure.code, Code::ToolOutput);
        python.limits.cpu_seconds = 1;
        let failure = run(&python, "while True: pass").await.unwrap_err();
        let message = failure.message;
        assert!(message.starts_with("the code used all of its processor time"), "{message}");
        python.limits.time = Duration::from_millis(1);
        let failure = run(&python, "__import__('time').sleep(1000)").await.unwrap_err();
        assert_eq!(failure.code, Code::ToolTimeout);
    }
}

#[tokio::test]
async fn an_invalid_python_is_refused() {
    let error = Sandbox::with_python("/bin/false").await.unwrap_err().to_string();
    assert!(error.contains("bubblewrap"), "{error}");
    // If bubblewrap is missing, that is reported, whatever the path is.
    let Some(_) = python().await else { return };
    let error = Sandbox::with_python("/nowhere/python3").await.unwrap_err().to_string();
    assert!(error.contains("cannot start it"), "{error}");
}

/// The note in a reply after the variables were lost.
const GONE: &str = "the interpreter was restarted: variables and files of earlier calls are lost";

/// The note in a reply after an interrupt that kept the variables.
const KEPT: &str = "it was interrupted; the variables are kept";

/// Code that ignores interrupts.
const STUBBORN: &str = "import time\nwhile True:\n    try:\n        while True: time.sleep(1)\n    \
                        except BaseException: pass";

#[tokio::test]
async fn variables_and_files_are_kept_from_one_call_to_the_next() {
    let Some(python) = python().await else { return };
    let begin = "def double(x):\n    return 2 * x\nopen('/mnt/data/a', 'w').write('b')\nx = 20";
    let go_on = "open('/mnt/data/a').read(), double(x + 1)";
    let [python, once] = both(python);
    for python in [&python, &once] {
        assert_eq!(said(python, begin).await, "");
    }
    assert_eq!(said(&python, go_on).await, "('b', 42)\n");
    // A traceback has the lines of both calls.
    assert_eq!(said(&python, "def fail():\n    return 1 / 0").await, "");
    let trace = said(&python, "fail()").await;
    assert!(trace.contains("    fail()\n") && trace.contains("    return 1 / 0\n"), "{trace}");
    for other in [&once, &python.clone()] {
        assert!(said(other, "x").await.contains("NameError"));
        assert!(said(other, "open('/mnt/data/a')").await.contains("FileNotFoundError"));
    }
    let described = |python: Python| python.entry().description.unwrap();
    assert!(described(python).contains("kept") && described(once).contains("starts anew"));
}

#[tokio::test]
async fn an_interrupted_call_keeps_the_variables() {
    let Some(mut python) = python().await else { return };
    assert_eq!(said(&python, "import time; x = 1").await, "");
    python.limits.time = Duration::from_millis(500);
    let failure = run(&python, "print('a'); time.sleep(1000)").await.unwrap_err();
    assert_eq!(failure.code, Code::ToolTimeout);
    assert_eq!(failure.message, format!("the code ran longer than 500ms; {KEPT}"));
    assert_eq!(failure.details.unwrap().to_json(), r#"{"output":"a\n"}"#);
    python.limits = Default::default();
    python.limits.output_bytes = 1000;
    let failure = run(&python, "while True: print('flood')").await.unwrap_err();
    assert_eq!(failure.message, format!("the output is longer than 1000 bytes; {KEPT}"));
    // A cancelled call.
    let call = Call::new("python", "c1", "time.sleep(1000)");
    assert!(tokio::time::timeout(Duration::from_millis(300), python.call(&call)).await.is_err());
    assert_eq!(said(&python, "x").await, "1\n");
    // A call that only sees the interrupt.
    let seen = said(&python, "import signal\nx = 2\nsignal.raise_signal(signal.SIGINT)").await;
    assert!(seen.ends_with("KeyboardInterrupt\n") && !seen.contains("on_interrupt"), "{seen}");
    assert_eq!(said(&python, "x").await, "2\n");
}

#[tokio::test]
async fn a_call_that_cannot_be_interrupted_kills_the_interpreter() {
    let Some(mut python) = python().await else { return };
    assert_eq!(said(&python, "x = 1").await, "");
    python.limits.time = Duration::from_millis(500);
    let failure = run(&python, STUBBORN).await.unwrap_err();
    assert_eq!(failure.message, format!("the code ran longer than 500ms; {GONE}"));
    python.limits = Default::default();
    // The loss is reported once only.
    let next = said(&python, "x").await;
    assert!(next.starts_with("Traceback") && next.contains("NameError"), "{next}");
}

#[tokio::test]
async fn the_reply_after_a_cancelled_call_reports_lost_variables() {
    let Some(python) = python().await else { return };
    for code in ["print(1)", "raise SystemExit(3)"] {
        assert_eq!(said(&python, "x = 1").await, "");
        let call = Call::new("python", "c1", STUBBORN);
        assert!(tokio::time::timeout(Duration::from_secs(1), python.call(&call)).await.is_err());
        match run(&python, code).await {
            Ok(output) => assert_eq!(output.content.as_str(), Some(&*format!("[{GONE}]\n1\n"))),
            Err(failure) => {
                assert_eq!(failure.message, format!("the code ended with status 3; {GONE}"));
            }
        }
        assert!(said(&python, "x").await.starts_with("Traceback"));
    }
}

#[tokio::test]
async fn an_interpreter_that_ends_is_restarted() {
    let Some(python) = python().await else { return };
    for (code, status) in [
        ("import os; print('x', flush=True); os._exit(3)", 3),
        ("import os; print('x'); os.abort()", 134),
        ("print('x'); import ctypes; ctypes.string_at(0)", 139),
    ] {
        assert_eq!(said(&python, "y = 1").await, "");
        let failure = run(&python, code).await.unwrap_err();
        assert_eq!(failure.message, format!("the code ended with status {status}; {GONE}"));
        assert_eq!(failure.details.unwrap().to_json(), r#"{"output":"x\n"}"#);
        assert!(said(&python, "y").await.starts_with("Traceback"));
    }
    // An interpreter that ends between calls is detected by the next call, or by one that just
    // began.
    said(&python, "import os, threading; threading.Timer(0.2, os._exit, [1]).start()").await;
    let told = loop {
        match run(&python, "1").await {
            Ok(output) if output.content.as_str() == Some("1\n") => {}
            Ok(output) => break output.content.as_str().unwrap().to_owned(),
            Err(failure) => break failure.message,
        }
    };
    assert!(told.contains(GONE), "{told}");
    assert_eq!(said(&python, "1").await, "1\n");
}

#[tokio::test]
async fn late_output_of_earlier_calls_is_in_no_reply() {
    let Some(python) = python().await else { return };
    let begin = "import subprocess, sys, threading, time\n\
                 def chat():\n    while True:\n        print('thread')\n        \
                 print('thread', file=sys.stderr); time.sleep(0.001)\n\
                 thread = threading.Thread(target=chat, daemon=True)\n\
                 thread.start()\n\
                 child = subprocess.Popen(['sh', '-c', 'while echo child; do sleep 0.001; done'])\n\
                 time.sleep(0.2)";
    let first = said(&python, begin).await;
    assert!(first.contains("thread") && first.contains("child"), "{first}");
    for _ in 0..3 {
        assert_eq!(said(&python, "time.sleep(0.1); print('clean')").await, "clean\n");
    }
    // The threads continue; only their output is dropped.
    assert_eq!(said(&python, "thread.is_alive(), child.poll()").await, "(True, None)\n");
    // A call receives the output of its own threads, and that of modules that an earlier call
    // imported.
    let own = "t = threading.Thread(target=print, args=['own']); t.start(); t.join()";
    assert_eq!(said(&python, own).await, "own\n");
    let log = "import logging; logging.warning('log')";
    for _ in 0..2 {
        assert_eq!(said(&python, log).await, "WARNING:root:log\n");
    }
    assert_eq!(said(&python, "import os; os.system('echo shell')").await, "shell\n0\n");
    // A forked child that returns from the call is ended.
    assert_eq!(said(&python, "pid = os.fork()").await, "");
    assert_eq!(said(&python, "pid > 0").await, "True\n");
}

/// The driver's objects, as code can find them.
const INSIDE: &str = "import os, socket, sys, time\nframe = sys._getframe()\n\
                      while frame.f_code.co_name != 'session': frame = frame.f_back\n\
                      control, nonce = frame.f_locals['control'], frame.f_locals['nonce']\n";

#[tokio::test]
async fn code_that_forges_its_end_gains_nothing() {
    let Some(mut python) = python().await else { return };
    python.limits.time = Duration::from_secs(2);
    let cases = [
        // Forged messages about the end: repeated, and malformed.
        "control.sendall(f'done {nonce} 0\\n'.encode() * 100)",
        "control.sendall(b'done\\n\\n\\xff done x y z\\ndone 0 0\\n')",
        "control.sendall(f'done {nonce} 256\\ndone {nonce} -1\\ndone {nonce}\\n'.encode())",
        "control.sendall(b'x' * 10_000_000)",
        "while True: control.sendall(b'done 0 0\\n' * 1000)",
        "while True: os.write(1, b'x')",
        "socket.send_fds(control, [b'x'], [0, 1, 2])",
        // A forged end of a call that continues: the next call must wait for it.
        "control.sendall(f'done {nonce} 0\\n'.encode()); time.sleep(1000)",
        // The channel is closed without an end.
        "control.shutdown(socket.SHUT_WR); time.sleep(1000)",
        "control.shutdown(socket.SHUT_RDWR); time.sleep(1000)",
        "control.close(); time.sleep(1000)",
        "control.close()",
        "os.closerange(0, 1000)",
        "os.dup2(os.open('/dev/null', os.O_RDWR), control.fileno())",
        "class Closed:\n    def write(self, _): raise OSError\n    def flush(self): raise OSError\n\
         sys.stdout = sys.stderr = Closed()",
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(1000)",
    ];
    for case in cases {
        // The result depends on the code; the call must only end.
        let _ = run(&python, &format!("{INSIDE}{case}")).await;
        let _ = run(&python, "1").await;
        let _ = run(&python, "__import__('os')._exit(0)").await;
        assert_eq!(said(&python, "1 + 1").await, "2\n", "{case}");
    }
}

#[tokio::test]
async fn calls_run_in_sequence_with_their_own_timeouts() {
    let Some(mut python) = python().await else { return };
    python.limits.time = Duration::from_secs(5);
    assert_eq!(said(&python, "import time; made = []").await, "");
    // Together, the calls take longer than the limit of one.
    let code = |n| format!("print('in {n}'); time.sleep(2); made.append({n}); print('out {n}')");
    let [a, b, c] = [0, 1, 2].map(code);
    let told = tokio::join!(said(&python, &a), said(&python, &b), said(&python, &c));
    assert_eq!(told.0, "in 0\nout 0\n");
    assert_eq!(told.1, "in 1\nout 1\n");
    assert_eq!(told.2, "in 2\nout 2\n");
    assert_eq!(said(&python, "made").await, "[0, 1, 2]\n");
}

#[tokio::test]
async fn each_call_has_its_own_processor_time() {
    let Some(mut python) = python().await else { return };
    python.limits.cpu_seconds = 2;
    let burn =
        "import time\nend = time.process_time() + 1.2\nwhile time.process_time() < end: pass";
    for _ in 0..3 {
        assert_eq!(said(&python, burn).await, "");
    }
    let failure = run(&python, "x = 1\nwhile True: pass").await.unwrap_err();
    let expected =
        "the code used all of its processor time; it was interrupted; the variables are kept";
    assert_eq!(failure.message, expected);
    assert_eq!(said(&python, "x").await, "1\n");
}

#[tokio::test]
async fn a_continued_conversation_is_told_that_variables_are_lost() {
    let Some(python) = python().await else { return };
    let python = python.continued();
    assert_eq!(said(&python, "print(1)").await, format!("[{GONE}]\n1\n"));
    assert_eq!(said(&python, "print(1)").await, "1\n");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_interpreter_ends_with_its_tool() {
    /// A size that no other process uses.
    const SIGN: &str = "54321987";
    let is_there = || {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
        lines.any(|line| line.split(|byte| *byte == 0).any(|word| word == SIGN.as_bytes()))
    };
    let Some(mut python) = python().await else { return };
    python.limits.disk_bytes = SIGN.parse().unwrap();
    assert_eq!(said(&python, "x = 1").await, "");
    assert!(is_there());
    // Also while the tool waits for the effect of an interrupt.
    let call = Call::new("python", "c1", STUBBORN);
    assert!(tokio::time::timeout(Duration::from_millis(300), python.call(&call)).await.is_err());
    assert!(is_there());
    drop(python);
    while is_there() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
