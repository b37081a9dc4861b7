# Tries what a sandbox must not allow, and names what it does.
import os, socket, time


def held(name, attempt):
    try:
        attempt()
    except (OSError, MemoryError):
        return
    print(name)


def networks():
    if all(name == "lo" for _, name in socket.if_nameindex()):
        raise OSError


def processes():
    if sum(name.isdigit() for name in os.listdir("/proc")) <= 4:
        raise OSError


def forks():
    children = []
    try:
        for _ in range(64):
            child = os.fork()
            if child == 0:
                time.sleep(60)
                os._exit(0)
            children.append(child)
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)


held("a network", networks)
held("other processes", processes)
held("processes without number", forks)
held("memory without end", lambda: bytearray(1 << 30))
for place in ("/", "/usr", "/dev"):
    held("writing to " + place, lambda: open(place.rstrip("/") + "/probe", "x"))
print("done")
