"""Checks a report page as a browser rendered it.

    check_page.py DOM run PROGRAM REPORT.json         compares with a run of the same step
    check_page.py DOM content TEXT ...                every text is on the page
"""
import html.parser
import json
import sys


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.data, self.text, self.ids, self.tags = "", "", set(), []
        self.inside = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        self.ids.add(attributes.get("id"))
        self.inside.append((tag, attributes))

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, data):
        if self.inside and self.inside[-1][0] == "script":
            self.data += data
        elif not self.inside or self.inside[-1][0] != "style":
            self.text += data


page = Page(open(sys.argv[1]).read())
numbers = json.loads(page.data)

if sys.argv[2] == "run":
    ours, run = numbers["programs"][sys.argv[3]], json.load(open(sys.argv[4]))
    assert ours["totals"] == run["collectives"], (ours["totals"], run["collectives"])
    memory = ours["memory"]
    assert memory["arena_bytes_planned"] == run["arena_bytes"]["planned"], (memory, run)
    assert memory["activation_bytes"] == run["activation_bytes"]
    assert ours["ranks"] == run["mesh"]["tp"]
    # The numbers agree with each other, too.
    live, peak = memory["live_bytes"], memory["peak"]
    assert max(live) == peak["bytes"] == live[peak["step"]]
    assert sum(value["bytes"] for value in peak["values"]) == peak["bytes"]
    assert peak["bytes"] <= memory["arena_bytes_planned"]
    assert len(live) == len(memory["ops"]) == len(memory["phases"])
    order = [memory["phases"][0]]
    for phase in memory["phases"]:
        if phase != order[-1]:
            order.append(phase)
    assert order == ["forward", "backward", "update"], order
    # Every value that waits at the peak has a name and a layout.
    assert all(value["layout"] for value in peak["values"]), peak["values"]
else:
    for text in sys.argv[3:]:
        assert text in page.text, text
    for name in ("life", "collectives", "memory", "gradients", "glossary", "remarks", "per-layer"):
        assert name in page.ids, name
    links = [(tag, a) for tag, a in page.tags for key in ("src", "href", "action") if not (a.get(key) or "data:,").startswith("data:")]
    assert not links, links
    assert [a for tag, a in page.tags if tag == "script"] == [{"type": "application/json", "id": "data"}]
    lanes = [a for tag, a in page.tags if tag == "svg" and a.get("class") == "lane"]
    assert len(lanes) == 2 * len(numbers["programs"]) and all(a["role"] == "img" for a in lanes), lanes
