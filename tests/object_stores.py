"""Stores of objects on this machine, as real as reading needs them: S3, Google, Azure, the hub."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

NOWHERE = "http://127.0.0.1:9"
KEY = "a2V5"
"""A key as Azure has it, in base64."""
FIXED = {"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "ETag": '"1"'}


@dataclass(frozen=True)
class Store:
    """A folder that is served as the bucket `b`, and the options by which it is reached."""

    root: Path
    uri: str
    options: dict[str, Any]
    refused: dict[str, Any]
    """Options with which nobody is let in."""
    down: dict[str, Any]
    """Options that lead to a machine that does not answer."""


class Shelf(BaseHTTPRequestHandler):
    """Whole files of a folder, and ranges of them; what is asked for, `do_GET` finds out."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    root: Path

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_HEAD(self) -> None:
        self.do_GET()  # type: ignore[attr-defined]

    def files(self, folder: Path, prefix: str = "") -> dict[str, int]:
        """The sizes of all files below a folder, by their names there."""
        found = {
            path.relative_to(folder).as_posix(): path.stat().st_size
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }
        return {name: size for name, size in found.items() if name.startswith(prefix)}

    def give(self, data: bytes) -> None:
        asked = self.headers.get("x-ms-range") or self.headers.get("Range", "")
        first, _, last = asked.removeprefix("bytes=").partition("-")
        if not first and not last:
            self.answer(200, data)
            return
        start = int(first) if first else max(len(data) - int(last), 0)
        stop = min(int(last) + 1, len(data)) if first and last else len(data)
        where = {"Content-Range": f"bytes {start}-{stop - 1}/{len(data)}"}
        self.answer(206, data[start:stop], where)

    def answer(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**FIXED, "Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


class Bucket(Shelf):
    """S3's and Google's lists of keys and objects, for who has the key `k`."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        asked = dict(parse_qsl(url.query))
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        if not self.knows(self.headers.get("Authorization", "")):
            self.answer(403, b"<Error><Code>AccessDenied</Code></Error>")
        elif not key and self.is_list(asked):
            self.answer(200, self.listed(bucket, asked.get("prefix", "")).encode())
        elif (self.root / bucket / key).is_file():
            self.give((self.root / bucket / key).read_bytes())
        else:
            self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")

    def knows(self, authorization: str) -> bool:
        return "Credential=k/" in authorization or authorization == "Bearer k"

    def is_list(self, asked: dict[str, str]) -> bool:
        return "list-type" in asked

    def listed(self, bucket: str, prefix: str) -> str:
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{size}</Size><ETag>1</ETag>"
            "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
            for key, size in self.files(self.root / bucket, prefix).items()
        )
        head = f"<Name>{bucket}</Name><IsTruncated>false</IsTruncated>"
        return f"<ListBucketResult>{head}{contents}</ListBucketResult>"


class Container(Bucket):
    """Azure's lists of blobs and the blobs, for the account `k`."""

    def knows(self, authorization: str) -> bool:
        return authorization.startswith("SharedKey k:")

    def is_list(self, asked: dict[str, str]) -> bool:
        return asked.get("comp") == "list"

    def listed(self, bucket: str, prefix: str) -> str:
        blobs = "".join(
            f"<Blob><Name>{escape(key)}</Name><Properties>"
            f"<Last-Modified>{FIXED['Last-Modified']}</Last-Modified><Etag>1</Etag>"
            f"<Content-Length>{size}</Content-Length><Content-Type>x</Content-Type></Properties>"
            "</Blob>"
            for key, size in self.files(self.root / bucket, prefix).items()
        )
        return f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>"


class Hub(Shelf):
    """Hugging Face's lists and files of datasets, `owner/name/revision/…`, behind a proxy."""

    context: ssl.SSLContext
    tokens: set[str]
    """What was sent along as `Authorization`."""

    def do_CONNECT(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.connection = self.context.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb", -1)
        self.wfile = self.connection.makefile("wb", 0)
        self.close_connection = False

    def finish(self) -> None:
        super().finish()
        self.connection.close()

    def do_GET(self) -> None:
        self.tokens.add(self.headers.get("Authorization", ""))
        asked, *parts = unquote(urlsplit(self.path).path).strip("/").split("/")
        if asked == "api":
            self.list(*parts)
            return
        owner, name, _, revision, *inner = parts
        file = self.root / owner / name / revision / "/".join(inner)
        if file.is_file():
            self.give(file.read_bytes())
        else:
            self.answer(404, b"Entry not found")

    def list(self, _: str, owner: str, name: str, __: str, revision: str, *inner: str) -> None:
        folder, below = self.root / owner / name / revision, "/".join(inner)
        if not folder.is_dir():
            self.answer(401, b'{"error":"Invalid username or password."}')
        elif not (folder / below).is_dir():
            error = {"error": f'{below} does not exist on "{revision}"'}
            self.answer(404, json.dumps(error).encode())
        else:
            files = self.files(folder, f"{below}/" if below else "")
            rows = [{"type": "file", "path": path, "size": size} for path, size in files.items()]
            self.answer(200, json.dumps(rows).encode())


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def served(handler: type[Shelf], root: Path, **more: Any) -> Iterator[str]:
    """The address at which a handler serves a folder."""
    server = Server(("127.0.0.1", 0), type("Handler", (handler,), {"root": root, **more}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def s3(root: Path) -> Iterator[Store]:
    fixed = {"aws_secret_access_key": "s", "aws_region": "us-east-1", "aws_allow_http": "true"}
    with served(Bucket, root) as url:
        options = {**fixed, "aws_endpoint_url": url, "aws_access_key_id": "k", "max_retries": 0}
        refused = {**options, "aws_access_key_id": "other"}
        yield Store(
            root / "b", "s3://b", options, refused, {**options, "aws_endpoint_url": NOWHERE}
        )


@contextmanager
def google(root: Path) -> Iterator[Store]:
    fixed = {"google_skip_signature": "false", "allow_http": "true", "max_retries": 0}
    with served(Bucket, root) as url:
        options = {**fixed, "google_base_url": url, "google_bearer_token": "k"}
        refused = {**options, "google_bearer_token": "other"}
        down = {**options, "google_base_url": NOWHERE}
        yield Store(root / "b", "gs://b", options, refused, down)


@contextmanager
def azure(root: Path) -> Iterator[Store]:
    fixed = {"azure_storage_account_key": KEY, "azure_allow_http": "true", "max_retries": 0}
    with served(Container, root) as url:
        options = {**fixed, "azure_endpoint": url, "azure_storage_account_name": "k"}
        refused = {**options, "azure_storage_account_name": "other"}
        down = {**options, "azure_endpoint": NOWHERE}
        yield Store(root / "b", "az://b", options, refused, down)
