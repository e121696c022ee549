"""`spsl read PATH...`: what the model will see. Runs no model."""

from __future__ import annotations

from spsl_cli.answer import read_json
from spsl_cli.cli.options import AsJson, Debug, Password, Paths, Plain, Quiet, with_selection
from spsl_cli.cli.output import leave_with_skips, standard_input
from spsl_cli.documents import Collection, Document, Page, Selection
from spsl_cli.errors import NoReadableInputError
from spsl_cli.events import Notice
from spsl_cli.reading import read_documents
from spsl_cli.render import Reporter, Streams, make_reporter, write_answer, write_json


@with_selection
def read(
    paths: Paths,
    *,
    password: Password = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    plain: Plain = False,
    debug: Debug = False,  # noqa: ARG001 read by main()
    selection: Selection,
) -> None:
    """Show the text of documents as the model will see it, with page marks, warnings and what was skipped.

    Example: spsl read report.pdf --json
    """
    streams = Streams.detect(plain=plain)
    with make_reporter(streams, quiet=quiet, plain=plain) as report:
        collection = collect(paths, password, selection, report)
    if as_json:
        write_json(streams, read_json(collection))
    elif collection.documents:
        write_answer(streams, "\n\n".join(_shown(document) for document in collection.documents))
    if not collection.documents:
        raise NoReadableInputError("no readable input", hint="see the reasons above")
    leave_with_skips(collection)


def collect(paths: list[str], password: str | None, selection: Selection, report: Reporter) -> Collection:
    """Read documents, telling what is to be known of each and what was skipped."""
    collection = read_documents(paths, report, stdin=standard_input(), password=password, selection=selection)
    for document in collection.documents:
        for text in document.notices:
            report(Notice(f"{document.path}: {text}"))
    for skip in collection.skipped:
        report(Notice(f"skipped {skip.path}: {skip.reason}", warning=not skip.by_rule or not collection.documents))
    return collection


def _shown(document: Document) -> str:
    """A heading, then the text, with a mark before each page of a paged kind."""
    heading = f"=== {document.path} ({document.media_type}, {document.characters:,} characters)"
    if not document.paged:
        return f"{heading}\n{document.text}"
    return "\n".join([heading, *(f"--- {_mark(page)}\n{page.text}" for page in document.pages)])


def _mark(page: Page) -> str:
    told = [f"printed: {page.label}"] if page.label and page.label != str(page.number) else []
    if page.left_out:
        told.append("left out, as on earlier pages: " + ", ".join(f'"{line.text}"' for line in page.left_out))
    return f"page {page.number}" + (f" ({'; '.join(told)})" if told else "")
