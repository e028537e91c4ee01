"""Opens a page in a real headless browser, within a bounded time.

    browser.py dom PAGE OUT       writes the rendered document; fails on any message on
                                  the console and any request but for the page itself
    browser.py shot PAGE OUT WIDTH HEIGHT [dark]
                                  writes a PNG and fails if it is of one colour
    browser.py layout PAGE WIDTH  fails if the page is wider than the window, or a label
                                  is wider than its box
"""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

SECONDS = 120


def find_browser():
    for name in ("chromium-headless-shell", "chromium"):
        if path := shutil.which(name):
            return path
    sys.exit("browser.py: no browser; install chromium-headless-shell (scripts/install.sh does)")


def run(page, *options):
    """The browser's output and messages, and the URLs that it asked for."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "net.json")
        command = [
            find_browser(),
            "--headless",
            "--no-sandbox",  # Tests run as root in containers.
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={folder}/profile",
            f"--log-net-log={log}",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            *options,
            pathlib.Path(page).resolve().as_uri(),
        ]
        done = subprocess.run(command, capture_output=True, timeout=SECONDS)
        messages = done.stderr.decode(errors="replace")
        if done.returncode != 0:
            sys.exit(f"browser.py: the browser failed:\n{messages}")
        return done.stdout.decode(errors="replace"), messages, read_urls(log)


def read_urls(log):
    text = open(log, errors="replace").read()
    return {url for url in re.findall(r'"url":"([^"]*)"', text) if url.startswith(("http", "ws", "ftp"))}


def dump(page, out):
    dom, messages, urls = run(page, "--dump-dom")
    console = [line for line in messages.splitlines() if "CONSOLE" in line]
    if console:
        sys.exit("browser.py: the console is not empty:\n" + "\n".join(console))
    if urls:
        sys.exit("browser.py: the page asked for " + ", ".join(sorted(urls)))
    open(out, "w").write(dom)


def read_png(path):
    """Width, height, and the lines as bytes, unfiltered only as far as equality goes."""
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", path
    width, height = struct.unpack(">II", data[16:24])
    pixels, at = b"", 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        if kind == b"IDAT":
            pixels += data[at + 8 : at + 8 + length]
        at += length + 12
    return width, height, zlib.decompress(pixels)


def shoot(page, out, width, height, dark):
    # 0 is dark: blink's enum.
    options = ["--blink-settings=preferredColorScheme=0"] if dark else []
    run(page, f"--screenshot={os.path.abspath(out)}", f"--window-size={width},{height}", *options)
    got_width, got_height, pixels = read_png(out)
    if (got_width, got_height) != (width, height):
        sys.exit(f"browser.py: the screenshot is {got_width} x {got_height}")
    # A page of one colour has lines of zeros after the first.
    if len(set(pixels)) < 16:
        sys.exit("browser.py: the screenshot is empty")


PROBE = """<script>
const faults = [];
const width = document.documentElement.scrollWidth;
if (width > innerWidth) faults.push(`the page is ${width} wide in a window of ${innerWidth}`);
for (const group of document.querySelectorAll('svg.lane g')) {
  const box = group.querySelector('rect');
  for (const text of group.querySelectorAll('text'))
    if (box && text.getBBox().width > box.getBBox().width)
      faults.push(`"${text.textContent}" is wider than its box`);
}
for (const svg of document.querySelectorAll('svg.lane')) {
  const all = svg.getBBox(), view = svg.viewBox.baseVal;
  if (all.x < 0 || all.y < 0 || all.x + all.width > view.width || all.y + all.height > view.height)
    faults.push(`a picture leaves its frame: ${all.x} ${all.y} ${all.width} ${all.height} of ${view.width} ${view.height}`);
}
for (const detail of document.querySelectorAll('details')) detail.open = true;
const opened = document.documentElement.scrollWidth;
if (opened > innerWidth) faults.push(`with all details open the page is ${opened} wide`);
document.title = 'FAULTS ' + JSON.stringify(faults);
</script>"""


def check_layout(page, width):
    """The page forbids scripts; the probe goes into a copy that does not."""
    text = open(page).read()
    text = re.sub(r"<meta http-equiv='Content-Security-Policy'[^>]*>", "", text)
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "copy.html")
        open(copy, "w").write(text.replace("</body>", PROBE + "</body>"))
        dom, _, _ = run(copy, "--dump-dom", f"--window-size={width},900")
    import html

    found = re.search(r"<title>FAULTS (.*?)</title>", dom)
    faults = json.loads(html.unescape(found.group(1))) if found else ["the probe did not run"]
    if faults:
        sys.exit(f"browser.py: at {width}:\n" + "\n".join(faults))


command, page, *rest = sys.argv[1:]
if command == "dom":
    dump(page, rest[0])
elif command == "shot":
    shoot(page, rest[0], int(rest[1]), int(rest[2]), "dark" in rest)
elif command == "layout":
    check_layout(page, int(rest[0]))
else:
    sys.exit(__doc__)
