"""What node_exporter would say of each node if it were a machine of its own.

	node_metrics.py RUNDIR CGROUP SECONDS

From the cgroup of each node: how long its processes waited, as the kernel's
pressure stall information has it; and the speed that its link was given.
Written for node_exporter's textfile collector, by node_exporter's names.
"""
import glob
import os
import sys
import time

rundir, cgroup, sec = sys.argv[1], sys.argv[2], float(sys.argv[3])
nodes = sorted(os.path.basename(d) for d in glob.glob(f'{rundir}/metrics/n*'))


def waited(node, what):
    """Seconds in which some process waited."""
    with open(f'{rundir}/pressure/{cgroup}/{node}/{what}.pressure') as f:
        return int(f.readline().split('total=')[1]) / 1e6


def text(node):
    with open(f'{rundir}/pid/{node}.link') as f:
        speed = float(f.read()) * 1e6 / 8
    lines = []
    for what in ('cpu', 'io', 'memory'):
        name = f'node_pressure_{what}_waiting_seconds_total'
        lines.append(f'# TYPE {name} counter\n{name} {waited(node, what):.6f}\n')
    lines.append('# TYPE node_network_speed_bytes gauge\n'
                 f'node_network_speed_bytes{{device="eth0"}} {speed:.0f}\n')
    return ''.join(lines)


while True:
    due = time.monotonic() + sec / 2
    for node in nodes:
        path = f'{rundir}/metrics/{node}/node.prom'
        try:
            with open(path + '.new', 'w') as f:
                f.write(text(node))
            os.rename(path + '.new', path)
        except (OSError, ValueError, IndexError):
            pass  # the link is being written, or the node is gone
    time.sleep(max(0, due - time.monotonic()))
