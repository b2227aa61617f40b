"""Requests that could make netprof-saver take too much, from a client of its own user.

    ask_saver.py SAVER DIRECTORY

Prints the largest resident memory, in MiB, of the process that looks into a library whose
symbol table has 2000 MiB; how many of six traces netprof-saver counts after the
replies to earlier requests on their connections; and how many of three descriptors it
keeps that come with requests for which it needs none, or with a part of a request.
"""

import array, os, select, socket, struct, subprocess, sys, time

LOG, SAVE, TRACE, MPI = 1, 2, 6, 7
TABLE_BYTES = 2000 << 20
N_TRACES = 6


def library(path):
    """A sparse ELF file, of which nothing but its headers is on disk."""

    def section(kind, offset, size, link, entry):
        return struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, offset, size, link, 0, 8, entry)

    ident = b"\x7fELF" + bytes([2, 1, 1, 0]) + bytes(8)
    head = struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 64, 0, 64, 56, 0, 64, 3, 0)
    size = TABLE_BYTES // 24 * 24
    with open(path, "wb") as f:
        f.write(ident + head + section(0, 0, 0, 0, 0) + section(11, 4096, size, 2, 24) +
                section(3, 256, 16, 0, 0))
        f.truncate(4096 + size)


def message(kind, *fields):
    text = b"".join(f.encode() + b"\0" for f in fields)
    return struct.pack("<IIII", 0x6e707331, kind, 1, len(text)) + text


def client():
    s = socket.socket(socket.AF_UNIX)
    for _ in range(600):
        try:
            s.connect("\0netprof/saver/%d/0" % os.getuid())
            return s
        except OSError:
            time.sleep(0.05)
    sys.exit("no saver")


def children(pid):
    return open(f"/proc/{pid}/task/{pid}/children").read().split()


def resident_kib(pid):
    try:
        with open(f"/proc/{pid}/status") as f:
            return max(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
    except (OSError, ValueError):
        return 0


def n_files(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory_of_a_library(saver, where):
    library(where + "/libmpi.so")
    s = client()
    s.send(message(MPI, where + "/libmpi.so"))
    s.settimeout(0.002)
    most = 0
    while True:
        most = max([most] + [resident_kib(pid) for pid in children(saver)])
        try:
            s.recv(100)
            return most >> 10
        except socket.timeout:
            pass


def pass_on(s, text, fd):
    s.sendmsg([text], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])


def kept_descriptors(where):
    """A pipe whose writing end nobody keeps ends."""
    kept = 0
    for text in (message(LOG, where, "a line\n"), message(SAVE, where)[:20],
                 message(TRACE, where)[:8]):
        s = client()
        end, passed = os.pipe()
        pass_on(s, text, passed)
        os.close(passed)
        kept += not select.select([end], [], [], 5)[0]
        s.close()
        os.close(end)
    return kept


def counted_traces(saver, where):
    """A request on each connection waits for a FIFO, and a trace begins meanwhile."""
    fifo = where + "/exe"
    os.mkfifo(fifo)
    time.sleep(0.5)  # until earlier connections are closed
    before, clients = n_files(saver), []
    for i in range(N_TRACES):
        s, ring = client(), os.memfd_create("ring")
        os.ftruncate(ring, (1 << 20) + 4096)
        s.send(message(MPI, fifo))
        time.sleep(0.1)
        pass_on(s, message(TRACE, where, "", str(i), "0", "077"), ring)
        clients.append((s, ring))
    time.sleep(0.5)
    for _ in range(40):  # every request finds a writer that ends
        try:
            writer = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            time.sleep(0.05)
            os.close(writer)
        except OSError:
            pass
        time.sleep(0.05)
    time.sleep(1)
    return n_files(saver) - before


def main():
    control, end = socket.socketpair()
    p = subprocess.Popen([sys.argv[1], "--own"], stdin=end, stdout=subprocess.DEVNULL)
    end.close()
    client().close()
    print(memory_of_a_library(p.pid, sys.argv[2]), counted_traces(p.pid, sys.argv[2]),
          kept_descriptors(sys.argv[2]))
    control.close()
    p.wait(60)


main()
