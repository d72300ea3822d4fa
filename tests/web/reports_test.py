#!/usr/bin/python3
"""Each report that dpnmf-lab writes, of everything that it compares, in headless Chromium: it is drawn, and the console is silent."""
import gzip
import os
import re
import subprocess

import browsing
from browsing import WORK, check, console_errors, js, until

PROGRAMS = os.path.dirname(os.environ['DPNMF_WEB_PROGRAM'])
EXAMPLES = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + '/../../examples')
DIGITS = ['--input', EXAMPLES + '/digits/digits.csv.gz', '--users', 'rows']
FILES = WORK + '/reports'
commands = {}  # by the name of the report


def file_of(name, lines):
    path = f'{FILES}/{name}'
    with open(path, 'w', encoding='utf-8') as out:
        out.write('\n'.join(lines) + '\n')
    return path


def write(name, *arguments, program='dpnmf-lab', output=True):
    """Starts the command that writes the report."""
    with open(f'{FILES}/{name}.out', 'w', encoding='utf-8') as out:
        commands[name] = subprocess.Popen([f'{PROGRAMS}/{program}', *arguments, *(['--output', f'{FILES}/{name}'] if output else [])],
                                          stdout=out, stderr=subprocess.STDOUT)


def written(name):
    if commands[name].wait(browsing.PATIENCE) != 0:
        with open(f'{FILES}/{name}.out', encoding='utf-8') as out:
            raise AssertionError(f'{name}: {out.read()[-600:]}')


def opened(name, plots):
    """The report's data, if it is drawn with at least so many plots."""
    written(name)
    console_errors()  # of another page
    browsing.driver.get(f'file://{FILES}/{name}/report.html')
    errors = console_errors()
    check(not errors, f'{name}: the console says {errors}')
    check(js('return document.documentElement.dataset.drawn') == 'yes', f'{name}: it is not drawn')
    text = js('for (const folded of document.querySelectorAll("details")) folded.open = true; return document.body.innerText')
    check(not re.search(r'\b(undefined|NaN|Infinity)\b|\[object', text), f'{name}: it says {text}')
    faults = []
    for width, scheme in browsing.widths_and_schemes():
        cut = js('''return [document.documentElement, ...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth + 1)
            .map((one) => one.innerText.slice(0, 60))''')
        dark = js("return getComputedStyle(document.documentElement).backgroundColor") != 'rgb(255, 255, 255)'
        faults += [f'{name} {width} {scheme}: {fault}' for fault in [*browsing.violations(), *(['it is cut: ' + str(cut)] if cut else []),
                                                                      *([] if dark == (scheme == 'dark') else ['it is not ' + scheme])]]
        inked = js('''const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink').match(/[0-9a-f]{2}/g).map((pair) => parseInt(pair, 16));
            return [...document.querySelectorAll('.uplot canvas')].map((canvas) => {
              const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
              return [...pixels.keys()].filter((i) => i % 4 === 0 && ink.every((one, k) => pixels[i + k] === one)).length;
            })''')
        faults += [f'{name} {width} {scheme}: {count} pixels of a plot have the ink of its letters' for count in inked if count < 20]
    check(not faults, '\n  '.join(faults[:8]))
    drawn = js('return document.querySelectorAll(".uplot canvas").length')
    check(drawn >= plots, f'{name}: it has {drawn} plots')
    alike = js('''return [...document.querySelectorAll('.legend')].filter((legend) => {
        const lines = [...legend.querySelectorAll('line')].map((one) => one.getAttribute('stroke') + ' ' + one.getAttribute('stroke-dasharray'));
        return new Set(lines).size !== lines.length;
      }).map((legend) => legend.innerText)''')
    check(not alike, f'{name}: lines look alike in {alike}')
    return js('return JSON.parse(document.getElementById("data").textContent)')


def named(flag, *arguments):
    """The names that the flag takes, as its refusal of another name says."""
    refusal = subprocess.run([f'{PROGRAMS}/dpnmf-lab', *arguments, flag, 'x', '--output', FILES + '/none'], capture_output=True, text=True).stderr
    found = re.search(r' must be (.*) or all, not "x"', refusal)
    check(found, refusal)
    return set(re.split(r',\s*', found[1])) - {'auto'}


# ---- The commands, at once

os.makedirs(FILES)
with open(EXAMPLES + '/wbc/wbc.csv', encoding='ascii') as lines:
    biopsies = lines.read().split()
findings = ['--input', file_of('findings.csv', [line.rpartition(',')[0] for line in biopsies[:200]]), '--users', 'rows']
words = file_of('words', 'thickness size shape adhesion epithelial nuclei chromatin nucleoli mitoses'.split())
table = file_of('table.csv', biopsies[:200])
with gzip.open(EXAMPLES + '/ratings/ratings.csv.gz', 'rt') as lines:
    ratings = lines.read().split('\n')[1:]
films = sorted({line.split(',')[1] for line in ratings[:100]})[:20]
ratings = [line.rpartition(',')[0] for line in ratings if line.split(',')[1:2] and line.split(',')[1] in films][:300]
people = sorted({line.split(',')[0] for line in ratings})
rated = ['--ratings', file_of('ratings.csv', ratings), '--rating-range', '1,5']
listed = ['--items', file_of('films', films)]
sides = ['--user-features', file_of('people.csv', ['id,age'] + [f'{one},{10 * (i % 7)}' for i, one in enumerate(people)]),
         '--item-features', file_of('films.csv', ['id,kind'] + [f'{one},{"abc"[i % 3]}' for i, one in enumerate(films)]), '--clusters', '2,2']
few = ['--ratings', file_of('few.csv', ratings[:40]), '--rating-range', '1,5']
public = ['--public', '--seed', '1']
data = ['--data-dir', FILES + '/data', '--anchor-dir', FILES + '/anchor']

write('everything', 'evaluate', *findings, *public, '--rank', '2', '--epsilon', '1,4', '--repeats', '2', '--rounds', '2,3', '--outliers', 'both',
      '--outlier-experiment', '--image-width', '3', '--vocabulary', words, '--prior', findings[1])
write('defaults', 'evaluate', *DIGITS, *public, '--rank', '10', '--epsilon', '1,4', '--repeats', '2')
for order in ('row', 'column'):
    write(order, 'evaluate', *DIGITS, '--rank', '1', '--epsilon', '1', '--mechanism', 'none', '--repeats', '1', '--image-width', '8', '--image-order', order)
write('ratings', 'evaluate', *rated, *listed, *public, '--epsilon', '1,10', '--repeats', '2')
write('study', 'evaluate', *few, *listed, *public, '--epsilon', '10', '--repeats', '1', '--methods', 'ratings', '--published-study')
write('distort', 'distort', '--input', table, '--users', 'rows', '--class-column', '10', *public, '--method', 'all', '--as-published', '--iterations', '50')
write('worth', 'synthesise', '--input', table, '--class-column', '10', *public, '--range', '1,10', '--integers', '--column-bound', '30',
      '--epsilon', '.5,4', '--repeats', '1')
write('fit', 'complete', 'fit', *rated, *sides, *public, '--epsilon', '4')
write('svd', 'complete', 'svd', *rated, *public, '--rank', '3')
write('weights', 'complete', 'weights', *rated, *sides, *public)
write('experiment', 'complete', 'experiment', *rated, *sides, *public, '--rank', '3', '--split', '50:50')
write('imported', 'import', *data, '--name', 'biopsies', '--population', 'patients', '--input', table, '--users', 'rows', '--class-column', '10',
      '--classes', '1,-1', '--normalise', 'none', '--column-bound', '30', '--range', '1,10', '--integers', '--epsilon', '8', '--delta', '1e-6',
      program='dpnmf-curator', output=False)


# ---- Evaluations


def test_the_default_mechanisms_are_drawn():
    data = opened('defaults', 4)
    drawn = {row['mechanism'] for row in data['summary']}
    wanted = named('--mechanism', 'evaluate', *DIGITS, '--rank', '2', '--epsilon', '1')
    check(drawn == wanted | {'nndsvd'}, f'{drawn} are drawn, and should be {wanted}')
    legend = js('return document.querySelector(".legend").innerText.split("\\n")')
    check(len(legend) == len(drawn) and 'aimed' in legend and 'no privacy' in legend, f'the legend is {legend}')


def test_every_part_of_an_evaluation_is_drawn():
    data = opened('everything', 6)
    check({row['mechanism'] for row in data['summary']} >= {'prior', 'nndsvd', 'aimed'}, 'a mechanism is missing')
    for heading in ('Learning curves', 'The published algorithm', 'Outliers', 'Parts', 'Topics', 'Options'):
        check(js('return [...document.querySelectorAll("h2")].some((one) => one.innerText.startsWith(arguments[0]))', heading), heading + ' is missing')


def test_parts_are_filled_by_rows_or_by_columns():
    drawn = {}
    for order in ('row', 'column'):
        opened(order, 0)
        drawn[order] = js('''const pen = document.querySelector('canvas.parts').getContext('2d');
            return Array.from({length: 64}, (_, i) => pen.getImageData(4 + 7 * (i % 8) + 3, 4 + 7 * Math.floor(i / 8) + 3, 1, 1).data[0]);''')
    rows = drawn['row']
    check(len(set(rows)) > 8, f'the picture is {rows}')
    check(drawn['column'] == [rows[8 * (i % 8) + i // 8] for i in range(64)] != rows, 'the picture is not filled by its columns')


def test_every_recommender_is_drawn():
    data = opened('ratings', 4)
    drawn = {row['method'] for row in data['summary']}
    wanted = named('--methods', 'evaluate', *rated, *listed, '--epsilon', '1')
    check(drawn == wanted, f'{drawn} are drawn, and should be {wanted}')
    opened('study', 8)


# ---- Tables that may be published


def test_every_distortion_is_drawn():
    data = opened('distort', 4)
    check(len(data['tables']) > 11, f'there are {len(data["tables"])} tables')


def test_every_completion_is_drawn():
    for name in ('fit', 'svd', 'weights', 'experiment'):
        opened(name, 0)
    opened('fit', 0)  # no release, so no guarantee; with its Pi
    private = js('''const rows = [...document.querySelectorAll('table')].filter((one) => one.innerText.includes('guarantee'))
        .flatMap((one) => [...one.rows].map((row) => [...row.cells].map((cell) => cell.textContent)));
        return rows.filter((cells) => cells.length > 4 && cells[0].includes('epsilon 4'));''')
    check(private and private[0][1] == '–' and '–' not in private[0][2:4], f'the private completion is {private}')
    check('judged by dpnmf-lab complete' in js('return document.body.innerText'), 'completions are called drawn')


def test_tables_from_releases_are_drawn():
    opened('worth', 1)
    check(js('return document.body.innerText').count(' at delta ') == 2, 'the guarantees have no delta')
    write('given', 'synthesise', '--synthetic', table, '--test', table, '--class-column', '10')
    opened('given', 0)
    check('epsilon' not in js('return [...document.querySelectorAll("td")].map((one) => one.innerText).join()'), 'a guarantee that nobody stated')
    written('imported')
    write('paid', 'synthesise', *data, '--name', 'biopsies', '--epsilon', '4', program='dpnmf-curator')
    written('paid')
    write('drawn', 'synthesise', '--release', FILES + '/paid', '--count', '200', '--test', table, '--class-column', '10')
    opened('drawn', 0)
    check('What was drawn' in js('return document.body.innerText'), 'the release is not named')


def test_every_attack_is_drawn_and_beside_others():
    written('distort')
    write('attack', 'attack', '--original', table, '--published', FILES + '/distort/svd/table.csv', '--class-column', '10', *public)
    opened('attack', 1)
    write('beside', 'attack', '--original', table, '--published', FILES + '/distort/nmf/table.csv', '--class-column', '10', *public,
          '--beside', FILES + '/worth')
    opened('beside', 4)


browsing.run_tests(globals())
