"""Parts that the tests of the pages share: a program that serves one, and headless Chromium."""
import contextlib
import http.client
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import traceback
import urllib.parse

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

WORK = os.environ['DPNMF_WEB_WORK']
CERTS = os.environ['DPNMF_WEB_CERTS']
IMAGES = os.environ.get('DPNMF_WEB_IMAGES')
# Those of docs/reference/web.md.
PICTURES = (('budgets', 400, 'dark'), ('plan', 1280, 'light'), ('parts', 1280, 'light'), ('compare', 1280, 'light'),
            ('operator_budgets', 1280, 'light'), ('operator_peers', 400, 'dark'))
PATIENCE = 120  # seconds until a condition counts as missed; nothing waits for it

with open(os.path.join(os.path.dirname(__file__), 'audit.js'), encoding='utf-8') as file:
    AUDIT = file.read()


# axe-core (tests/web/axe), which the page itself never has.
with open(os.path.join(os.path.dirname(__file__), 'axe/axe.min.js'), encoding='utf-8') as file:
    AXE = file.read()


def client():
    """The program dpnmf with the flags of its server and certificate."""
    return [os.environ['DPNMF_WEB_PROGRAM'], '--server', os.environ['DPNMF_WEB_SERVER'],
            '--ca', CERTS + '/ca.crt', '--cert', CERTS + '/tls.crt', '--key', CERTS + '/tls.key']


class Page:
    """A program that prints the address of a page, in a process of its own."""

    all = []

    def __init__(self, *command):
        Page.all.append(self)
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.name, self.port = parts.netloc, parts.hostname, parts.port

    def ask(self, path, method='GET', body=None, host=None, at='127.0.0.1', **headers):
        """A request as no browser would make it."""
        connection = http.client.HTTPConnection(at, self.port, timeout=PATIENCE)
        connection.putrequest(method, path, skip_host=True)
        for one in host if isinstance(host, list) else [host or self.host]:
            connection.putheader('Host', one)
        for name, value in headers.items():
            connection.putheader(name.replace('_', '-'), value)
        if body is not None:
            connection.putheader('Content-Length', str(len(body)))
        connection.endheaders(body.encode() if body is not None else None)
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        return reply, text

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE)


def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = '/usr/bin/chromium'
    for flag in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
                 '--disable-component-update', '--no-first-run', '--user-data-dir=' + WORK + '/chromium'):
        options.add_argument(flag)
    options.add_experimental_option('prefs', {'download.default_directory': WORK + '/saved'})
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    return webdriver.Chrome(service=Service('/usr/bin/chromedriver'), options=options)


# ---- Another user of this machine


def family_of(address):
    return socket.AF_INET6 if ':' in address else socket.AF_INET


def loopback_addresses():
    """The loopback addresses that this machine has."""
    found = ['127.0.0.1']
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6) as six:
        six.bind(('::1', 0))
        found.append('::1')
    return found


claims = []  # sockets, until this program ends


def free_port():
    """A port that nobody holds at either address. The system gives it to nobody who names none, and no other test takes
    it: a name in the abstract namespace is held for each port in use, as tests/common/web/http_server_test.cc does."""
    for port in range(20000, 32768):
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            claim = held.enter_context(socket.socket(socket.AF_UNIX))
            claim.bind(f'\0dpnmf-test-port-{port}')
            for address in loopback_addresses():
                held.enter_context(contextlib.closing(socket.create_server((address, port), family=family_of(address))))
            claims.append(claim.dup())
            return port
    raise AssertionError('no port is free')


# It notes the addresses that it sees, and the page's calls with the key that they carry. It shows them at /seen.
WORKER = """
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => event.respondWith((async () => {
  const notes = await caches.open('notes');
  if (event.request.url.endsWith('/seen')) {
    const seen = (await notes.keys()).map((one) => decodeURIComponent(new URL(one.url).search.slice(1)));
    return new Response('<link rel="icon" href="data:,"><pre>' + seen.join('\\n') + '</pre>', {headers: {'Content-Type': 'text/html'}});
  }
  const key = event.request.headers.get('X-Dpnmf-Key') || '';
  await notes.put('/note?' + encodeURIComponent(event.request.url + ' ' + key), new Response(''));
  return fetch(event.request);
})()));
"""
PLANT = """<!DOCTYPE html><link rel="icon" href="data:,"><script>
document.cookie = 'dpnmf_web=planted; Path=/';
localStorage.setItem('dpnmf-key', 'f'.repeat(64));
navigator.serviceWorker.register('/worker.js');
navigator.serviceWorker.ready.then(() => { document.title = 'planted'; });
</script>"""


class Squatter(http.server.ThreadingHTTPServer):
    """Holds the port at the address, and plants a service worker in each browser that comes."""
    daemon_threads = True

    def __init__(self, address, port):
        self.address_family = family_of(address)
        self.lines = []
        super().__init__((address, port), Squatter.Handler)

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()
        for line in self.lines:  # also those that the browser keeps for later
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def get_request(self):
        line, address = super().get_request()
        self.lines.append(line)
        return line, address

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            kind, body = ('text/javascript', WORKER) if self.path == '/worker.js' else ('text/html', PLANT)
            self.send_response(200)
            self.send_header('Content-Type', kind)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):  # pylint: disable=arguments-differ
            pass


def plant(hosts, port):
    """A worker at each of the addresses, while no page holds the port."""
    with Squatter('127.0.0.1', port):
        for host in hosts:
            driver.get(f'http://{host}:{port}/')
            until(lambda: driver.title == 'planted', 'the worker of ' + host)
            driver.get(f'http://{host}:{port}/probe')


def seen_by_workers(hosts, port):
    """The addresses and keys that the planted workers saw, in a tab of its own."""
    first = driver.current_window_handle
    driver.switch_to.new_window('tab')
    seen = []
    for host in hosts:
        driver.get(f'http://{host}:{port}/seen')
        seen += driver.find_element('tag name', 'body').text.split('\n')
    driver.close()
    driver.switch_to.window(first)
    return seen


def no_page_opens_beside(*command):
    """The program refuses a port that another program holds at one of the addresses."""
    for address in loopback_addresses():
        port = free_port()
        with Squatter(address, port):
            process = subprocess.Popen([*command, '--port', str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            printed = process.stdout.readline()
            process.kill() if printed else process.wait(PATIENCE)
            said = process.stderr.read()
            check(not printed, f'with {address} held by another program it prints {printed}')
            name = '[::1]' if ':' in address else address
            check(process.returncode == 5 and f'Port {port} of {name} cannot be used' in said and '[port-unavailable]' in said,
                  f'with {address} held it ends with {process.returncode}: {said}')


def answers_at_its_name_alone(page, headers):
    """At each loopback address, all requests under another name are refused."""
    for address in loopback_addresses():
        check(page.ask('/api/facts', at=address, **headers)[0].status == 200, 'it does not answer at ' + address)
        for host in (f'127.0.0.1:{page.port}', f'localhost:{page.port}', f'[::1]:{page.port}', f'{"0" * 32}.localhost:{page.port}', page.name,
                     f'{page.name}:{page.port + 1}', f'{page.name}.:{page.port}', page.host.upper(), f'rebound.example:{page.port}'):
            for path in ('/', '/api/facts', '/icon.svg', '/closed.css', '/page.css', '/calls.js', page.address.partition(page.host)[2]):
                reply, text = page.ask(path, host=host, at=address, **headers)
                check(reply.status == 421 and '<' not in text, f'{path} at {host} gets {reply.status}: {text[:100]}')
        for head in ('GET / HTTP/1.0', 'GET /icon.svg HTTP/1.0', 'GET / HTTP/1.1'):
            with socket.create_connection((address, page.port), PATIENCE) as line:
                line.sendall(f'{head}\r\n\r\n'.encode())
                first = line.makefile('rb').readline()
                check(b' 421 ' in first, f'{head} without Host gets {first}')


def nobody_else_can_listen(page):
    """At the port of the page, and nothing but loopback has it."""
    listening = subprocess.run(['ss', '-tlnH', f'sport = :{page.port}'], capture_output=True, text=True, check=True).stdout
    held = sorted(line.split()[3].rpartition(':')[0].strip('[]') for line in listening.splitlines())
    check(held == sorted(loopback_addresses()), f'it listens on {held}')
    for address in [*loopback_addresses(), '0.0.0.0']:
        with contextlib.suppress(OSError):
            Squatter(address, page.port).server_close()
            raise AssertionError(f'another program listens at {address}')


driver = None  # of run_tests


def until(condition, what):
    def quiet(_):
        try:
            return condition()
        except StaleElementReferenceException:
            return False
    try:
        return WebDriverWait(driver, PATIENCE, poll_frequency=0.05).until(quiet, 'never: ' + what)
    except TimeoutException:
        print(driver.current_url, driver.find_element('tag name', 'body').text, sep='\n')
        raise


def js(script, *arguments):
    return driver.execute_script(script, *arguments)


def one(css):
    return driver.find_element(By.CSS_SELECTOR, css)


def seen(css):
    return driver.find_elements(By.CSS_SELECTOR, css)


def text_of(css='main'):
    return ' '.join(js('return document.querySelector(arguments[0])?.innerText ?? ""', css).split())


def press(css):
    """By keyboard: a view that still grows moves a button away between the pointer's steps.
    That the pointer reaches each button is part of audit.js."""
    until(lambda: one(css).is_displayed() and one(css).is_enabled(), css + ' that can be pressed')
    one(css).send_keys(Keys.ENTER)


def shown(words, css='main'):
    until(lambda: words in text_of(css), f'"{words}" in {css}; it says: {text_of(css)[:400]}')


def go(address):
    js('location.hash = arguments[0]', address)
    until(lambda: js('return document.getElementById("main").dataset.ready') == address, 'the view ' + address)


def emulate(width, scheme, height=900):
    driver.execute_cdp_cmd('Emulation.setDeviceMetricsOverride',
                           {'width': width, 'height': height, 'deviceScaleFactor': 1, 'mobile': False})
    driver.execute_cdp_cmd('Emulation.setEmulatedMedia',
                           {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
    # Two frames: the layout has settled and canvases are drawn.
    driver.execute_async_script('requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))')


def check(truth, what):
    if not truth:
        raise AssertionError(what)


def violations():
    """What axe-core finds in the page that is shown."""
    if not js('return Boolean(window.axe)'):
        js(AXE)
    passed, found = driver.execute_async_script('''
        const done = arguments[0];
        axe.run(document, {resultTypes: ['violations']}).then(
          ({passes, violations}) => done([passes.length, violations.map(({id, nodes}) =>
            `${id}: ` + nodes.slice(0, 3).map((node) => node.html.slice(0, 150) + ' ' + (node.any[0] || node.all[0] || node.none[0])?.message).join('; '))]),
          (error) => done([0, [String(error)]]));''')
    return found + ([f'axe-core checked {passed} rules'] if passed < 10 else [])


def widths_and_schemes():
    """Shows the page in each of them, one after the other."""
    for width in (1280, 400):
        for scheme in ('light', 'dark'):
            emulate(width, scheme)
            yield width, scheme
    emulate(1280, 'light')


def looked_at(name):
    """Measures the view, at both widths and in both schemes; its picture if wanted."""
    faults = []
    for width, scheme in widths_and_schemes():
        faults += [f'{name} {width} {scheme}: {fault}' for fault in js(AUDIT + '; return audit();') + violations()]
        if (name, width, scheme) not in PICTURES:
            continue
        if WORK in js('return document.body.innerText'):
            faults.append(f'{name} {width} {scheme}: the picture would show a path of this machine')
        if IMAGES:
            high = js('return Math.min(2400, document.documentElement.scrollHeight)')
            emulate(width, scheme, max(700, high))
            driver.save_screenshot(f'{IMAGES}/web_{name}_{width}.png')
    check(not faults, '\n  '.join([f'{len(faults)} faults'] + faults[:12]))


def ready():
    until(lambda: js('return document.getElementById("main")?.dataset.ready'), 'the first view')


def open_page(page):
    driver.get(page.address)
    ready()


def session(page):
    """The headers that a call needs."""
    cookie, = driver.get_cookies()
    check(cookie['httpOnly'] and cookie['sameSite'] == 'Strict', 'the cookie is open to scripts or other pages')
    check(cookie['domain'] == page.name, 'the cookie goes to ' + cookie['domain'])
    return {'Cookie': f"{cookie['name']}={cookie['value']}", 'X_Dpnmf_Key': js('return sessionStorage.getItem("dpnmf-key")')}


def another_start_is_another_origin(command, port):
    """A worker that was planted at each address of the port, also at that of an earlier start, sees nothing of the page, which is returned."""
    earlier = Page(*command, '--port', str(port))
    check(re.fullmatch(rf'http://[0-9a-f]{{32}}\.localhost:{port}/\?token=[0-9a-f]{{64}}', earlier.address), 'the address is ' + earlier.address)
    open_page(earlier)
    check(earlier.end() == 0, 'Ctrl-C is not the ordinary end')
    hosts = ['127.0.0.1', 'localhost', earlier.name]
    plant(hosts, port)
    for log in ('performance', 'browser'):
        driver.get_log(log)
    page = Page(*command, '--port', str(port))
    check(page.name != earlier.name, 'the name comes again')
    open_page(page)
    check(js('return navigator.serviceWorker.controller') is None
          and not driver.execute_async_script('navigator.serviceWorker.getRegistrations().then((all) => arguments[0](all.length))'), 'the page has a worker')
    secrets = [page.address.split('token=')[1], session(page)['X_Dpnmf_Key']]
    seen = seen_by_workers(hosts, port)
    check(all(any(one.startswith(f'http://{host}:{port}/probe') for one in seen) for host in hosts), 'a worker sees nothing at all')
    check(not any(secret in one for one in seen for secret in secrets), f'a worker saw {seen}')
    return page


def the_key_stays_in_its_tab(page):
    """It is in no address, and the first tab keeps it; another one says how to get a new address."""
    key = session(page)['X_Dpnmf_Key']
    check(re.fullmatch('[0-9a-f]{64}', key), f'the key is {key}')
    addresses = [message['params'][field] if field == 'documentURL' else message['params']['request']['url']
                 for message in (json.loads(entry['message'])['message'] for entry in driver.get_log('performance'))
                 if message['method'] == 'Network.requestWillBeSent' for field in ('documentURL', 'url')]
    check(any('/api/facts' in one for one in addresses), 'the check is blind')
    check(not any(key in one for one in addresses), 'the key stands in an address')
    check(not any('token' in one for one in addresses if '/?token' not in one) and 'token' not in js('return location.href'), 'the token stays in the address')
    check(js('return localStorage.length') == 0, 'something is kept for every tab')
    driver.refresh()
    ready()
    check(not text_of('#banner'), 'loaded again it says ' + text_of('#banner'))
    first = driver.current_window_handle
    driver.switch_to.new_window('tab')
    for address in (f'http://{page.host}/', page.address):
        driver.get(address)
        shown('This page is open in another tab.', '#banner')
        shown('again and open the new address that it prints.', '#banner')
        check(js('return sessionStorage.length') == 0, 'another tab has the key')
    looked_at('other_tab')
    driver.close()
    driver.switch_to.window(first)


@contextlib.contextmanager
def exchanged(path, status, reply):
    """Calls to `path` get `reply` in the place of the program's, the last that was given; window.sent has their bodies."""
    js('''window.realFetch = window.realFetch || window.fetch;
          window.exchanges = window.exchanges || [];
          window.exchanges.push(arguments);
          window.sent = [];
          window.fetch = (url, options) => {
            const found = window.exchanges.findLast(([path]) => String(url).startsWith(path));
            if (!found) return window.realFetch(url, options);
            window.sent.push(options.body);
            return Promise.resolve(new Response(found[2], {status: found[1]}));
          };''',
       path, status, reply if isinstance(reply, str) else json.dumps(reply))
    try:
        yield
    finally:
        js('window.exchanges.pop(); if (!window.exchanges.length) window.fetch = window.realFetch')


LONG = 'of-the-department-of-very-long-names-and-of-all-other-matters-that-are-counted'


def long_name(start):
    """80 characters."""
    return f'{start}-{LONG}'[:80]


def unbroken():
    """Ids and dates stand on one line, and nothing is cut off, at both widths."""
    for width in (400, 1280):
        emulate(width, 'light')
        broken = js('''return [...document.querySelectorAll('main time, main code.nowrap, main .top-name, main td > div')].filter((one) =>
        one.matches('time, code') ? one.getClientRects().length > 1 : one.scrollWidth > one.clientWidth + 1).map((one) => one.outerHTML.slice(0, 200))''')
        check(not broken, f'broken or cut off at {width}: {broken[:3]}')


def found_in_pages(what, rows, search, found):
    """The list of so many rows is in pages of 25, and `search` finds `found` of them."""
    until(lambda: f'1 to 25 of {rows:,} {what};' in text_of(), f'the first {what}')
    js("[...document.querySelectorAll('.view button')].find((one) => one.textContent.startsWith('Next')).click()")
    until(lambda: f'26 to 50 of {rows:,} {what};' in text_of(), f'the next {what}')
    box = one('.view input[type=search]')
    box.send_keys(search)
    until(lambda: f', of {rows:,} in all' in text_of(), 'what was found')
    count = js("return document.querySelectorAll('.view tbody tr').length")
    check(count == found, f'"{search}" finds {count} {what} and not {found}')
    box.clear()
    box.send_keys(Keys.SPACE)


def reached_by_tab(count):
    js('document.activeElement.blur(); getSelection().removeAllRanges(); document.body.focus()')
    reached = []
    for _ in range(count):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        name, ring = js('''const e = document.activeElement, s = getComputedStyle(e);
            return e === document.body ? ['', false] : [e.id || e.textContent.trim(), s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2];''')
        check(name == '' or ring, f'the focus on {name} cannot be seen')
        reached.append(name)
    return reached


def nothing_from_elsewhere(page):
    asked = set()
    for entry in driver.get_log('performance'):
        message = json.loads(entry['message'])['message']
        if message['method'] == 'Network.requestWillBeSent':
            asked.add(message['params']['request']['url'])
    check(any('/api/' in url for url in asked), 'the check is blind')
    elsewhere = [url for url in asked if re.match('(https?|wss?|ftp)://', url) and not url.startswith(f'http://{page.host}/')]
    check(not elsewhere, f'it asks {elsewhere}')
    wrong = console_errors()
    check(not wrong, f'the console says {wrong}')


def console_errors():
    """Errors of the console since it was last asked. The reply to a call may be a refusal."""
    return [entry['message'] for entry in driver.get_log('browser') if entry['level'] == 'SEVERE' and '/api/' not in entry['message']]


def run_tests(tests):
    """In the order of the file: later tests use what earlier ones did. Ends the programs."""
    global driver
    driver = browser()
    passed = failed = 0
    try:
        for name, test in [(n, f) for n, f in tests.items() if n.startswith('test_')]:
            try:
                test()
                passed += 1
            except Exception:  # pylint: disable=broad-except
                failed += 1
                print(f'FAILED: {name}')
                traceback.print_exc(limit=-2, file=sys.stdout)
    finally:
        driver.quit()
        for page in Page.all:
            if page.process.poll() is None:
                page.process.kill()
    print(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed else 0)
