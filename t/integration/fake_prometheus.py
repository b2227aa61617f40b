#!/usr/bin/env python3
"""A metrics server for tests: what a table says, by Prometheus' HTTP API.

	fake_prometheus.py TABLE PORT-FILE [MODE]

TABLE has rows "METRIC NODE FROM TO VALUE": from FROM to TO (seconds since 1970)
a counter grows by VALUE per second, or a gauge has that value. A query counts
as the sum of all metrics of the table that it names, averaged over its window.
The port that was chosen goes into PORT-FILE.  MODE is what is wrong with the
server: html, error, refuse, huge, hang, token (it wants "Bearer secret"),
renamed (nodes have other names), label:NAME (their label is not "instance"),
gaps (every other step is missing), 404, 302, 500 or 503 (its status), million (an
answer with more than a million samples), or tls:DIR (it wants a client certificate
that DIR/ca.pem signed; its own is DIR/server.pem).
"""
import http.server
import json
import os
import re
import ssl
import sys
import time
import urllib.parse

rows = [line.split() for line in open(sys.argv[1]) if line[0] != '#']
rows = [(m, n, float(a), float(b), float(v)) for m, n, a, b, v in rows]
mode = sys.argv[3] if len(sys.argv) > 3 else ''
label = mode[6:] if mode.startswith('label:') else 'instance'


def average(metric, node, start, end):
    known = [(max(a, start), min(b, end), v) for m, n, a, b, v in rows
             if m == metric and n == node]
    known = [(a, b, v) for a, b, v in known if b > a]
    if not known:
        return None
    return sum((b - a) * v for a, b, v in known) / sum(b - a for a, b, v in known)


def answer(path, form):
    query = form['query']
    nodes = re.search(label + r'=~"\(([^)]*)\)', query)
    nodes = nodes.group(1).replace('\\\\', '').split('|') if nodes else []
    window = re.search(r'\[(\d+)ms\]', query)
    window = int(window.group(1)) / 1000 if window else 1
    metrics = [m for m in sorted({r[0] for r in rows}) if m + '{' in query]
    if path.endswith('_range'):
        start, end, step = (float(form[k]) for k in ('start', 'end', 'step'))
        # Like Prometheus, in whole milliseconds.
        start, end, step = (round(1000 * t) for t in (start, end, step))
        times = [t / 1000 for t in range(start, end + 1, step)]
        if mode == 'gaps':
            times = times[::2]
    else:
        times = [float(form['time'])]
    result = []
    for node in nodes:
        points = []
        for t in times:
            vs = [average(m, node, t - window, t) for m in metrics]
            vs = [v for v in vs if v is not None]
            if vs:
                points.append([t, repr(sum(vs))])
        if points:
            name = 'other-' + node if mode == 'renamed' else node
            series = {'metric': {label: name + '.cluster:9100'}}
            series.update({'values': points} if path.endswith('_range') else
                          {'value': points[0]})
            result.append(series)
    kind = 'matrix' if path.endswith('_range') else 'vector'
    return {'status': 'success', 'data': {'resultType': kind, 'result': result}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    wbufsize = -1  # one packet, so that no acknowledgement is waited for

    def log_message(self, *args):
        pass

    def send(self, status, text):
        self.send_response(status)
        if status == 302:
            self.send_header('Location', '/login')
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length'])).decode()
        form = {k: v[0] for k, v in urllib.parse.parse_qs(body).items()}
        if mode == 'html':
            self.send(200, '<!DOCTYPE html><html>Log in</html>')
        elif mode == 'error':
            self.send(400, json.dumps({'status': 'error', 'errorType': 'bad_data',
                                       'error': 'parse error: unknown function'}))
        elif mode == 'refuse' or (mode == 'token' and
                                  self.headers['Authorization'] != 'Bearer secret'):
            self.send(401, '')
        elif mode == 'huge':
            self.send(200, '{' + ' ' * (17 << 20) + '}')
        elif mode in ('404', '302', '500', '503'):
            self.send(int(mode), '<html>no</html>')
        elif mode == 'million':
            self.send(200, '{"status":"success","data":{"resultType":"matrix","result":'
                      '[{"metric":{"instance":"n0"},"values":[' +
                      '[1,"1"],' * 1100000 + '[1,"1"]]}]}}')
        elif mode == 'hang':
            time.sleep(60)
        else:
            self.send(200, json.dumps(answer(self.path, form)))


server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
server.daemon_threads = True
if mode.startswith('tls:'):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(mode[4:] + '/server.pem', mode[4:] + '/server.key')
    context.load_verify_locations(mode[4:] + '/ca.pem')
    context.verify_mode = ssl.CERT_REQUIRED
    server.socket = context.wrap_socket(server.socket, server_side=True)
with open(sys.argv[2] + '.new', 'w') as f:
    f.write(str(server.server_address[1]))
os.rename(sys.argv[2] + '.new', sys.argv[2])
server.serve_forever()
