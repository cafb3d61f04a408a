"""`python -m checker site`: the course as pages that check in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from checker.commands.arguments import PATH
from checker.commands.problems import as_misuse, writing
from checker.course.status import Misuse
from checker.publish import site as pages
from checker.publish.site import serving
from checker.publish.site.assets import SiteError


@click.command()
@click.argument("folder", required=False, default="build/site", type=PATH)
@click.option(
    "--pyodide",
    type=click.Choice(["beside", "cdn"]),
    default="beside",
    show_default=True,
    help="Where pages find Python: in the site itself, or at Pyodide's public address.",
)
@click.option("--serve", is_flag=True, help="Then show it on 127.0.0.1, until Ctrl-C.")
@click.option(
    "--port", type=click.IntRange(1, 65535), default=serving.PORT, show_default=True, help="Where to show it."
)
def site(folder: Path, pyodide: str, serve: bool, port: int) -> None:
    """Write the course to FOLDER as a static site, for any host: what is there is replaced.

    To be shown, it is written only if something that it is made of has changed.
    """
    if not (serve and pages.up_to_date(folder)):
        with as_misuse(SiteError), writing(folder):
            pages.build(folder, beside=pyodide == "beside")
    click.echo(f"{folder}: open it with `make site SERVE=1`, or put it on any web server.")
    if serve:
        try:
            server = serving.server(folder, port)
        except OSError as error:
            raise Misuse(
                f"Port {port} is not to be had: {error.strerror}. Name another one: PORT={port + 1}."
            ) from error
        with server:
            click.echo(f"http://127.0.0.1:{server.server_port}/ shows it. Ctrl-C ends that.")
            server.serve_forever()
