"""Three probes on this host, in a ring, of which the last stalls before the measurement starts.

    stalled_peer.py PROGRAM TRANSPORT SECONDS

Is their collector, and prints the latencies that the first reported after the first second,
the larger processor time of the first two, in percent of a processor, and how many notes of
these two name the other one.
"""

import os, select, signal, socket, subprocess, sys, time

N = 3


def start(program, transport, rank):
    ours, theirs = socket.socketpair()
    env = dict(os.environ, NETPROF_TRANSPORT=transport, UCX_NET_DEVICES="lo",
               SLURMD_NODENAME="n%d" % rank, NETPROF_LEAF="leaf0")
    process = subprocess.Popen([program, "--join=%d/%d" % (rank, N)], stdin=theirs,
                               stdout=theirs, stderr=theirs, env=env)
    theirs.close()
    return process, ours


def lines(sockets, seconds):
    """Lines of all processes, with their rank, until the time is over."""
    text, end = [b""] * N, time.monotonic() + seconds
    while time.monotonic() < end:
        for s in select.select(sockets, [], [], 0.1)[0]:
            rank = sockets.index(s)
            text[rank] += s.recv(65536)
            while b"\n" in text[rank]:
                line, text[rank] = text[rank].split(b"\n", 1)
                yield rank, line.decode()


def main():
    program, transport, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    processes, sockets = zip(*(start(program, transport, rank) for rank in range(N)))
    puts, n_fence, n_round, began = [None] * N, 0, 0, time.monotonic()
    latencies, cpu, notes = [0] * N, [[] for _ in range(N)], [0] * N
    for rank, line in lines(sockets, seconds):
        word = line.split()
        if word[0] == "put":
            puts[rank] = line[4:]
        elif word[0] == "fence":
            n_fence += 1
            if n_fence < N:
                continue
            places = "".join("place %d %s\n" % (k, p) for k, p in enumerate(puts) if p)
            puts, n_fence, n_round = [None] * N, 0, n_round + 1
            for k in range(N if n_round == 1 else N - 1):
                sockets[k].sendall((places + "go\n").encode())
        elif word[1] == "lat" and time.monotonic() > began + 1:
            latencies[rank] += int(word[4])
        elif word[1] == "cost":
            cpu[rank].append(float(word[3]) / float(word[4]))
        elif word[1] == "note":
            notes[rank] += "n%d" % (1 - rank) in line
    for p in processes:
        p.send_signal(signal.SIGKILL)
        p.wait()
    medians = [sorted(seconds)[len(seconds) // 2] for seconds in cpu[:2]]
    print(latencies[0], "%.2f" % (100 * max(medians)), sum(notes[:2]))


main()
