#!/usr/bin/env python3
"""table.py JSON...: tables of test/bench/results, in Markdown, from what bench --json wrote."""
import json
import sys


def ms(v):
    return '' if not v else f'{v:.4f}' if v < 10 else f'{v:.4g}'


def error(v):
    return '' if not v or v < 0 else f'{v:.1e}'


def energy(v):
    return '' if not v else f'{v:.3g}'


def table(title, head, rows):
    if rows:
        print(f'### {title}\n\n| ' + ' | '.join(head) + ' |')
        print('|' + '---|' * len(head))
        for row in rows:
            print('| ' + ' | '.join(row) + ' |')
        print()


def seen(r, whose):
    """Of ours ('') or of the rival ('rival_'): ms, errors, mJ."""
    return [ms(r['reference_ms' if whose else 'median_ms']), error(r[whose + 'error']),
            error(r[whose + 'worst']), error(r[whose + 'structured']), energy(r[whose + 'mj'])]


def times(r):
    return f"{r['reference_ms'] / r['median_ms']:.2f}" if r['reference_ms'] else ''


def less(r):
    return f"{r['rival_mj'] / r['mj']:.2f}" if r['mj'] and r['rival_mj'] else ''


def over(r):
    return f"{r['median_ms'] / r['grid_ms']:.2f}" if r['grid_ms'] else ''


def gpu(rows, start):
    return [r for r in rows if r['row'].startswith('gpu ') and r['row'][4:].startswith(start)]


def main():
    rows = [r for path in sys.argv[1:] for r in json.load(open(path))]
    columns = ['ms', 'error', 'worst', 'object', 'mJ']
    gridding = gpu(rows, ('adjoint', 'forward'))
    table('Gridding beside cuFINUFFT, and beside cuFFT of its grid with two empty launches',
          ['work', *columns, *columns, 'times', 'energy', 'grid ms', 'over', 'asked', 'its way'],
          [[r['row'][4:], *seen(r, ''), *seen(r, 'rival_'), times(r), less(r), ms(r['grid_ms']),
            over(r), r['asked'], r['rival']] for r in gridding])
    toeplitz = [r for r in gpu(rows, 'Toeplitz') if r['reference_ms']]
    table('The Toeplitz operator beside pruned cuFFT',
          ['matrix', 'ms', 'mJ', 'its ms', 'its mJ', 'times', 'energy', 'difference', 'how'],
          [[r['row'][13:], ms(r['median_ms']), energy(r['mj']), ms(r['reference_ms']),
            energy(r['rival_mj']), times(r), less(r), error(r['error']), r['detail']]
           for r in toeplitz])
    rest = [r for r in gpu(rows, '') if r not in gridding and r not in toeplitz]
    table('Without a rival', ['work', 'ms', 'error', 'mJ', 'how'],
          [[r['row'][4:], ms(r['median_ms']), error(r['error']), energy(r['mj']), r['detail']]
           for r in rest])
    table('On the host', ['work', 'ms', "its ms", 'times', 'how'],
          [[r['row'], ms(r['median_ms']), ms(r['reference_ms']), times(r), r['detail']]
           for r in rows if not r['row'].startswith('gpu ')])


main()
