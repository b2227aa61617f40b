"""Lays the answers of t/validate blind beside the labels.

	blind.py DIR

DIR has labels, "JOB PROGRAM CASE" a line, and answers/JOB.json, what netprof
explain --json said. Prints the tables of doc/validation/blind.md, and for each
missed or wrongly blamed cause what the answer says about it.
"""
import collections
import datetime
import json
import math
import os
import sys

EFFECT = 0.05  # of the run time undisturbed: a trouble that costs less has none
CAUSES = {
    'none': (), 'quiet': (), 'far': (), 'network': ('network',), 'cpu': ('cpu',),
    'hog': ('cpu',), 'disk': ('io',), 'link': ('link',),
    'network+cpu': ('network', 'cpu'), 'network+disk': ('network', 'io'),
}
NAMES = {'network': 'the network', 'cpu': 'processors', 'io': 'a disk',
         'link': "a node's link"}


def wilson(k, n, z=1.96):
    if not n:
        return 0, 1
    p, d = k / n, 1 + z * z / n
    mid = (p + z * z / (2 * n)) / d
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / d
    return max(0, mid - half), min(1, mid + half)


def ratio(k, n):
    low, high = wilson(k, n)
    return f'{k / n:.2f} ({low:.2f} to {high:.2f}; {k} of {n})' if n else '- (none)'


def read(directory):
    jobs = []
    for line in open(os.path.join(directory, 'labels')):
        job, program, case = line.split()
        path = os.path.join(directory, 'answers', job + '.json')
        if not os.path.exists(path):
            continue
        answer = json.load(open(path))['accounting']
        jobs.append({'id': job, 'program': program, 'case': case, 'answer': answer,
                     'sec': answer['run_sec'], 'true': set(CAUSES[case]),
                     'said': {c['cause'] for c in answer['causes'] if c['blamed']}})
    return jobs


def find_truth(jobs):
    alone = collections.defaultdict(list)
    for j in jobs:
        if not j['true']:
            alone[j['program']].append(j['sec'])
    for j in jobs:
        mean = sum(alone[j['program']]) / len(alone[j['program']])
        j['alone'] = mean
        j['range'] = min(alone[j['program']]), max(alone[j['program']])
        j['slowed'] = bool(j['true']) and j['sec'] > (1 + EFFECT) * mean
    return alone


def half_full(j):
    """The first baseline: the leaf's nodes that have jobs, of eight."""
    beside = sum(b['nodes'] for b in j['answer']['neighbours'] if not b['same_node'])
    return {'network'} if 4 + beside > 4 else set()


def judge(jobs, said, cause):
    right = sum(cause in said(j) and cause in j['true'] for j in jobs
                if j['slowed'])
    missed = sum(cause not in said(j) and cause in j['true'] for j in jobs
                 if j['slowed'])
    wrong = sum(cause in said(j) and cause not in j['true'] for j in jobs)
    return right, missed, wrong


def table(jobs, title, said, causes):
    print(f'\n{title}\n\n| cause | precision | recall |\n|---|---|---|')
    for c in causes:
        right, missed, wrong = judge(jobs, said, c)
        print(f'| {NAMES[c]} | {ratio(right, right + wrong)} | '
              f'{ratio(right, right + missed)} |')
    calm = [j for j in jobs if not j['true']]
    print(f'\nUndisturbed jobs that something was blamed for: '
          f'{ratio(sum(bool(said(j)) for j in calm), len(calm))}')


def find_mistakes(jobs):
    """Job, cause and what is wrong, by the rules of judge()."""
    for j in jobs:
        for c in sorted(j['true'] - j['said'] if j['slowed'] else ()):
            yield j, c, 'missed'
        for c in sorted(j['said'] - j['true']):
            yield j, c, 'wrong'


def number(value, form='.1f'):
    return '-' if value is None else format(value, form)


def interval(value):
    return f"{number(value['mean'])} ({number(value['low'])} to {number(value['high'])})" \
        if value else '-'


def examined(j, cause):
    """What the answer says about a cause: cost, confidence, exposure."""
    of = next((c for c in j['answer']['causes'] if c['cause'] == cause), None)
    if not of:
        return 'not judged | - | -'
    if not of['examined']:
        return 'not examined | - | -'
    return (f"{interval(of['sec'])} | {number(of['confidence'], '.2f')} | "
            f"{number(of['exposure_sec'])}")


def list_mistakes(jobs):
    print('\nWhat is missed, and what is blamed wrongly:\n')
    mistakes = list(find_mistakes(jobs))
    if not mistakes:
        print('none')
        return
    print('| program | case | run time, s | undisturbed, s | verdict | excess, s | cause '
          '| its cost, s | confidence | exposure, s |\n' + '|---' * 10 + '|')
    for j, cause, what in mistakes:
        low, high = j['range']
        print(f"| {j['program']} | {j['case']} | {j['sec']:.0f} | "
              f"{j['alone']:.1f} ({low:.0f} to {high:.0f}) | {j['answer']['verdict']} | "
              f"{interval(j['answer'].get('excess_sec'))} | {what}: {NAMES.get(cause, cause)} | "
              f"{examined(j, cause)} |")
    print('\nIntervals hold 90 %.  The excess is over the run time without any cause, as explain '
          'estimates it.\nexplain gives no reason for a cause that it does not blame. With the '
          'verdict "none" the run did\nnot count as slow; otherwise the cost was too small a part '
          'of the excess or the confidence too low\n(judge() in np_blame.c has the limits).')


def main():
    jobs = read(sys.argv[1])
    alone = find_truth(jobs)
    print(f'{len(jobs)} jobs, {datetime.date.today()}. Run times undisturbed: ' +
          '; '.join(f'{p} {min(v):.0f} to {max(v):.0f} s (n {len(v)})'
                    for p, v in sorted(alone.items())) + '.')
    print('\n| case | jobs | slowed by 5 % or more | median change | verdicts |\n|---|---|---|---|---|')
    for case in CAUSES:
        here = [j for j in jobs if j['case'] == case]
        if not here:
            continue
        change = sorted(j['sec'] / j['alone'] - 1 for j in here)[len(here) // 2]
        verdicts = collections.Counter(j['answer']['verdict'] for j in here)
        print(f"| {case} | {len(here)} | {sum(j['slowed'] for j in here)} | {100 * change:+.0f} % | " +
              ', '.join(f'{n} {v}' for v, n in verdicts.most_common()) + ' |')
    table(jobs, '`netprof explain`:', lambda j: j['said'], list(NAMES))
    table(jobs, 'Baseline: the network whenever the leaf was over half full:',
          half_full, ['network'])
    table(jobs, 'Baseline: never anything:', lambda j: set(), ['network'])
    errors = []
    for j in jobs:
        if j['case'] != 'network' or not j['slowed']:
            continue
        cost = next((c['sec']['mean'] for c in j['answer']['causes']
                     if c['cause'] == 'network'), 0)
        errors.append(100 * abs(cost - (j['sec'] - j['alone'])) / j['sec'])
    if errors:
        print(f'\nShare of the run time assigned to the neighbour against the same job '
              f'undisturbed: mean error {sum(errors) / len(errors):.1f} points '
              f'(n {len(errors)}).')
    list_mistakes(jobs)


main()
