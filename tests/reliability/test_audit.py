"""`make audit` fails for what is known to be broken, and says aloud when nothing was looked up."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


class _Advisories(BaseHTTPRequestHandler):
    """An advisory service that knows one vulnerable package."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name = asked["package"]["name"]
        found = {
            "id": "TEST-1",
            "summary": "it is broken",
            "affected": [{"package": {"name": name, "ecosystem": "PyPI"}, "versions": ["1.0"]}],
        }
        body = json.dumps({"vulns": [found]} if name == "broken" else {}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def service():
    server = HTTPServer(("127.0.0.1", 0), _Advisories)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/query"
    server.shutdown()
    thread.join()
    server.server_close()


class TestTheAudit:
    @pytest.fixture
    def audit(self, tmp_path):
        pytest.importorskip("bandit", reason="needs mdba-checks[dev]")
        pytest.importorskip("pip_audit", reason="needs mdba-checks[dev]")
        for name in ("scripts", "mdba_checks", "flows"):
            (tmp_path / name).mkdir()
        shutil.copy(ROOT / "scripts" / "audit.sh", tmp_path / "scripts")
        shutil.copy(ROOT / "pyproject.toml", tmp_path)
        (tmp_path / "mdba_checks" / "__init__.py").write_text("NAME = 'here'\n")
        (tmp_path / "flows" / "flow.py").write_text("NAME = 'there'\n")

        def run(*pinned: str, service: str, **environment: str):
            (tmp_path / "constraints.txt").write_text("\n".join(pinned))
            return subprocess.run(
                ["sh", "scripts/audit.sh", "--vulnerability-service=osv", "--osv-url", service],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
                env={
                    **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
                    "PYTHON": sys.executable,
                    "NO_PROXY": "127.0.0.1",
                    **environment,
                },
            )

        run.folder = tmp_path
        return run

    def test_passes_where_nothing_is_known_to_be_broken(self, audit, service):
        done = audit("fine==2.0", "other==1.0", service=service)
        assert done.returncode == 0, done.stderr
        assert "2 of 2 packages" in done.stdout
        assert "NOT AUDITED" not in done.stderr

    def test_fails_for_a_known_vulnerability_and_names_it(self, audit, service):
        done = audit("fine==2.0", "broken==1.0", service=service)
        assert done.returncode == 1
        assert "broken 1.0: TEST-1" in done.stdout
        assert "VULNERABLE" in done.stderr

    def test_says_loudly_that_nothing_was_audited_without_a_network(self, audit):
        nowhere = "http://127.0.0.1:9/v1/query"
        done = audit("broken==1.0", service=nowhere)
        assert done.returncode == 0
        assert "NOT AUDITED" in done.stderr
        assert audit("broken==1.0", service=nowhere, MDBA_AUDIT_REQUIRED="1").returncode == 1

    def test_fails_for_requirements_that_cannot_be_read(self, audit, service):
        done = audit("fine>>>2.0", service=service)
        assert done.returncode == 2
        assert "NOT AUDITED" not in done.stderr

    def test_fails_for_dangerous_code(self, audit, service):
        (audit.folder / "flows" / "bad.py").write_text("import os\nos.system(input())\n")
        done = audit("fine==2.0", service=service)
        assert done.returncode == 1
        assert "bad.py" in done.stdout
