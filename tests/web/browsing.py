"""What the tests of the pages share: a program that serves one, and headless Chromium."""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
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
# Those of docs/web.md.
PICTURES = (('budgets', 400, 'dark'), ('plan', 1280, 'light'), ('parts', 1280, 'light'), ('compare', 1280, 'light'),
            ('operator_budgets', 1280, 'light'), ('operator_peers', 400, 'dark'))
PATIENCE = 120  # seconds until a condition counts as missed; nothing waits for it

with open(os.path.join(os.path.dirname(__file__), 'audit.js'), encoding='utf-8') as file:
    AUDIT = file.read()


def client():
    """The program dpnmf with the flags of its server and certificate."""
    return [os.environ['DPNMF_WEB_PROGRAM'], '--server', os.environ['DPNMF_WEB_SERVER'],
            '--ca', CERTS + '/ca.crt', '--cert', CERTS + '/tls.crt', '--key', CERTS + '/tls.key']


class Page:
    """A program that prints the address of a page, in a process of its own."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        parts = urllib.parse.urlsplit(self.address)
        self.host, self.port = parts.netloc, parts.port

    def ask(self, path, method='GET', body=None, host=None, **headers):
        """A request as no browser would make it."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=PATIENCE)
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
    options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
    return webdriver.Chrome(service=Service('/usr/bin/chromedriver'), options=options)


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


def looked_at(name):
    """What can be measured of the view, at both widths and in both schemes; its picture if wanted."""
    faults = []
    for width in (1280, 400):
        for scheme in ('light', 'dark'):
            emulate(width, scheme)
            faults += [f'{name} {width} {scheme}: {fault}' for fault in js(AUDIT + '; return audit();')]
            if IMAGES and (name, width, scheme) in PICTURES:
                high = js('return Math.min(2400, document.documentElement.scrollHeight)')
                emulate(width, scheme, max(700, high))
                driver.save_screenshot(f'{IMAGES}/web_{name}_{width}.png')
    emulate(1280, 'light')
    check(not faults, '\n  '.join([f'{len(faults)} faults'] + faults[:12]))


def open_page(page):
    driver.get(page.address)
    until(lambda: js('return document.getElementById("main")?.dataset.ready'), 'the first view')


def session():
    """The headers that a call needs."""
    cookie = next(c for c in driver.get_cookies() if c['name'].startswith('dpnmf_web'))
    check(cookie['httpOnly'] and cookie['sameSite'] == 'Strict', 'the cookie is open to scripts or other pages')
    return {'Cookie': f"{cookie['name']}={cookie['value']}", 'X_Dpnmf_Key': js('return localStorage.getItem("dpnmf-key")')}


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
    wrong = [entry['message'] for entry in driver.get_log('browser')
             if entry['level'] == 'SEVERE' and '/api/' not in entry['message']]
    check(not wrong, f'the console says {wrong}')


def run_tests(tests, page):
    """In the order of the file: later tests use what earlier ones did. Ends the program."""
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
        if page.process.poll() is None:
            page.process.kill()
    print(f'{passed} passed, {failed} failed')
    sys.exit(1 if failed else 0)
