"""What is wrong, or odd, with qrels and a run, before anybody believes a number."""

from evalframe.auditing.auditor import audit
from evalframe.auditing.findings import FINDINGS, Severity

__all__ = ["FINDINGS", "Severity", "audit"]
