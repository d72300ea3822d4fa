#!/usr/bin/env python3
"""search.py SITE: opens the built site in a browser and looks for tasks in its search. The page of each must be among
the first three that the search shows, and the browser must ask nobody but the server of the site.
"""
import functools
import http.server
import json
import sys
import tempfile
import threading
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PATIENCE = 60  # seconds
TASKS = {
    "h5ad": "howto/use_h5ad.html",
    "choose epsilon": "howto/choose_epsilon.html",
    "choose rank": "howto/choose_rank.html",
    "what is left of a budget": "howto/see_what_is_left.html",
    "withdraw consent": "howto/withdraw_consent.html",
    "rotate certificates": "howto/rotate_certificates.html",
    "revoke analyst": "howto/revoke_an_analyst.html",
    "move curator": "howto/move_a_curator.html",
    "several curators": "howto/several_curators.html",
    "SLURM": "howto/use_ranks.html",
    "alerts": "howto/watch_and_alert.html",
    "ledger-behind-anchor": "howto/check_the_ledger.html",
    "exit codes": "reference/errors.html",
    "dpnmf-curator close": "reference/commands.html",
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def browser(directory):
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-component-update", "--user-data-dir=" + directory):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)


def pages_found(driver, address, words):
    """Pages that the search shows for the words, the best first."""
    driver.get(f"{address}index.html?q={urllib.parse.quote(words)}")
    shown = """const meta = document.querySelector('.md-search-result__meta');
      return meta && meta.textContent.includes(' document') &&
        Array.from(document.querySelectorAll('.md-search-result__item > a:first-child')).map((a) => a.pathname.slice(1))"""
    pages = WebDriverWait(driver, PATIENCE, poll_frequency=0.05).until(
        lambda _: [page for page in [driver.execute_script(shown)] if isinstance(page, list)])[0]
    return list(dict.fromkeys(pages))


def main(site):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/"
    faults = []
    with tempfile.TemporaryDirectory() as directory:
        driver = browser(directory)
        try:
            for words, page in TASKS.items():
                found = pages_found(driver, address, words)
                if page not in found[:3]:
                    faults.append(f'search for "{words}" shows {found[:3]}, not {page}')
            driver.get(address + "404.html")
            messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
            asked = {
                message["params"]["request"]["url"] for message in messages
                if message["method"] == "Network.requestWillBeSent"}
            faults += [f"the browser asked for {url}" for url in sorted(asked)
                       if not url.startswith((address, "data:", "chrome:", "blob:" + address))]
            faults += [f"the browser says: {entry['message']}" for entry in driver.get_log("browser")]
            if not any(url.startswith(address) for url in asked):
                faults.append("the browser asked for nothing")
        finally:
            driver.quit()
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{len(TASKS)} searches, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
