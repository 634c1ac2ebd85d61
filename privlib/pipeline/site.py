"""Build the HTML site from the staged pages, with MathJax beside it, and refuse pages that need a network.

python -m privlib.pipeline.site SITE HTML
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from importlib.metadata import distribution
from pathlib import Path

from privlib.files import replaced_folder

# What a browser fetches by itself when it opens a page; links that a reader may follow (<a href>) are not among them.
_FETCHED = {
    "script": ("src",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "iframe": ("src",),
    "embed": ("src",),
    "object": ("data",),
}
_FETCHED_LINKS = {"stylesheet", "preload", "prefetch", "modulepreload", "preconnect", "dns-prefetch", "icon"}


class SiteError(RuntimeError):
    """The site could not be built, or would not work offline."""


def build_site(site: Path, html: Path) -> None:
    """Run jupyter-book on ``site`` (every warning is an error) and replace ``html`` by the result.

    Raises:
        SiteError: jupyter-book failed, or a page asks another host for something; ``html`` is then as before.
    """
    with replaced_folder(html) as fresh, tempfile.TemporaryDirectory(dir=html.parent, prefix=".book.") as scratch:
        # A fresh output folder each time: jupyter-book keeps pages that have left the table of contents.
        options = ["build", "-W", "--keep-going", "-q", "--path-output", scratch, str(site)]
        program = "import sys; from jupyter_book.cli.main import main; sys.exit(main())"
        # Its closing words name the scratch folder, so they are shown only where they explain a failure.
        done = subprocess.run([sys.executable, "-c", program, *options], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            raise SiteError(f"jupyter-book failed on {site}, status {done.returncode}; see above\n{done.stdout}")
        shutil.copytree(Path(scratch) / "_build" / "html", fresh, dirs_exist_ok=True)
        shutil.copytree(mathjax_folder(), fresh / "mathjax")
        if problems := [problem for page in sorted(fresh.rglob("*.html")) for problem in external_requests(page)]:
            raise SiteError("the book must read offline, but:\n" + "\n".join(f"  {problem}" for problem in problems))


def mathjax_folder() -> Path:
    """Where the installed package sphinx-mathjax-offline keeps MathJax."""
    package = distribution("sphinx-mathjax-offline")
    return Path(str(package.locate_file("sphinx-mathjax-offline/static/mathjax")))


def external_requests(page: Path) -> list[str]:
    """What ``page`` would fetch from other hosts on opening, one line each."""
    scanner = _Scanner()
    scanner.feed(page.read_text(encoding="utf-8"))
    return [f"{page}: {request}" for request in scanner.requests]


class _Scanner(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        names = _FETCHED.get(tag, ())
        if tag == "link" and _FETCHED_LINKS & set((values.get("rel") or "").lower().split()):
            names = ("href",)
        for name in names:
            value = (values.get(name) or "").strip()
            if value.startswith(("http:", "https:", "//")):
                self.requests.append(f"<{tag} {name}={value}>")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privlib.pipeline.site", description="Build the HTML site.")
    parser.add_argument("site", type=Path, metavar="SITE", help="folder of the staged pages")
    parser.add_argument("html", type=Path, metavar="HTML", help="folder of the site, replaced as a whole")
    options = parser.parse_args(arguments)
    try:
        build_site(options.site, options.html)
    except SiteError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
