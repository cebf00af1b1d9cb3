"""What an operator does on the pages: reads tables, follows links, fills in and sends forms. Only
what is on the current page can be followed or sent; either is one click."""

import http.client
import time
from html.parser import HTMLParser
from urllib.parse import urlencode, urljoin


class Missing(Exception):
    """The page has no such link, form, field, row or text."""


class Row(dict):
    """The texts of a row by the heads of the table, and its links as pairs of text and address."""

    def __init__(self):
        self.cells, self.links = [], []

    def __missing__(self, head):
        raise Missing(f"no column `{head}` in {list(self)}")


class Page(HTMLParser):
    """The links, forms, tables and text of a page. Links of the menu follow the others."""

    HEADINGS = {"h1", "h2", "h3"}

    def __init__(self, address, html):
        super().__init__()
        self.address, self.text, self.links, self.menu = address, "", [], []
        # Rows by the heading before their table; fields, boxes to tick and buttons by the form.
        self.tables, self.forms = {}, []
        # The open tables, each with its heads and the current row.
        self.open, self.title, self.nested = [], "", []
        self.link = self.select = None
        self.feed(html)
        self.text = " ".join(self.text.split())
        self.links += self.menu

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.open.append(tag)
        name, value = attributes.get("name"), attributes.get("value") or ""
        if tag in self.HEADINGS:
            self.title = ""
        elif tag == "a":
            self.link = [attributes.get("aria-label") or "", attributes.get("href", "")]
        elif tag == "form":
            self.forms.append({"fields": {}, "boxes": [], "buttons": [], **attributes})
        elif tag == "table":
            self.nested.append([[], Row()])
        elif tag == "tr":
            self.nested[-1][1] = Row()
        elif tag in ("td", "th"):
            self.nested[-1][1].cells.append("")
        elif tag == "option" and self.select:
            if "selected" in attributes or self.select not in self.forms[-1]["fields"]:
                self.forms[-1]["fields"][self.select] = value
        elif tag == "select":
            self.select = name
        elif tag in ("input", "textarea", "button") and name:
            if attributes.get("type") == "checkbox":
                self.forms[-1]["boxes"].append((name, value))
            elif tag == "button":
                self.forms[-1]["buttons"].append((name, value))
            else:
                self.forms[-1]["fields"][name] = value

    def handle_endtag(self, tag):
        # Elements that have no end tag end with their parents.
        while tag in self.open and self.open.pop() != tag:
            pass
        if tag == "a":
            link = (" ".join(self.link[0].split()), self.link[1])
            (self.menu if "header" in self.open else self.links).append(link)
            if self.nested:
                self.nested[-1][1].links.append(link)
            self.link = None
        elif tag == "tr":
            heads, row = self.nested[-1]
            row.cells = [" ".join(cell.split()) for cell in row.cells]
            row.update(zip(heads, row.cells))
            self.nested[-1] = [row.cells if "thead" in self.open else heads, Row()]
            if "thead" not in self.open:
                self.tables.setdefault(" ".join(self.title.split()), []).append(row)
        elif tag == "table":
            self.nested.pop()
        if tag not in ("bdi", "code", "b", "ins", "del"):
            self.text += " "

    def handle_data(self, data):
        if "svg" in self.open:
            return
        self.text += data
        if self.HEADINGS & set(self.open):
            self.title += data
        if self.link:
            self.link[0] += data
        if self.nested and self.nested[-1][1].cells:
            space = "" if self.open[-1] in ("bdi", "code") else " "
            self.nested[-1][1].cells[-1] += data + space

    def rows(self, title):
        """The rows below a heading that starts with `title`."""
        found = [rows for known, rows in self.tables.items() if known.startswith(title)]
        if not found:
            raise Missing(f"no table `{title}` on {self.address}")
        return found[0]

    def find(self, title, text):
        """The first row with a cell that is or begins with the word `text`."""
        for row in self.rows(title):
            if any(f"{cell} ".startswith(f"{text} ") for cell in row.cells):
                return row
        raise Missing(f"no row `{text}` in `{title}` on {self.address}")

    def form(self, action):
        for form in self.forms:
            if form.get("action") == action:
                return form
        raise Missing(f"no form to {action} on {self.address}")


class Walk:
    """A visit that starts at the overview; counts clicks and the seconds of each page."""

    def __init__(self, port):
        self.port, self.clicks, self.seconds = port, 0, []
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.page = self.load("GET", "/ui")

    def load(self, method, address, body=None):
        began, headers = time.perf_counter(), {"content-type": "application/x-www-form-urlencoded"}
        while True:
            self.connection.request(method, address, body, headers)
            reply = self.connection.getresponse()
            content = reply.read().decode()
            if reply.status != 303:
                break
            method, body = "GET", None
            address = urljoin(address, reply.headers["location"]).split("#")[0]
        self.seconds.append(time.perf_counter() - began)
        if reply.status != 200:
            raise Missing(f"{method} {address} returned {reply.status}")
        self.page = Page(address, content)
        return self.page

    def follow(self, text, row=None):
        """Follows the first link with this text, of the page or of a row of it."""
        for known, address in (row or self.page).links:
            if known == text or known.startswith(f"{text} "):
                self.clicks += 1
                return self.load("GET", urljoin(self.page.address, address))
        raise Missing(f"no link `{text}` on {self.page.address}")

    def send(self, action, fields=(), ticked=(), button=()):
        """Sends the form to `action` with other values of some of its fields."""
        form, changed = self.page.form(action), dict(fields)
        known = form["fields"].keys() | {value for _, value in form["boxes"]}
        absent = [name for name in [*changed, *ticked] if name not in known]
        if absent or not set(button) <= set(form["buttons"]):
            raise Missing(f"the form to {action} has no {absent or button}")
        pairs = [*(form["fields"] | changed).items(), *button]
        query = urlencode(pairs + [box for box in form["boxes"] if box[1] in ticked])
        self.clicks += 1
        if form.get("method") == "post":
            return self.load("POST", action, query)
        return self.load("GET", f"{action}?{query}")
