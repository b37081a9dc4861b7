# Runs the code on its input as a cell of a notebook. Its arguments are limits.
import ast, os, resource, sys

memory, seconds, processes = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
source = sys.stdin.buffer.read().decode()
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
# One text, in the order in which it was written.
os.dup2(1, 2)
for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(encoding="utf-8", errors="backslashreplace", write_through=True)


def run(source):
    cell = ast.parse(source, "<cell>")
    last = None
    if cell.body and isinstance(cell.body[-1], ast.Expr):
        last = ast.Expression(cell.body.pop().value)
    names = {"__name__": "__main__", "__builtins__": __builtins__}
    exec(compile(cell, "<cell>", "exec"), names)
    if last is not None:
        value = eval(compile(last, "<cell>", "eval"), names)
        if value is not None:
            print(repr(value))


try:
    import linecache
    linecache.cache["<cell>"] = (len(source), None, source.splitlines(True), "<cell>")
    run(source)
except SystemExit:
    raise
except BaseException as error:
    # Without the frames of this file.
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != "<cell>":
        trace = trace.tb_next
    import traceback
    traceback.print_exception(type(error), error, trace)
