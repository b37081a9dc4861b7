# Runs code as cells of a notebook. The first argument says how:
#   once     the code on the input is the only cell
#   session  the input is a socket that cells come from, one after the other (see interpreter.rs)
# The other arguments are limits.
import ast, linecache, os, resource, sys, types

mode = sys.argv[1]
memory, seconds, processes = map(int, sys.argv[2:])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

# Cells have a module of their own, so that they cannot trip over the names of this file.
driver, notebook = sys.modules["__main__"], types.ModuleType("__main__")
sys.modules["__main__"] = notebook
notebook.__builtins__ = __builtins__
CELL = "<cell"


def evaluate(source, file):
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    cell = ast.parse(source, file)
    last = None
    if cell.body and isinstance(cell.body[-1], ast.Expr):
        last = ast.Expression(cell.body.pop().value)
    exec(compile(cell, file, "exec"), notebook.__dict__)
    if last is not None:
        value = eval(compile(last, file, "eval"), notebook.__dict__)
        if value is not None:
            print(repr(value))


def explain(error):
    # Without the frames of this file.
    trace = error.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(CELL):
        trace = trace.tb_next
    last = trace
    while last is not None and last.tb_next is not None:
        if last.tb_next.tb_frame.f_globals is driver.__dict__:
            last.tb_next = None
        last = last.tb_next
    import traceback
    traceback.print_exception(type(error), error, trace)


def standard(stream):
    stream.reconfigure(encoding="utf-8", errors="backslashreplace", write_through=True)
    return stream


def once():
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    source = sys.stdin.buffer.read().decode()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # One text, in the order in which it was written.
    os.dup2(1, 2)
    standard(sys.stdout)
    standard(sys.stderr)
    try:
        evaluate(source, CELL + ">")
    except SystemExit:
        raise
    except BaseException as error:
        explain(error)


def session():
    import io, math, queue, signal, socket, threading, time

    control = socket.socket(fileno=os.dup(0))
    own, main = os.getpid(), threading.main_thread().ident
    cells = queue.SimpleQueue()

    class State:
        number = 0  # of the cell
        nonce = None  # of the cell, as the host calls it
        stopped = None  # the nonce of the cell that is to be interrupted
        is_busy = False  # whether code of the cell runs

    class ProcessorTime(BaseException):
        """The cell used all of its processor time."""

    def cell_of_thread():
        return getattr(threading.current_thread(), "_cell", State.number)

    class Output(io.FileIO):
        # A thread writes to the reply of the cell that started it, and nowhere once that is over.
        def write(self, data):
            left = memoryview(data).cast("B")
            size = len(left)
            while left and cell_of_thread() == State.number:
                left = left[super().write(left) :]
            return size

    def output(descriptor):
        raw = Output(descriptor, "w", closefd=False)
        return standard(io.TextIOWrapper(raw, encoding="utf-8", write_through=True))

    def start(thread, start=threading.Thread.start):
        thread._cell = cell_of_thread()
        start(thread)

    def on_interrupt(*_):
        if State.is_busy:
            raise KeyboardInterrupt

    def on_processor_time(*_):
        if State.is_busy:
            raise ProcessorTime

    def listen():
        data, pipes = bytearray(), []

        def receive():
            chunk, ancillary, _, _ = control.recvmsg(
                1 << 16, socket.CMSG_SPACE(4), socket.MSG_CMSG_CLOEXEC
            )
            if not chunk:
                raise EOFError
            for _, _, content in ancillary:
                pipes.append(int.from_bytes(content[:4], sys.byteorder))
            data.extend(chunk)

        while True:
            while b"\n" not in data:
                receive()
            end = data.index(b"\n")
            word, nonce, *numbers = data[:end].decode().split()
            del data[: end + 1]
            if word == "stop":
                State.stopped = nonce
                if State.nonce == nonce:
                    signal.pthread_kill(main, signal.SIGINT)
                continue
            seconds, size = map(int, numbers)
            while len(data) < size:
                receive()
            source = data[:size].decode()
            del data[:size]
            cells.put((nonce, seconds, source, pipes.pop(0)))

    def listener():
        # Without it nothing goes on.
        try:
            listen()
        finally:
            os._exit(1)

    def streams(target):
        # The code may have closed any of them.
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor, source in ((0, null), (1, target or null), (2, target or null)):
            os.dup2(source, descriptor)
        for descriptor in {null, target or null} - {0, 1, 2}:
            os.close(descriptor)

    def begin(nonce, seconds, pipe):
        State.number += 1
        State.nonce = nonce
        streams(pipe)
        if getattr(sys.stdin, "closed", True):
            sys.stdin = open(0, closefd=False)
        if getattr(sys.stdout, "closed", True):
            sys.stdout = sys.__stdout__ = output(1)
        if getattr(sys.stderr, "closed", True):
            sys.stderr = sys.__stderr__ = output(2)
        signal.signal(signal.SIGINT, on_interrupt)
        signal.signal(signal.SIGXCPU, on_processor_time)
        # Of each cell anew: the hard limit is none, since it could not be raised again.
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        soft = math.ceil(time.process_time()) + seconds
        soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))

    def run(source):
        try:
            try:
                State.is_busy = True
                if State.stopped == State.nonce:
                    raise KeyboardInterrupt
                evaluate(source, f"{CELL} {State.number}>")
            finally:
                State.is_busy = False
        except SystemExit as end:
            if end.code is None or isinstance(end.code, int):
                return (end.code or 0) & 0xFF
            print(end.code, file=sys.stderr)
            return 1
        except ProcessorTime:
            return "cpu"
        except BaseException as error:
            explain(error)
        return 0

    sys.stdout = sys.__stdout__ = output(1)
    sys.stderr = sys.__stderr__ = output(2)
    streams(None)
    threading.Thread.start = start
    threading.Thread(target=listener, daemon=True).start()
    # One more for the listener.
    resource.setrlimit(resource.RLIMIT_NPROC, (processes + 1, processes + 1))
    while True:
        try:
            nonce, seconds, source, pipe = cells.get()
            begin(nonce, seconds, pipe)
            status = run(source)
        except BaseException:
            # The code left something behind that this cannot work with, as a `print` that raises.
            status = 1
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except BaseException:
            pass
        if os.getpid() != own:
            # A fork of the code's came out of its cell.
            os._exit(status if isinstance(status, int) else 1)
        streams(None)
        control.sendall(f"done {nonce} {status}\n".encode())


once() if mode == "once" else session()
