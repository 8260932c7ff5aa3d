"""Tables in a database, through SQLAlchemy; URLs are never shown with what they may keep secret."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus

import pyarrow as pa

from mdba_checks.errors import CheckError, InputError, MissingExtraError, did_you_mean
from mdba_checks.tables.sources.values import ROWS_AT_ONCE, joined, typed

if TYPE_CHECKING:
    from sqlalchemy import Select
    from sqlalchemy.engine import URL, Engine

_IN_FILES = ("sqlite", "duckdb")
_NOT_DATABASES = ("http", "https", "ftp")


def is_database(source: object) -> bool:
    """Return whether a source is a URL, alone or with a table, rather than a path.

    What is in object storage counts: it is not a file of this machine, as a table is not.
    """
    if isinstance(source, tuple):
        return len(source) == 2 and all(isinstance(part, str) for part in source)
    return isinstance(source, str) and "://" in source


def safe_name(source: Any) -> str:
    """Name a database table without user, password or options."""
    url, table = _split(source)
    scheme, mark, place = url.partition("://")
    if not mark:
        return f"table {table!r}"
    place = re.split("[?&;#]", place if _in_file(scheme) else _without_user(place))[0]
    place = f"{scheme}://{place}"
    return f"table {table!r} of {place}" if table else place


def without_secrets(source: Any) -> str:
    """Return a database table as ``URL::table``, with ``***`` for what only its owner should know.

    User, password and options go. Where no ``***`` is left, the text can be read again as it is.

    Examples
    --------
    >>> without_secrets("postgresql://ann:secret@host:5432/db?sslkey=k::labels")
    'postgresql://***@host:5432/db?***::labels'
    >>> without_secrets(("sqlite:///jobs.db", "labels"))
    'sqlite:///jobs.db::labels'
    """
    url, table = _split(source)
    scheme, mark, place = url.partition("://")
    if not mark:
        return f"***::{table}"
    owner = ""
    if not _in_file(scheme):
        before, at, place = place.rpartition("@")
        host, slash, path = place.partition("/")
        name, colon, port = host.partition(":")
        # Without an @ what follows a colon may be a password, as in `_without_user`.
        place = f"{name}{colon}{port if before else '***' * bool(colon)}{slash}{path}"
        owner = "***@" if at else ""
    place, *options = re.split("[?&;#]", place, maxsplit=1)
    hidden = f"{scheme}://{owner}{place}{'?***' if options else ''}"
    return f"{hidden}::{table}" if table else hidden


def _in_file(scheme: str) -> bool:
    return scheme.partition("+")[0] in _IN_FILES


def _without_user(place: str) -> str:
    # A password may hold any character: only what follows the last @ is surely not part of it,
    # and without an @ what follows a colon may still be one.
    host, slash, path = place.rpartition("@")[2].partition("/")
    return host.partition(":")[0] + slash + path


def read_database(source: Any) -> pa.Table:
    """Read one table or view whole."""
    try:
        return _read(source)
    except CheckError as error:
        # What a driver said may quote the URL. Tracebacks hide it, but not every tool that walks
        # from an error to the one before it does.
        error.__context__ = None
        raise


def _read(source: Any) -> pa.Table:
    url, table = _split(source)
    scheme = url.partition("://")[0]
    if "://" not in url:
        raise InputError("a database is named by a URL such as sqlite:///labels.db")
    if scheme in _NOT_DATABASES:
        raise InputError(f"cannot read {safe_name(source)}: download it and give the file's path")
    if not table:
        raise InputError(f"{safe_name(source)} names no table: write it as URL::table")
    try:
        import sqlalchemy
        from sqlalchemy.exc import NoSuchModuleError, SQLAlchemyError
    except ModuleNotFoundError:
        raise MissingExtraError("reading from a database", "sql") from None
    parsed: URL | None = None
    try:
        parsed = sqlalchemy.make_url(url)
        _refuse_absent_file(parsed)
        engine = sqlalchemy.create_engine(parsed)
    except NoSuchModuleError:
        raise InputError(f"no SQLAlchemy driver for {scheme!r} is installed: install it") from None
    except ModuleNotFoundError as error:
        raise InputError(f"reading from {scheme!r} needs its driver {error.name!r}") from None
    except (SQLAlchemyError, ValueError) as error:
        raise InputError(
            f"cannot open {safe_name(source)}: {_scrubbed(error, url, parsed)}"
        ) from None
    try:
        return _fetch(engine, table, source)
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  drivers raise what they like
        raise InputError(
            f"cannot read {safe_name(source)}: {_scrubbed(error, url, parsed)}"
        ) from None
    finally:
        engine.dispose()


def _split(source: Any) -> tuple[str, str]:
    if isinstance(source, tuple):
        return source
    url, _, table = source.rpartition("::")
    # An @ or / behind the colons: they are part of a password and no table is named.
    named = "://" in url and not set(table) & set("@/")
    return (url, table) if named else (source, "")


def _refuse_absent_file(url: URL) -> None:
    # Opening an absent file would create it.
    name = url.database
    if not name or not _in_file(url.drivername) or name.startswith((":memory:", "file:", "md:")):
        return
    path = Path(name)
    if not path.exists():
        nearby = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise InputError(f"no such file: {name!r}.{did_you_mean(path.name, nearby)}")


def _fetch(engine: Engine, name: str, source: Any) -> pa.Table:
    with engine.connect() as connection:
        query = _everything(engine, name, source)
        rows = connection.execution_options(yield_per=ROWS_AT_ONCE).execute(query)
        names = list(rows.keys())
        chunks = [
            [typed(values) for values in zip(*part, strict=True)] for part in rows.partitions()
        ]
    columns = zip(*chunks, strict=True) if chunks else (() for _ in names)
    return pa.table([joined(parts) for parts in columns], names=names)


def _everything(engine: Engine, name: str, source: Any) -> Select[Any]:
    import sqlalchemy
    from sqlalchemy.exc import SQLAlchemyError

    schema, _, plain = name.rpartition(".")
    look = sqlalchemy.inspect(engine)
    if not look.has_table(plain, schema or None):
        known = look.get_table_names(schema or None) + look.get_view_names(schema or None)
        raise InputError(f"there is no {safe_name(source)}.{did_you_mean(plain, known)}")
    try:
        # Knowing the declared types lets SQLite give booleans and dates instead of 1 and text.
        return sqlalchemy.Table(
            plain, sqlalchemy.MetaData(), schema=schema or None, autoload_with=engine
        ).select()
    except SQLAlchemyError:
        # duckdb-engine cannot describe tables to SQLAlchemy 2.1, but returns typed values anyway.
        every = sqlalchemy.table(plain, schema=schema or None)
        return sqlalchemy.select(sqlalchemy.text("*")).select_from(every)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, shortened; some go on for pages.

    Readers quote the data they stumble over, which may hold what a terminal would act on.
    """
    lines = str(error).splitlines()
    text = (lines[0] if lines else type(error).__name__)[:200]
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _scrubbed(error: Exception, url: str, parsed: URL | None) -> str:
    text = first_line(getattr(error, "orig", None) or error)
    secrets = {url}
    if parsed is not None:
        options = [
            v
            for value in parsed.query.values()
            for v in ([value] if isinstance(value, str) else value)
        ]
        for secret in (str(parsed.password or ""), *options):
            secrets |= {secret, quote(secret), quote_plus(secret)}
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return text
