#!/usr/bin/env python3
"""Makes accounting.txt, topology.txt and metrics.txt beside it.

Two leaf switches of four nodes.  alice's fft runs on n0 and n1 for 600 s
undisturbed.  Its runs beside bob's halo, which sends much, take longer; others
are slowed by a process on its node, by a disk, by a link that fell to a tenth,
or by nothing that anybody measured.
"""
import os
import random
os.chdir(os.path.dirname(os.path.abspath(__file__)))
random.seed(1)
START = 1764000000
jobs, metrics, jid, now = [], [], 100, START


def job(user, name, nodes, n, start, sec, state='COMPLETED', line=None, limit=60):
    global jid
    jid += 1
    end = 'Unknown' if state == 'RUNNING' else int(start + sec)
    jobs.append('|'.join(map(str, (
        jid, jid, user, 'main', state, int(start) - 5, int(start), end, '00:00:00',
        n, 4 * n, limit, nodes, name, line or f'sbatch {name}.sh'))))
    return jid


def put(metric, nodes, start, sec, value):
    for n in nodes:
        metrics.append(f'{metric} {n} {start:.0f} {start + sec:.0f} {value:.6g}')


RX, TX = 'node_network_receive_bytes_total', 'node_network_transmit_bytes_total'
CPU = 'node_pressure_cpu_waiting_seconds_total'
IO = 'node_pressure_io_waiting_seconds_total'
SPEED = 'node_network_speed_bytes'
ALL = ['n0', 'n1', 'n2', 'n3']


def run(what):
    global now
    sec = 600 * random.uniform(.99, 1.01)
    extra = {'network': 240, 'cpu': 180, 'disk': 150, 'link': 200, 'unknown': 210,
             'both': 330, None: 0, 'idle': 0}[what]
    sec += extra
    me = job('alice', 'fft', 'n[0-1]', 2, now, sec)
    if what in ('network', 'both'):
        job('bob', 'halo', 'n[2-3]', 2, now - 30, sec + 60)
        put(RX, ['n2', 'n3'], now - 30, sec + 60, 4e9)
        put(TX, ['n2', 'n3'], now - 30, sec + 60, 4e9)
    else:
        job('bob', 'idle', 'n[2-3]', 2, now - 30, sec + 60)
        put(RX, ['n2', 'n3'], now - 30, sec + 60, 1e6)
        put(TX, ['n2', 'n3'], now - 30, sec + 60, 1e6)
    put(RX, ['n0', 'n1'], now, sec, 3e9 * 600 / sec)
    put(TX, ['n0', 'n1'], now, sec, 3e9 * 600 / sec)
    put(CPU, ['n0'], now, sec, .02)
    put(CPU, ['n1'], now, sec, .02 + (180 / sec if what in ('cpu', 'both') else 0))
    put(IO, ['n0', 'n1'], now, sec, .01 + (150 / sec if what == 'disk' else 0))
    put(SPEED, ['n0'], now, sec, 12.5e9)
    put(SPEED, ['n1'], now, sec, 12.5e9 * (.1 if what == 'link' else 1))
    now += sec + 120
    return me


for what in (None, None, 'network', None, None, 'cpu', None, None, 'network', None,
             None, None):
    run(what)
names = {}
for what in ('network', 'cpu', 'disk', 'link', 'unknown', 'both', 'idle'):
    names[what] = run(what)
names['few'] = job('alice', 'once', 'n[4-5]', 2, START + 100, 500)
names['failed'] = job('alice', 'fft', 'n[4-5]', 2, START + 700, 100, 'FAILED')
names['running'] = job('alice', 'fft', 'n[4-5]', 2, now - 300, 0, 'RUNNING')
jobs.append('199|199|eve|main|COMPLETED|1|2|3|00:00:00|1|1|1|n0|a|b|sbatch x')
with open('accounting.txt', 'w') as f:
    f.write('JobID|JobIDRaw|User|Partition|State|Submit|Start|End|Suspended|NNodes|'
            'NCPUS|TimelimitRaw|NodeList|JobName|SubmitLine\n' + '\n'.join(jobs) + '\n')
with open('topology.txt', 'w') as f:
    f.write('SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[0-3]\n'
            'SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[4-7]\n'
            'SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[0-7] Switches=leaf[0-1]\n')
with open('metrics.txt', 'w') as f:
    f.write('# Made by make.py.\n' + '\n'.join(metrics) + '\n')
print(names, int(now))
