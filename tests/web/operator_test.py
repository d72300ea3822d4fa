#!/usr/bin/python3
"""The page of dpnmf-curator-web in headless Chromium. run.sh starts the servers, page_test.py has run"""
import json
import os
import signal
import stat
import subprocess

import browsing
from browsing import WORK, check, client, exchanged, found_in_pages, go, js, long_name, looked_at, one, press, seen, shown, text_of, until

# The page shows its --data-dir, and pictures show no path of this machine.
os.chdir(WORK)
DATA = 'data'
PROGRAM = [os.environ['DPNMF_WEB_OPERATOR'], '--data-dir', DATA]


def status():
    return json.loads(page.ask('/api/status', **session)[1])


def test_a_planted_worker_sees_nothing_of_the_page():
    global page
    page = browsing.another_start_is_another_origin(PROGRAM, browsing.free_port())
    check(js('return location.href') == f'http://{page.host}/#/budgets', 'the token or the key stays in the address')
    session.update(browsing.session(page))


def test_no_page_opens_beside_another_program():
    browsing.no_page_opens_beside(*PROGRAM)


def test_the_token_opens_the_page_once():
    reply, _ = page.ask('/')
    check(reply.status == 401, 'the page opens without a token')
    reply, text = page.ask('/?token=' + page.address.split('token=')[1])
    check(reply.status == 403 and 'Start dpnmf-curator-web again' in text, 'the token opens twice')


def test_the_key_stays_in_its_tab():
    browsing.the_key_stays_in_its_tab(page)


def test_it_answers_at_its_name_alone():
    browsing.answers_at_its_name_alone(page, session)


def test_a_call_needs_the_host_the_cookie_and_the_key():
    check(page.ask('/api/status', **session)[0].status == 200, 'the session is refused')
    for what, code, request in [
            ('without a cookie', 401, {'X_Dpnmf_Key': session['X_Dpnmf_Key']}),
            ('without the key', 403, {'Cookie': session['Cookie']}),
            ('from another page', 403, {**session, 'Origin': 'http://evil.example'})]:
        check(page.ask('/api/status', **request)[0].status == code, f'{what}: not {code}')
    reply, _ = page.ask('/', **session)
    policy = reply.headers['Content-Security-Policy']
    check(policy.startswith("default-src 'none'") and 'unsafe' not in policy, 'the policy is ' + policy)


def test_the_page_is_on_loopback_alone():
    browsing.nobody_else_can_listen(page)


def test_the_page_is_read_only():
    json_call = {**session, 'Content_Type': 'application/json', 'body': '{}'}
    for path in ('/api/status', '/api/doctor', '/api/declare', '/api/reload'):
        check(page.ask(path, method='POST', **json_call)[0].status == 404, f'POST {path} is taken')
    check(page.ask('/api/reload', **session)[0].status == 404, 'a request that changes something has an address')
    go('#/checks')
    check(not seen('input, select, dialog, form'), 'the page has controls')


def test_the_socket_is_the_users_alone():
    mode = os.stat(DATA + '/control.sock').st_mode
    check(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600, f'the mode is {oct(mode)}')


def test_budgets_are_shown():
    go('#/budgets')
    shown('Guarantee: epsilon 16 at delta 1e-05 (gaussian, replace_one)', '[aria-label="Population writers"]')
    shown('Spent epsilon', '[aria-label="Population writers"]')
    shown('digits 64 1,797', '[aria-label="Population writers"]')
    shown('Guarantee: epsilon 4', '[aria-label="Population patients"]')
    check(len(seen('.gauge-bar')) == 5, 'a gauge is missing')
    looked_at('operator_budgets')


def test_nothing_of_the_data_is_in_the_answer():
    text = json.dumps(status())
    for name in ('cell size', 'bare nuclei', 'hash', 'fingerprint', 'nonzero'):
        check(name not in text, f'the answer has {name}')


def test_runs_and_reservations_are_shown():
    go('#/runs')
    shown('closed', 'main')
    looked_at('operator_runs')


def test_open_runs_of_every_mechanism_are_shown():
    with open(WORK + '/mechanisms', encoding='utf-8') as file:
        names = json.load(file)
    answer = status()
    answer['runs']['open'] = [
        {'run_id': f'{number:032x}', 'identity': 'dns:analyst', 'population': 'writers', 'dataset': 'digits', 'mechanism': name, 'rounds': 3,
         'charged_rounds': 1, 'opened': answer['started'], 'charged': {'value': 0.1}, 'reserved': {'value': 0.2}} for number, name in enumerate(names)]
    with exchanged('/api/status', 200, answer):
        for view, words in (('#/runs', names), ('#/budgets', [f'{len(names)} open runs'])):
            go(view)
            for word in words:
                shown(word)
    errors = browsing.console_errors()
    check(not errors, f'the console says {errors}')


def test_peers_are_shown_with_what_they_spent():
    go('#/peers')
    shown('dns:analyst')
    shown('all, also future ones')
    charges = sum(budget['charges'] for budget in status()['identities']['list'][0]['budgets'])
    check(charges > 0 and 'writers' in text_of('table'), 'nothing is spent')
    looked_at('operator_peers')


def test_a_list_that_cannot_be_read_is_said():
    with open(WORK + '/allow.json', encoding='utf-8') as file:
        before = file.read()
    try:
        with open(WORK + '/allow.json', 'w', encoding='utf-8') as file:
            file.write('{')
        until(lambda: 'nobody has access' in text_of(), 'the damaged list')
        shown('allow-list-malformed')
    finally:
        with open(WORK + '/allow.json', 'w', encoding='utf-8') as file:
            file.write(before)
    until(lambda: 'nobody has access' not in text_of(), 'the mended list')


def test_the_ledger_is_shown():
    go('#/ledger')
    rows = status()['ledger']
    until(lambda: len(seen('tbody tr')) == min(25, len(rows['rows'])), 'the rows')
    shown(f"{len(rows['rows'])} rows; the latest first")
    check(rows['row_count'] >= len(rows['rows']) > 5, 'rows are missing')
    shown('charge', 'table')
    looked_at('operator_ledger')


def test_the_audit_log_is_shown():
    go('#/audit')
    shown('round-released', 'table')
    looked_at('operator_audit')


def test_the_checks_are_made_when_asked_for():
    go('#/checks')
    check(not seen('#verdict'), 'the checks ran by themselves')
    press('#check')
    until(lambda: seen('#verdict'), 'the verdict')
    shown('ledger', '#check-result')
    looked_at('operator_checks')


def test_a_row_that_comes_appears():
    go('#/ledger')
    newest = "return document.querySelector('tbody td').innerText"
    before = int(js(newest))
    subprocess.run([*client(), 'train', '--dataset', 'biopsies', '--rank', '2', '--epsilon', '0.1', '--spend-again', '--wait'],
                   check=True, capture_output=True)
    until(lambda: int(js(newest)) >= before + 3 and 'close' in text_of('tbody tr'), 'the rows of the run')


def test_many_rows_are_searched_filtered_and_in_pages():
    answer = status()
    run, row = 'f' * 31, answer['ledger']['rows'][0]
    answer['populations'] = [{**answer['populations'][0], 'name': long_name(f'group{n:02}')} for n in range(60)]
    answer['datasets'] = [{**answer['datasets'][0], 'name': long_name(f'set{n:02}'), 'population': long_name(f'group{n:02}')} for n in range(60)]
    answer['runs']['open'] = [
        {'run_id': f'{n:012x}' + '0' * 20, 'identity': long_name(f'dns:analyst{n % 60:02}'), 'population': long_name('group01'), 'dataset': long_name('set01'),
         'mechanism': 'statistics', 'rounds': 3000, 'charged_rounds': n, 'opened': answer['started'] + n, 'charged': {'value': 0.1}, 'reserved': {'value': 0.2}}
        for n in range(200)]
    answer['identities']['list'] = [{**answer['identities']['list'][0], 'identity': long_name(f'dns:analyst{n:02}'), 'all_datasets': False,
                                     'datasets': [long_name('set01'), long_name('set02')]} for n in range(60)]
    answer['ledger'] = {'row_count': 5000, 'rows': [
        {**row, 'sequence': 5000 - n, 'kind': 'charge' if n % 2 else 'population', 'population': long_name(f'group{n % 60:02}'), 'identity': long_name('dns:a'),
         'cost': {'value': 0.25}, 'run_id': run + 'f', 'round': n} for n in range(200)]}
    answer['audit'] = [
        {'event': 'round-released', 'time': '2026-11-26T23:50:17.578Z', 'identity': long_name('dns:a'), 'mu_squared': str(2 ** 58), 'run': run + 'f', 'round': n,
         'row': 'ab' * 32} if n % 2 else {'event': 'call', 'method': 'ListDatasets', 'time': '2026-11-26T23:50:17.578Z', 'identity': 'dns:a', 'result': 'ok'}
        for n in range(400)]
    with exchanged('/api/status', 200, answer):
        go('#/budgets')
        shown('1 to 25 of 60 populations; by name')
        looked_at('many_budgets')
        go('#/runs')
        found_in_pages('open runs', 200, 'analyst07', 4)
        looked_at('many_open_runs')
        go('#/peers')
        shown('1 to 10 of 60 identities')
        looked_at('many_peers')
        go('#/ledger')
        found_in_pages('rows', 200, 'charge group01', 4)
        check('cap 0.25 mu²' in text_of('table') and 'charged 0.25 mu²' in text_of('table'), 'a cap looks like a charge: ' + text_of('table')[:300])
        looked_at('many_rows')
        go('#/audit')
        shown('1 to 25 of 200 entries, of 400 in all; the latest first.')
        shown('charged 0.25 mu²', 'table')
        check('ListDatasets' not in text_of('table'), 'calls hide the events')
        js("const s = document.querySelector('.view select'); s.value = '=call'; s.dispatchEvent(new Event('change'))")
        shown('ListDatasets', 'table')
        looked_at('many_entries')
        # The typed search stays, and the focus with it, when something changes.
        box = one('.view input[type=search]')
        box.send_keys('listdata')
        answer['ledger']['row_count'] = 5001
        answer['audit'].insert(0, {**answer['audit'][0], 'identity': 'dns:the-latest'})
        with exchanged('/api/status', 200, answer):
            until(lambda: 'dns:the-latest' in text_of('table'), 'the latest entry')
            check(js("return document.querySelector('.view select').value") == '=call', 'the filter is lost')
            check(box.get_attribute('value') == 'listdata' and js('return document.activeElement.type') == 'search', 'the search is lost')
        # So does what was chosen, when no row has it for a while.
        with exchanged('/api/status', 200, {**answer, 'audit': [entry for entry in answer['audit'] if entry['event'] != 'call']}):
            shown('Nothing fits the search')
            check(js("return document.querySelector('.view select').value") == '=call', 'the filter has become another')


def test_the_keyboard_reaches_every_view():
    go('#/checks')
    reached = browsing.reached_by_tab(30)
    for wanted in ('skip', 'Budgets', 'Runs', 'Peers', 'Ledger', 'Audit', 'Checks', 'check'):
        check(wanted in reached, f'the keyboard does not reach {wanted}; it reaches {reached}')


def test_nothing_comes_from_elsewhere():
    browsing.nothing_from_elsewhere(page)


def test_a_curator_that_is_gone_is_said():
    go('#/ledger')
    with open(WORK + '/curator.pid', encoding='ascii') as pid:
        os.kill(int(pid.read()), signal.SIGKILL)
    until(lambda: 'cannot be reached' in text_of('#banner'), 'the curator that is gone')
    go('#/budgets')
    shown('Start dpnmf-curator serve')
    looked_at('operator_gone')


def test_the_end_of_the_program_is_said():
    check(page.end() == 0, 'Ctrl-C is not the ordinary end')
    js('location.hash = "#/runs"')
    shown('dpnmf-curator-web has ended', '#banner')


session = {}
page = None
browsing.run_tests(globals())
