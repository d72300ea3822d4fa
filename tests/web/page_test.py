#!/usr/bin/python3
"""The page of `dpnmf web` in headless Chromium. run.sh starts the servers."""
import json
import os
import re
import signal
import subprocess

import browsing
from browsing import (WORK, Keys, check, client, exchanged, found_in_pages, go, js, long_name, looked_at, nothing_from_elsewhere, one,
                      press, reached_by_tab, seen, shown, text_of, unbroken, until)


def planned(dataset, rank, epsilon, mechanism='auto', rounds=''):
    go(f'#/plan?dataset={dataset}&rank={rank}&epsilon={epsilon}')
    js('''for (const [id, value] of Object.entries(arguments[0])) {
            const control = document.getElementById(id);
            control.value = value;
            control.dispatchEvent(new Event('input', {bubbles: true}));
          }''',
       {'rank': rank, 'epsilon': epsilon, 'mechanism': mechanism, 'rounds': rounds})
    wanted = {'dataset': dataset, 'rank': rank, 'epsilon': epsilon, 'mechanism': mechanism}
    until(lambda: wanted.items() <= json.loads(js('return document.querySelector(".view").dataset.planned') or '{}').items()
          and one('.view').get_attribute('aria-busy') == 'false'
          and (json.loads(js('return document.querySelector(".view").dataset.planned')).get('rounds') or '') == rounds,
          'the plan of the form')


def started():
    press('#start')
    until(lambda: seen('dialog[open]'), 'the question before the start')
    press('#dialog-yes')
    until(lambda: js('return location.hash').startswith('#/run/'), 'the view of the run')
    return js('return location.hash').removeprefix('#/run/')


def in_state(state):
    until(lambda: seen(f'.view[data-state={state}]'), 'the run ' + state)


# ---- The door


def test_a_planted_worker_sees_nothing_of_the_page():
    global page
    page = browsing.another_start_is_another_origin([*client(), 'web'], browsing.free_port())


def test_no_page_opens_beside_another_program():
    browsing.no_page_opens_beside(*client(), 'web')


def test_the_token_opens_the_page_once():
    reply, text = page.ask('/?token=' + '0' * 64)
    check(reply.status == 403 and 'wrong or was used' in text, 'a wrong token opens')
    reply, text = page.ask('/')
    check(reply.status == 401, 'the page opens without a token')
    check(js('return location.href') == f'http://{page.host}/#/data', 'the token or the key stays in the address')
    check('dpnmf' not in js('return document.cookie'), 'a script reads the cookie')
    reply, text = page.ask('/?token=' + page.address.split('token=')[1])
    check(reply.status == 403, 'the token opens twice')
    check('<script' not in text and 'Set-Cookie' not in reply.headers, 'the refusal holds more than words')


def test_the_key_stays_in_its_tab():
    browsing.the_key_stays_in_its_tab(page)


def session():
    headers = browsing.session(page)
    return headers['Cookie'], headers['X_Dpnmf_Key']


def test_it_answers_at_its_name_alone():
    browsing.answers_at_its_name_alone(page, browsing.session(page))


def test_a_call_needs_the_host_the_cookie_and_the_key():
    cookie, key = session()
    good = {'Cookie': cookie, 'X_Dpnmf_Key': key}
    reply, _ = page.ask('/api/runs', **good)
    check(reply.status == 200, f'the session is refused: {reply.status}')
    for what, status, request in [
            ('without a cookie', 401, {'X_Dpnmf_Key': key}),
            ('without the key', 403, {'Cookie': cookie}),
            ('with another key', 403, {**good, 'X_Dpnmf_Key': 'f' * 64}),
            ('from another page', 403, {**good, 'Origin': 'http://example.org'}),
            ('from another port', 403, {**good, 'Origin': f'http://{page.name}:{page.port + 1}'}),
            ('from an address without the name', 403, {**good, 'Origin': f'http://127.0.0.1:{page.port}'}),
            ('under two names', 421, {**good, 'host': [page.host, 'rebound.example']})]:
        reply, text = page.ask('/api/runs', **request)
        check(reply.status == status, f'a call {what} gets {reply.status}: {text[:200]}')
    body = json.dumps({'run': '0' * 32})
    for what, status, request in [
            ('without the key', 403, {'Cookie': cookie, 'Content_Type': 'application/json'}),
            ('as a form', 415, {**good, 'Content_Type': 'text/plain'}),
            ('with nothing', 401, {'Content_Type': 'application/json'})]:
        reply, text = page.ask('/api/cancel', 'POST', body, **request)
        check(reply.status == status, f'a POST {what} gets {reply.status}: {text[:200]}')
    reply, _ = page.ask('/', 'POST', body, **good)
    check(reply.status == 405, 'the page takes a POST')
    reply, _ = page.ask('/api/runs', 'DELETE', **good)
    check(reply.status == 405, 'a call takes DELETE')
    reply, _ = page.ask('/api/start', 'POST', 'x' * 100_000, Content_Type='application/json', **good)
    check(reply.status == 413, f'a body of any size is read: {reply.status}')
    reply, text = page.ask('/api/start', 'POST', '{"dataset": 7}', Content_Type='application/json', **good)
    check(reply.status == 400 and 'web-call-malformed' in text, 'a malformed call is taken')
    reply, _ = page.ask('/../../etc/passwd', **good)
    check(reply.status == 404, 'a path leads elsewhere')


def test_the_page_that_refuses_is_drawn():
    cookie, = browsing.driver.get_cookies()
    browsing.console_errors()
    browsing.driver.delete_all_cookies()
    browsing.driver.get(f'http://{page.host}/')
    shown('Open the whole address that dpnmf web printed.')
    check(js('return document.images[0].naturalWidth > 0 && document.styleSheets[0].cssRules.length > 0'), 'its files are refused')
    errors = [error for error in browsing.console_errors() if not error.startswith(f'http://{page.host}/ ')]  # of the page, that it is refused
    check(not errors, f'the console says {errors}')
    browsing.driver.execute_cdp_cmd('Network.setCookie', {
        'name': cookie['name'], 'value': cookie['value'], 'url': f'http://{page.host}/', 'httpOnly': True, 'sameSite': 'Strict'})
    browsing.driver.get(f'http://{page.host}/')
    browsing.ready()
    session()


def test_every_reply_has_the_policy():
    cookie, key = session()
    for path, headers in (('/', {}), ('/', {'Cookie': cookie}), ('/app.js', {'Cookie': cookie}),
                          ('/api/runs', {'Cookie': cookie, 'X_Dpnmf_Key': key}), ('/nothing', {'Cookie': cookie})):
        reply, _ = page.ask(path, **headers)
        policy = reply.headers['Content-Security-Policy'] or ''
        check("default-src 'none'" in policy and "script-src 'self'" in policy and 'unsafe' not in policy
              and "frame-ancestors 'none'" in policy, f'{path}: the policy is {policy}')
        check(reply.headers['Cache-Control'] == 'no-store' and reply.headers['X-Content-Type-Options'] == 'nosniff'
              and reply.headers['Referrer-Policy'] == 'no-referrer', f'{path}: headers are missing')
        check('Access-Control-Allow-Origin' not in reply.headers, f'{path}: others may read it')


def test_it_listens_on_loopback_alone():
    browsing.nobody_else_can_listen(page)


# ---- The views


def test_data_sets_show_their_budgets():
    go('#/data')
    shown('Population writers')
    shown('Largest next run epsilon 16', '[aria-label="Population writers"]')
    check('biopsies' in text_of(), 'a data set is missing')
    looked_at('data')


def test_a_budget_that_does_not_come_is_asked_again_alone():
    go('#/runs')
    away = {'error': {'code': 'curator-unreachable', 'kind': 'UNAVAILABLE', 'message': 'the curator is away'}}
    with exchanged('/api/budget?dataset=digits', 503, away):
        go('#/data')
        shown('the curator is away', '[aria-label="Population writers"]')
        shown('Largest next run', '[aria-label="Population patients"]')
        check(text_of('#banner') == '', 'the banner says of all what is true of one: ' + text_of('#banner'))
        cards = one('[aria-label="Population patients"]')
    shown('Largest next run', '[aria-label="Population writers"]')
    check(cards.is_displayed(), 'the other populations were drawn again')


def test_a_plan_follows_the_sliders():
    planned('digits', 10, 1)
    few = int(text_of('#reliable').split()[0])
    check('parts you can rely on' in text_of(), 'the forecast is missing')
    js('const s = document.getElementById("epsilon-slider"); s.value = 360; s.dispatchEvent(new Event("input", {bubbles: true}))')
    until(lambda: int(text_of('#reliable').split()[0]) > few, 'more parts at a larger epsilon')
    check(float(one('#epsilon').get_attribute('value')) > 5, 'the number does not follow the slider')
    until(lambda: seen('.curve canvas'), 'the curve')
    planned('digits', 10, 1)
    until(lambda: seen('.curve canvas'), 'the curve')
    shown('It would be accepted')
    looked_at('plan')


def mechanisms_of_the_program():
    cookie, key = session()
    _, text = page.ask('/api/facts', Cookie=cookie, X_Dpnmf_Key=key)
    return json.loads(text)['mechanisms']


def test_every_mechanism_that_can_be_trained_is_an_option():
    go('#/plan?dataset=biopsies&rank=2&epsilon=0.5')
    until(lambda: seen('#mechanism option'), 'the mechanisms')
    offered = js('return [...document.querySelectorAll("#mechanism option")].map(o => [o.value, o.disabled])')
    wanted = {one['name']: one['for_ratings'] or one['for_classes'] for one in mechanisms_of_the_program() if one['can_be_trained']}
    check(offered[0] == ['auto', False] and dict(offered[1:]) == wanted, f'the mechanisms are {offered}, and should be {wanted}')
    check('aimed' in wanted and 'objective' not in wanted, f'the mechanisms are {wanted}')
    planned('biopsies', 2, 0.5, 'aimed')
    shown('aimed, 2 rounds')
    check(one('#start').is_enabled(), 'a run of aimed is refused: ' + text_of('#verdict'))


def test_a_plan_over_the_budget_cannot_start():
    planned('biopsies', 2, 400)
    shown('It would be refused')
    check(not one('#start').is_enabled(), 'a run that would be refused can be started')
    planned('biopsies', 2, 0.5)
    check(one('#start').is_enabled(), 'a run that would be accepted cannot be started')


def test_a_run_starts_after_the_question_and_ends():
    planned('biopsies', 2, 0.5, 'statistics', 3)
    one('#start').send_keys(Keys.ENTER)
    until(lambda: seen('dialog[open]'), 'the question')
    check('epsilon 0.5' in text_of('dialog') and 'never returned' in text_of('dialog'), 'the cost is not said: ' + text_of('dialog'))
    check(js('return document.activeElement.value') == 'no', 'the focus is not on the way back')
    one('dialog').send_keys(Keys.ESCAPE)
    until(lambda: not seen('dialog'), 'the way back')
    check(js('return document.activeElement.id') == 'start', 'the focus is lost')
    runs['first'] = started()
    in_state('completed')
    until(lambda: seen('#parts[data-columns="2"] .part'), 'two parts')
    check('bare nuclei' in text_of('#parts'), 'the features have no names: ' + text_of('#parts'))
    shown('3 of 3', '#rounds')
    shown('epsilon 0.5', '#spent')


def test_parts_have_error_bars():
    until(lambda: seen('#errors'), 'the parts of the run that has ended')  # they are fetched once more
    press('#errors')
    until(lambda: 'shown' in text_of('#errors') or seen('#parts .problem'), 'the standard errors')
    check(not seen('#parts .problem'), text_of('#parts'))
    check(re.search(r'\d\.\d\d ± \d\.\d\d', text_of('#parts')), 'no error in the list: ' + text_of('#parts')[:300])
    shown('known only of completed runs that released second moments', '#reliance')
    looked_at('parts')
    one('[value=bars]').send_keys(Keys.SPACE)
    until(lambda: len(seen('canvas.bars')) == 2, 'the bars')
    check('largest at' in one('canvas.bars').get_attribute('aria-label'), 'the bars have no words')


def test_squares_are_pictures():
    planned('digits', 6, 6, 'statistics', 10)
    runs['digits'] = started()
    in_state('completed')
    until(lambda: len(seen('canvas.picture')) == 6, 'six pictures')
    inked = js('''const c = document.querySelector('canvas.picture'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        return [c.width, c.height, new Set(Array.from({length: 64}, (_, i) => d[4 * i])).size];''')
    check(inked[:2] == [8, 8] and inked[2] > 8, f'the picture is {inked}')
    looked_at('run')


def saved(name):
    """The bytes of a file that the page has given."""
    until(lambda: os.path.exists(f'{WORK}/saved/{name}'), 'the file ' + name)
    with open(f'{WORK}/saved/{name}', 'rb') as file:
        return file.read()


def test_a_picture_of_all_parts_is_saved():
    press('#save-picture')
    png = saved(f"parts-{runs['digits'][:12]}.png")
    check(png[:8] == b'\x89PNG\r\n\x1a\n' and int.from_bytes(png[16:20], 'big') > 800, f'the file begins with {png[:24]}')


def test_a_run_of_many_rounds_shows_its_change():
    until(lambda: seen('[aria-label=Progress] canvas'), 'the curve')
    shown('Change of W in the last round', '[aria-label=Progress]')


def test_pictures_are_transposed_and_this_is_remembered():
    pixels = '''const c = document.querySelector('canvas.picture'), d = c.getContext('2d').getImageData(0, 0, 8, 8).data;
        return Array.from({length: 64}, (_, i) => d[4 * i]);'''
    rows = js(pixels)
    columns = [rows[8 * (i % 8) + i // 8] for i in range(64)]
    check(rows != columns, 'the first part is its own transpose')
    press('#transpose')
    until(lambda: js(pixels) == columns, 'the transposed picture')
    check(one('#transpose').get_attribute('aria-pressed') == 'true', 'the button does not say that it is pressed')
    go('#/runs')
    until(lambda: not seen('canvas.picture'), 'the list of runs')
    go('#/run/' + runs['digits'])
    until(lambda: len(seen('canvas.picture')) == 6, 'six pictures')
    check(js(pixels) == columns, 'the setting is forgotten')
    browsing.driver.refresh()
    browsing.ready()
    until(lambda: len(seen('canvas.picture')) == 6, 'six pictures')
    check(js(pixels) == columns and js('return localStorage.length') == 0, 'the program forgets the setting')
    one('[value=bars]').send_keys(Keys.SPACE)
    until(lambda: not one('#transpose').is_displayed(), 'no button beside bars')
    one('[value=pictures]').send_keys(Keys.SPACE)
    press('#transpose')
    until(lambda: js(pixels) == rows, 'the picture as it was')


def test_a_run_is_cancelled_after_the_question():
    planned('digits', 3, 4, 'statistics', 20000)  # minutes: more than the slowest press
    started()
    until(lambda: seen('#cancel'), 'the button')
    js('document.getElementById("cancel").focus()')
    until(lambda: int((text_of('#rounds') or '0').split()[0]) >= 2, 'two rounds')
    in_state('running')
    check(js('return document.activeElement.id') == 'cancel', 'a new state takes the focus from the button')
    press('#cancel')
    until(lambda: seen('dialog[open]'), 'the question')
    check('stays spent' in text_of('dialog'), 'the cost is not said')
    press('#dialog-yes')
    in_state('cancelled')
    go('#/runs')
    until(lambda: 'cancelled' in text_of('table'), 'the state in the list')
    check(len(seen('tbody tr')) == 3, 'runs are missing')
    looked_at('runs')


def test_a_late_answer_to_cancel_does_not_undo_the_end():
    planned('digits', 3, 1, 'statistics', 20000)
    started()
    until(lambda: int((text_of('#rounds') or '0').split()[0]) >= 2, 'two rounds')
    # The answer, of the moment of the request, comes after the end is shown.
    js('''const real = window.fetch;
          window.answered = false;
          window.fetch = async (url, options) => {
            const reply = await real(url, options);
            if (!String(url).startsWith('/api/cancel')) return reply;
            window.fetch = real;
            const then = {...await reply.json(), state: 'RUN_STATE_CANCELLING'};
            while (!document.querySelector('.view[data-state=cancelled]')) await new Promise((next) => setTimeout(next, 5));
            setTimeout(() => { window.answered = true; }, 50);
            return new Response(JSON.stringify(then), {status: 200});
          };''')
    press('#cancel')
    until(lambda: seen('dialog[open]'), 'the question')
    press('#dialog-yes')
    until(lambda: js('return window.answered'), 'the late answer')
    check(seen('.view[data-state=cancelled]'), 'the run is shown as: ' + one('.view').get_attribute('data-state'))
    until(lambda: seen('#errors'), 'the parts of a run that has ended')


def test_two_runs_are_compared():
    planned('biopsies', 2, 0.5)
    other = started()
    in_state('completed')
    runs['paid'] = other
    go(f"#/compare/{runs['first']}/{other}")
    until(lambda: len(seen('#comparison tbody tr')) == 2, 'two pairs')
    cosines = [float(x) for x in re.findall(r'\b[01]\.\d{3}\b', text_of('#comparison table'))]
    check(len(cosines) == 2 and cosines[0] >= cosines[1] and cosines[0] <= 1, f'the cosines are {cosines}')
    looked_at('compare')
    go('#/data')
    shown('Spent epsilon', '[aria-label="Population writers"]')
    looked_at('budgets')


def test_what_a_run_gives_is_saved():
    go('#/run/' + runs['paid'])
    until(lambda: seen('#save-parts') and one('#save-parts').is_displayed(), 'what is known of the parts')
    shown('explains', '#parts')
    shown('reliability', '#parts')
    check('Change of W' not in text_of() and not seen('[aria-label=Progress] canvas'), 'two rounds are drawn as a curve')
    subprocess.run([*client(), 'model', runs['paid'], '--output', WORK + '/W.csv', '--parts', WORK + '/parts.csv'], check=True, capture_output=True)
    press('#save-w')
    press('#save-parts')
    with open(WORK + '/W.csv', 'rb') as file:
        check(saved(f"W-{runs['paid'][:12]}.csv") == file.read(), 'W.csv is not that of the program')
    with open(WORK + '/parts.csv', encoding='ascii') as file:
        theirs = [[float(x) for x in line.split(',')] for line in file.read().split()[1:]]
    ours = saved(f"parts-{runs['paid'][:12]}.csv").decode().split()
    check(ours[0] == 'part,explained,reliability,noise' and [[float(x) for x in line.split(',')] for line in ours[1:]] == theirs,
          f'parts.csv is {ours}, and should be {theirs}')


def test_the_ledgers_agree_and_receipts_are_good():
    go('#/ledger?dataset=biopsies')
    shown('The curator’s ledger and our copy agree', '#agreement')
    shown('5 receipts; each is signed', '#signatures')
    looked_at('ledger')
    cookie, key = session()
    reply, lines = page.ask('/api/receipts.jsonl?dataset=biopsies', Cookie=cookie, X_Dpnmf_Key=key)
    with open(WORK + '/receipts.jsonl', 'w', encoding='utf-8') as out:
        out.write(lines)
    verified = subprocess.run([os.environ['DPNMF_WEB_PROGRAM'], 'receipts', 'verify', WORK + '/receipts.jsonl',
                               '--key', WORK + '/data/receipt.pub'], capture_output=True, text=True)
    check(verified.returncode == 0, 'the saved receipts do not verify: ' + verified.stderr)


def test_a_late_answer_does_not_stand_for_another_data_set():
    go('#/ledger?dataset=digits')
    shown('Population writers')
    js('''window.real = window.fetch;
          window.fetch = async (url, options) => {
            const reply = await window.real(url, options);
            if (String(url).includes('dataset=biopsies') && String(url).startsWith('/api/budget'))
              await new Promise((resolve) => { window.late = resolve; });
            return reply;
          };''')
    choose = "const s = document.getElementById('ledger-dataset'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))"
    js(choose, 'biopsies')
    until(lambda: js('return Boolean(window.late)'), 'the slow answer')
    js(choose, 'digits')
    shown('Population writers')
    js('window.late(); window.fetch = window.real')
    js('return new Promise((resolve) => setTimeout(resolve, 300))')
    check('Population writers' in text_of() and 'Population patients' not in text_of(), 'the late answer is shown')


def test_every_mechanism_is_shown():
    facts = mechanisms_of_the_program()
    with open(WORK + '/mechanisms', 'w', encoding='utf-8') as out:
        json.dump([one['name'] for one in facts], out)
    trained = {one['name']: 'films' if one['for_ratings'] else 'classes' for one in facts if one['can_be_trained']}
    check({one['name'] for one in facts} - set(trained) == {'objective'}, 'a mechanism is not tried')
    commands = [subprocess.Popen([*client(), 'train', '--dataset', dataset, '--mechanism', name, '--rank', '2', '--epsilon', '1', '--spend-again', '--wait'],
                                 stdout=subprocess.DEVNULL) for name, dataset in trained.items()]
    check([command.wait(browsing.PATIENCE) for command in commands] == [0] * len(commands), 'a run has failed')

    def run_of(name):
        cookie, key = session()
        listed = json.loads(page.ask('/api/runs', Cookie=cookie, X_Dpnmf_Key=key)[1])['runs']
        return next(run['run_id'] for run in listed if run['specification']['parameters']['mechanism'] == name
                    and run['specification']['parameters']['dataset'] in ('films', 'classes'))
    subprocess.run([*client(), 'objective', run_of('moments'), '--epsilon', '0.1'], check=True, capture_output=True)
    for one in facts:
        go('#/run/' + run_of(one['name']))
        in_state('completed')
        shown('Mechanism ' + one['name'])
        until(lambda: bool(seen('#parts .part')) == one['gives_parts'] and not seen('#parts .loading'), 'the parts of ' + one['name'])
        if one['name'] in trained:
            planned(trained[one['name']], 2, 0.5, one['name'])
            shown(f'{one["name"]}, ')
    for view in ('#/runs', '#/ledger?dataset=films', '#/ledger?dataset=classes', '#/data', '#/compare/' + run_of('aimed')):
        go(view)
    errors = browsing.console_errors()
    check(not errors, f'the console says {errors}')


def test_an_earlier_release_is_a_prior_of_a_run_and_of_a_refit():
    go('#/plan?dataset=biopsies&rank=2&epsilon=0.5')
    until(lambda: len(seen('#prior option')) > 1, 'an earlier run to choose')
    listed = js('return [...document.querySelectorAll("#prior option")].map(o => o.value)')
    check(listed[0] == '' and runs['paid'] in listed and runs['first'] not in listed, f'the priors are {listed}')
    js('document.querySelector("details:has(#prior)").open = true')
    one('#prior').send_keys(Keys.ARROW_DOWN)  # by keyboard, to the first release
    chosen = one('#prior').get_attribute('value')
    check(chosen in listed[1:], 'the keyboard chooses no prior')
    until(lambda: json.loads(js('return document.querySelector(".view").dataset.planned') or '{}').get('prior') == chosen, 'the plan with the prior')
    check(one('#start').is_enabled(), 'a run with a prior is refused: ' + text_of('#verdict'))
    looked_at('prior')
    second = started()
    in_state('completed')
    shown('Priors run ' + chosen[:12])
    until(lambda: seen('#refit-prior'), 'the refit form')
    until(lambda: len(seen('#refit-prior option')) > 2, 'releases to choose from')
    js('const s = document.getElementById("refit-prior"); s.value = "none"')
    press('#refit')
    until(lambda: js('return location.hash') not in ('', '#/run/' + second) and seen('.view[data-state=completed]')
          and 'Fitted to the release of' in text_of(), 'the child')
    check('Priors' not in text_of(), 'the child has a prior')
    shown("people's squared length")


# ---- What servers of today do not show: replies are exchanged in the page


def test_only_a_release_of_moments_is_offered_again():
    go('#/run/' + runs['first'])  # of statistics
    in_state('completed')
    until(lambda: seen('#errors'), 'the parts')
    check(not seen('#choose') and not seen('#refit'), 'a refit is offered that the server refuses')
    go('#/run/' + runs['paid'])
    until(lambda: seen('#choose') and seen('#refit'), 'the chooser')


def test_a_run_without_parts_is_not_offered_for_comparison():
    cookie, key = session()
    _, text = page.ask('/api/runs', Cookie=cookie, X_Dpnmf_Key=key)
    listed = json.loads(text)['runs']
    names = {one['name']: one['gives_parts'] for one in mechanisms_of_the_program()}
    check(not names['class_moments'] and not names['objective'] and not names['ratings'], f'what gives parts is {names}')
    wanted = [run['run_id'] for run in listed if run['rounds_done'] > 0 and names[run['specification']['parameters']['mechanism']]]
    paid = next(run for run in listed if run['run_id'] == runs['paid'])
    for number, name in enumerate(names):
        added = json.loads(json.dumps(paid))
        added['run_id'] = f'{number:032x}'
        added['specification']['parameters']['mechanism'] = name
        listed.append(added)
        if names[name]:
            wanted.append(added['run_id'])
    go('#/runs')
    with exchanged('/api/runs', 200, {'runs': listed}):
        go(f"#/compare/{runs['first']}/{runs['paid']}")
        until(lambda: len(seen('#comparison tbody tr')) == 2, 'two pairs')
        offered = js('return [...document.querySelectorAll("#first option")].map(o => o.value)')
        check(offered == wanted, f'{offered} are offered, and should be {wanted}')


def test_what_has_gone_by_is_not_the_state_of_a_run():
    # Its events come before W does, and the end after it.
    past = {'event': {'cursor': '1', 'state': 'RUN_STATE_RUNNING', 'round': 1, 'rounds': 3}}
    go('#/runs')
    with exchanged('/api/watch', 200, f'data: {json.dumps(past)}\n\n'):
        go('#/run/' + runs['first'])
        until(lambda: seen('#errors'), 'the parts of a run that has ended')
        check(one('.view').get_attribute('data-state') == 'completed' and not seen('#cancel'), 'the run goes on again')


def test_a_run_that_is_not_there_is_called_so():
    for id in ('0' * 31 + 'e', 'nonsense'):
        go('#/run/' + id)
        check(text_of('h1') == 'No such run', 'the heading is ' + text_of('h1'))
    looked_at('no_run')


def test_an_outage_that_is_over_is_not_told():
    def events(*states):
        told = {'RUN_STATE_WAITING': 'The curator cannot be reached.', 'RUN_STATE_RUNNING': ''}
        return ''.join('data: ' + json.dumps({'event': {'cursor': str(i), 'state': state, 'round': 1, 'rounds': 3, 'message': told[state]}}) + '\n\n'
                       for i, state in enumerate(states, 1))
    for states, is_told in ((('RUN_STATE_RUNNING', 'RUN_STATE_WAITING'), True), (('RUN_STATE_WAITING', 'RUN_STATE_RUNNING'), False)):
        go('#/runs')
        with exchanged('/api/watch', 200, events(*states)):
            go('#/run/' + runs['first'])
            shown('1 of 3', '#rounds')
            check(('cannot be reached' in text_of('.events')) == is_told, f'after {states} it says {text_of(".events")}')


def test_what_a_quota_refuses_is_asked_again():
    busy = {'error': {'code': 'too-many-calls', 'kind': 'UNAVAILABLE', 'message': 'This identity has 256 open calls.'}}
    go('#/runs')
    with exchanged('/api/model', 503, busy):
        js('location.hash = arguments[0]', '#/run/' + runs['first'])
        shown('takes no further call now', '#banner')
    until(lambda: seen('#errors'), 'the parts')
    until(lambda: not text_of('#banner'), 'the end of the trouble')


def test_a_start_whose_answer_was_lost_is_the_same_run():
    planned('biopsies', 2, 0.5)
    lost = {'error': {'code': 'rpc-failed', 'kind': 'UNAVAILABLE', 'message': 'The connection was cut.'}}

    def start(count):
        press('#start')
        until(lambda: seen('dialog[open]'), 'the question')
        press('#dialog-yes')
        until(lambda: js('return window.sent.length') == count and one('#start').is_enabled(), 'the refusal')
        return json.loads(js('return window.sent.at(-1)'))['request_id']
    with exchanged('/api/start', 503, lost):
        first = start(1)
        check(start(2) == first, 'the same form may be charged twice')
        js('const e = document.getElementById("epsilon"); e.value = 0.25; e.dispatchEvent(new Event("input", {bubbles: true}))')
        until(lambda: json.loads(js('return document.querySelector(".view").dataset.planned') or '{}').get('epsilon') == 0.25
              and one('#start').is_enabled(), 'the plan of the other form')
        check(start(3) != first, 'another form is taken for the same run')


def test_what_the_analyst_does_not_offer_is_said():
    go('#/run/' + runs['paid'])
    until(lambda: seen('#choose'), 'the chooser')
    refusal = {'error': {'code': 'rpc-failed', 'kind': 'UNIMPLEMENTED', 'message': 'unknown call'}}
    with exchanged('/api/choose', 501, refusal):
        press('#choose')
        shown('Not offered by this analyst', '#choose-result')
    with exchanged('/api/refit', 501, refusal):
        press('#refit')
        shown('Not offered by this analyst', '#refit-result')


def test_the_choice_of_the_rank_is_shown():
    facts = [{'rank': k, 'stability': 1 - k / 20, 'held_out': .5 + .3 * min(k, 4) / 4, 'explained': .5 + k / 20, 'stable_parts': min(k, 4)}
             for k in range(1, 9)]
    replies = [{'progress': .5}] + [{'facts': f} for f in facts] + \
        [{'choice': {'rank': 4, 'expected': 5, 'sentence': '4 parts are stable; more are noise.'}}]
    events = [{'coherence': {'rank': k, 'parts': k, 'umass': -1.5, 'npmi': k / 10 - .2}} for k in range(1, 9)]
    events += [{'reply': r} for r in replies]
    with exchanged('/api/choose', 200, ''.join('data: ' + json.dumps(e) + '\n\n' for e in events)):
        press('#choose')
        shown('4 parts are stable', '#choice')
    until(lambda: len(seen('#choose-result canvas')) == 2, 'the plots')
    js('document.querySelector("#choose-result details").open = true')
    check('NPMI' in text_of('#choose-result table') and '-0.100' in text_of('#choose-result table').replace('−', '-'), 'the coherence is not in the table')
    check(one('#refit-rank').get_attribute('value') == '4', 'the advised rank is not offered')
    looked_at('choose')


def test_a_void_guarantee_is_marked():
    cookie, key = session()
    _, text = page.ask('/api/budget?dataset=digits', Cookie=cookie, X_Dpnmf_Key=key)
    budget = json.loads(text)
    budget['reply']['guarantee']['void_since'] = '1790000000'
    with exchanged('/api/budget?dataset=digits', 200, budget):
        go('#/data')
        shown('Guarantee void since', '[aria-label="Population writers"]')
        check('void' not in text_of('[aria-label="Population patients"]'), 'the mark is on the wrong population')
        looked_at('void')


def test_nothing_on_offer_is_said():
    with exchanged('/api/datasets', 200, {'datasets': []}):
        go('#/plan')
        shown('No data set')
        go('#/data')
        shown('The curator offers no data set')
    with exchanged('/api/runs', 200, {'runs': []}):
        go('#/runs')
        shown('No run yet')
        looked_at('empty')


# ---- Many, with long names


def test_many_runs_are_searched_filtered_and_in_pages():
    cookie, key = session()
    listed = json.loads(page.ask('/api/runs', Cookie=cookie, X_Dpnmf_Key=key)[1])['runs']
    paid = json.dumps(next(run for run in listed if run['run_id'] == runs['paid']))
    many = [json.loads(paid) for _ in range(200)]
    for number, run in enumerate(many):
        run['run_id'] = f'{number:012x}' + '0' * 20
        run['specification']['parameters']['dataset'] = long_name(f'set{number % 60:02}')
        run['state'] = 'RUN_STATE_FAILED' if number % 10 == 0 else 'RUN_STATE_COMPLETED'
    with exchanged('/api/runs', 200, {'runs': many}):
        go('#/runs')
        found_in_pages('runs', 200, 'set07 COMPLETED', 4)
        box = one('.view input[type=search]')
        box.clear()
        box.send_keys(many[77]['run_id'])
        until(lambda: '1 run, of 200 in all' in text_of(), 'the run of a whole id')
        box.clear()
        box.send_keys(Keys.SPACE)
        unbroken()
        js("const s = document.querySelector('.view select'); s.value = '=failed'; s.dispatchEvent(new Event('change'))")
        shown('20 runs, of 200 in all')
        check(js("return [...document.querySelectorAll('td .chip')].every((one) => one.innerText.includes('failed'))"), 'the filter keeps others')
        js("const s = document.querySelector('.view select'); s.value = ''; s.dispatchEvent(new Event('change'))")
        looked_at('many_runs')
        go('#/compare')
        looked_at('many_compare')


def test_many_data_sets_are_searched_and_in_pages():
    cookie, key = session()
    one_set = page.ask('/api/datasets', Cookie=cookie, X_Dpnmf_Key=key)[1]
    budget = page.ask('/api/budget?dataset=digits', Cookie=cookie, X_Dpnmf_Key=key)[1]
    many = [json.loads(one_set)['datasets'][0] for _ in range(60)]
    for number, dataset in enumerate(many):
        dataset['name'], dataset['population'] = long_name(f'set{number:02}'), long_name(f'group{max(4, number):02}')
    with exchanged('/api/datasets', 200, {'datasets': many}), exchanged('/api/budget', 200, budget):
        go('#/data')
        found_in_pages('data sets', 60, 'group04', 5)
        shown('Largest next run')
        unbroken()
        looked_at('many_data_sets')
        with exchanged('/api/receipts', 200, {'receipts': []}):
            go('#/ledger')
            looked_at('many_ledger')
    go('#/plan')


def test_thousands_of_features_have_reliable_parts_and_are_searched():
    names = [long_name(f'gene{number:04}') for number in range(5000)]
    subprocess.run([*client(), 'train', '--dataset', 'wide', '--mechanism', 'moments', '--rank', '2', '--epsilon', '8', '--wait'], check=True, capture_output=True)
    listed = subprocess.run([*client(), 'runs', '--search', 'wide', '--format', 'json'], check=True, capture_output=True).stdout
    go('#/run/' + json.loads(listed)['runs'][0]['run_id'])
    until(lambda: len(seen('.part')) == 2, 'the parts')
    shown('this takes a minute or more', '#reliance')
    check(text_of('.top-name') in names, 'a name is cut: ' + text_of('.top-name'))
    unbroken()
    until(lambda: 'reliability' in text_of('.part figcaption'), 'the reliability')
    looked_at('wide_parts')
    one('[value=features]').send_keys(Keys.SPACE)
    found_in_pages('features', 5000, 'gene4711', 1)
    # The reliability that comes while somebody types leaves the search alone.
    go('#/runs')
    parts = [{'explained': .5, 'reliability': .9, 'noise': False}] * 2
    js('''window.real = window.fetch;
          window.fetch = (url, options) => !String(url).startsWith('/api/parts') ? window.real(url, options)
            : new Promise((resolve) => { window.tell = () => resolve(new Response(arguments[0])); });''',
       'data: ' + json.dumps({'reply': {'parts': {'parts': parts}}}) + '\n\n')
    go('#/run/' + json.loads(listed)['runs'][0]['run_id'])
    until(lambda: len(seen('.part')) == 2, 'the parts')
    one('[value=features]').send_keys(Keys.SPACE)
    one('#parts input[type=search]').send_keys('gene')
    js('window.tell(); window.fetch = window.real')
    shown('below 0.60', '#reliance')
    check(js('return document.activeElement.type') == 'search', 'the search has lost the focus')
    unbroken()
    looked_at('wide_features')


# ---- The whole


def test_the_keyboard_reaches_everything():
    go('#/plan?dataset=biopsies')
    reached = reached_by_tab(40)
    for wanted in ('skip', 'Data sets', 'Ledger', 'dataset', 'rank', 'epsilon-slider', 'epsilon', 'mechanism', 'start'):
        check(wanted in reached, f'the keyboard does not reach {wanted}; it reaches {reached}')


def test_nothing_comes_from_elsewhere():
    nothing_from_elsewhere(page)


def test_a_server_that_is_gone_is_said():
    go('#/runs')
    with open(WORK + '/analyst.pid', encoding='ascii') as pid:
        os.kill(int(pid.read()), signal.SIGKILL)
    go('#/ledger')
    shown('cannot be reached', '#banner')
    looked_at('unreachable')


def test_the_end_of_the_program_is_said():
    check(page.end() == 0, 'Ctrl-C is not the ordinary end')
    js('location.hash = "#/data"')
    shown('dpnmf web has ended', '#banner')


page = None
runs = {}
browsing.run_tests(globals())
